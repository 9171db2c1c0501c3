"""Looking at pages in tests: who asks, what the page says, which rows it shows."""

from datetime import timedelta

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.labelling.assignment import expiry_check_key
from annotate.models import Project, User

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
HTMX = {"HX-Request": "true"}


def signed_in(user: User) -> Client:
    """A browser with a session of the user's, which nobody signed in for: that no log-in is written is half as long."""
    client = Client()
    session = SessionStore()
    session.update(
        {SESSION_KEY: str(user.pk), BACKEND_SESSION_KEY: BACKEND, HASH_SESSION_KEY: user.get_session_auth_hash()}
    )
    session.save()
    client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key
    return client


def page(client: Client, project: Project, name: str = "ranking", query: str = "", **headers) -> str:
    """The page's HTML with its white space made single."""
    response = client.get(reverse(name, args=[project.pk]) + query, **headers)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def rows_shown(html: str) -> list[str]:
    """What identifies each row of the table, in order."""
    return [part.partition('"')[0] for part in html.split('data-item="')[1:]]


def leases_looked_at(project: Project) -> None:
    """Somebody else has looked for expired leases in each second to come: who does so takes a statement more."""
    for second in range(60):
        cache.add(expiry_check_key(project.pk, timezone.now() + timedelta(seconds=second)), True, timeout=90)
