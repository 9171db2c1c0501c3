"""The shared cache, which the site can do without: while Redis is away nothing is counted, and nobody is sent away."""

import logging
from collections.abc import Callable
from typing import Any

from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

logger = logging.getLogger("annotate.caching")


def forgiving(name: str, instead: Callable[..., Any]) -> Callable[..., Any]:
    """The method of RedisCache, and what it answers while Redis does not."""
    method = getattr(RedisCache, name)

    def call(self: RedisCache, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except RedisError as error:
            logger.warning("Redis did not answer (%s): rate limits are not counted.", type(error).__name__)
            return instead(*args, **kwargs)

    return call


class ForgivingRedisCache(RedisCache):
    """Like an empty cache while Redis is away. Sign-ins are counted in the database as well."""

    get = forgiving("get", lambda key, default=None, version=None: default)
    get_many = forgiving("get_many", lambda *_, **__: {})
    set = forgiving("set", lambda *_, **__: None)
    set_many = forgiving("set_many", lambda *_, **__: [])
    add = forgiving("add", lambda *_, **__: True)
    delete = forgiving("delete", lambda *_, **__: False)
    has_key = forgiving("has_key", lambda *_, **__: False)
    touch = forgiving("touch", lambda *_, **__: False)
    incr = forgiving("incr", lambda key, delta=1, version=None: delta)
