"""Keeps the site running while Redis is away: nothing is counted then, and nobody is refused."""

import logging
from collections.abc import Callable
from typing import Any

from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

logger = logging.getLogger("annotate.caching")


def fail_open(name: str, instead: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a method of RedisCache: while Redis does not answer, `instead` is called."""
    method = getattr(RedisCache, name)

    def call(self: RedisCache, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except RedisError as error:
            logger.warning("Redis did not answer (%s): rate limits are not counted.", type(error).__name__)
            return instead(*args, **kwargs)

    return call


class FailOpenRedisCache(RedisCache):
    """Behaves like an empty cache while Redis is away. Sign-ins are counted in the database as well."""

    get = fail_open("get", lambda key, default=None, version=None: default)
    get_many = fail_open("get_many", lambda *_, **__: {})
    set = fail_open("set", lambda *_, **__: None)
    set_many = fail_open("set_many", lambda *_, **__: [])
    add = fail_open("add", lambda *_, **__: True)
    delete = fail_open("delete", lambda *_, **__: False)
    has_key = fail_open("has_key", lambda *_, **__: False)
    touch = fail_open("touch", lambda *_, **__: False)
    incr = fail_open("incr", lambda key, delta=1, version=None: delta)
