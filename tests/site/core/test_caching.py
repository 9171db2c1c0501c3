"""Redis away: pages and joining go on, and each process holds the limits for itself."""

import os
import subprocess
import sys

import pytest
from django.test import RequestFactory
from rest_framework.throttling import SimpleRateThrottle

from annotate.core import rate_limits
from annotate.core.errors import RateLimited
from annotate.core.redis_cache import FailOverRedisCache


@pytest.fixture
def away():
    cache = FailOverRedisCache("redis://127.0.0.1:1/0", {})
    yield cache
    cache.own.clear()


def test_it_answers_as_a_cache_of_the_process(away, caplog):
    assert away.get("a", 3) == 3
    assert away.get_many(["a"]) == {}
    away.set("a", 1)
    assert away.add("a", 2) is False
    assert away.incr("a") == 2
    assert away.incr("counted-in-redis-before") == 1
    assert away.get_many(["a"]) == {"a": 2}
    assert "a" in away
    assert away.touch("a") is True
    assert away.delete("a") is True
    assert away.set_many({"b": 1}) == []
    assert "Redis did not answer" in caplog.text


def test_limits_hold_in_each_process(away, monkeypatch):
    monkeypatch.setattr(SimpleRateThrottle, "cache", away)
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", {"join": "3/min"})
    for _ in range(3):
        rate_limits.check_rate_limit(RequestFactory().get("/"), "join")
    with pytest.raises(RateLimited):
        rate_limits.check_rate_limit(RequestFactory().get("/"), "join")
    rate_limits.check_rate_limit(RequestFactory(REMOTE_ADDR="203.0.113.9").get("/"), "join")


def test_once_redis_is_back_nothing_is_kept_of_that_time(away, monkeypatch):
    away.set("a", 1)
    with monkeypatch.context() as back:
        back.setattr(type(away._cache), "get", lambda self, key, default: "from Redis")
        assert away.get("a") == "from Redis"
    assert away.get("a") is None


@pytest.mark.process
def test_the_site_uses_it():
    environment = os.environ | {"REDIS_URL": "redis://127.0.0.1:1/0", "DEBUG": "true"}
    code = "from annotate import settings; print(settings.CACHES['default']['BACKEND'])"
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "annotate.core.redis_cache.FailOverRedisCache"
