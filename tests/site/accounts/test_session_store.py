"""Sessions are read by a compiled query: the same ones as Django's own store reads."""

from datetime import timedelta

import pytest
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.contrib.sessions.models import Session
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotate.accounts.sessions import SessionStore

pytestmark = pytest.mark.django_db


def saved(**values: str) -> str:
    session = DatabaseSessionStore()
    session.update(values)
    session.save()
    return session.session_key


def test_each_session_is_read_by_its_key_in_one_statement():
    keys = [saved(name="one"), saved(name="other")]
    SessionStore(keys[0]).get("name")  # the first run compiles
    for key, name in zip(keys, ("one", "other"), strict=True):
        with CaptureQueriesContext(connection) as asked:
            assert SessionStore(key)["name"] == name
        assert len(asked) == 1


@pytest.mark.parametrize("store", [SessionStore, DatabaseSessionStore])
def test_an_expired_or_unknown_session_is_empty_and_loses_its_key(store):
    key = saved(name="one")
    Session.objects.filter(pk=key).update(expire_date=timezone.now() - timedelta(seconds=1))
    for unread in (key, "unknown"):
        session = store(unread)
        assert session.get("name") is None
        assert session.session_key is None


def test_what_is_changed_is_saved_and_read_again():
    session = SessionStore(saved(name="one"))
    session["name"] = "other"
    session.save()
    assert SessionStore(session.session_key)["name"] == "other"
    session.flush()
    assert not Session.objects.exists()
