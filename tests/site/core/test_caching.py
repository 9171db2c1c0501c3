"""Redis away: pages, joining and limits go on as with an empty cache."""

import os
import subprocess
import sys

import pytest
from django.test import RequestFactory
from rest_framework.throttling import SimpleRateThrottle

from annotate.core import rate_limits
from annotate.core.redis_cache import FailOpenRedisCache


@pytest.fixture
def away():
    return FailOpenRedisCache("redis://127.0.0.1:1/0", {})


def test_it_answers_as_an_empty_cache(away, caplog):
    assert away.get("a", 3) == 3
    assert away.get_many(["a"]) == {}
    assert away.set("a", 1) is None
    assert away.add("a", 1) is True
    assert away.incr("a") == 1
    assert "a" not in away
    assert away.delete("a") is False
    assert "Redis did not answer" in caplog.text


def test_nobody_is_sent_away(away, monkeypatch):
    monkeypatch.setattr(SimpleRateThrottle, "cache", away)
    for _ in range(100):
        rate_limits.check_rate_limit(RequestFactory().get("/"), "join")


@pytest.mark.process
def test_the_site_uses_it():
    environment = os.environ | {"REDIS_URL": "redis://127.0.0.1:1/0", "DEBUG": "true"}
    code = "from annotate import settings; print(settings.CACHES['default']['BACKEND'])"
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "annotate.core.redis_cache.FailOpenRedisCache"
