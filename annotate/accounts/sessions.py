"""Sessions in the database, as Django's; reading one is compiled once, since every request does it."""

from typing import Any

from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.contrib.sessions.models import Session
from django.utils import timezone

from annotate.core.statements import Given, Statement

unexpired = Statement(
    lambda: Session.objects.filter(
        session_key=Given("session_key", Session), expire_date__gt=Given("now", Session, "expire_date")
    )
)


class SessionStore(DatabaseSessionStore):
    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def _get_session_from_db(self) -> Any:
        found = unexpired(session_key=self.session_key, now=timezone.now())
        if not found:
            self._session_key = None
            return None
        return found[0]
