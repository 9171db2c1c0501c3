"""Keeps the site running while Redis is away: each process counts for itself then, so that limits still hold."""

import logging
from collections.abc import Callable
from typing import Any

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

logger = logging.getLogger("annotate.caching")
MAX_ENTRIES = 20_000


def fail_over(name: str) -> Callable[..., Any]:
    """Wrap a method of RedisCache: while Redis does not answer, the process's own cache does."""
    method = getattr(RedisCache, name)

    def call(self: "FailOverRedisCache", *args: Any, **kwargs: Any) -> Any:
        try:
            found = method(self, *args, **kwargs)
        except RedisError as error:
            logger.warning("Redis did not answer (%s): each process counts for itself.", type(error).__name__)
            self.in_use = True
            return getattr(self.own, name)(*args, **kwargs)
        if self.in_use:  # it is back: nothing of this time may be found when it goes away again
            self.in_use = False
            self.own.clear()
        return found

    return call


class OwnCache(LocMemCache):
    """The cache of one process; counts what it has not seen from 0."""

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        self.add(key, 0, version=version)
        return super().incr(key, delta, version)


class FailOverRedisCache(RedisCache):
    """Uses a cache of this process alone while Redis is away. Sign-ins are counted in the database as well."""

    def __init__(self, server: Any, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self.own = OwnCache("while-redis-is-away", {"OPTIONS": {"MAX_ENTRIES": MAX_ENTRIES}})
        self.in_use = False

    get = fail_over("get")
    get_many = fail_over("get_many")
    set = fail_over("set")
    set_many = fail_over("set_many")
    add = fail_over("add")
    delete = fail_over("delete")
    has_key = fail_over("has_key")
    touch = fail_over("touch")
    incr = fail_over("incr")
