"""How accounts come into being: only where the operator opened sign-up."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.db import IntegrityError
from django.http import HttpRequest
from django.utils.translation import gettext as _

from annotate.core.errors import UserError
from annotate.core.rate_limits import client_address, counted_as


class AccountJustMade(UserError):
    """The name of an account, which is made of its address, was given to another at the same moment."""

    def __init__(self) -> None:
        super().__init__(
            _("An account for a similar address has just been created. If it is yours, sign in; else try again.")
        )


@contextmanager
def refusing_a_name_just_given() -> Iterator[None]:
    """Raise AccountJustMade where the account that is saved within has the name of another."""
    try:
        yield
    except IntegrityError:
        raise AccountJustMade from None


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return bool(settings.SIGNUP_OPEN)

    def save_user(self, request: HttpRequest, user: Any, form: Any, commit: bool = True) -> Any:
        """Raise AccountJustMade."""
        with refusing_a_name_just_given():
            return super().save_user(request, user, form, commit)

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return what allauth counts a client as, in the cache: no network address."""
        return counted_as(client_address(request) or str(super().get_client_ip(request)))


def sign_in_name(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """Return the name that somebody tries to sign in with, for axes: else all names tried from one address are one."""
    given = credentials or {}
    name = given.get("email") or given.get("username") or request.POST.get("login") or request.POST.get("username")
    return str(name or "").strip().lower()


def signup_context(request: HttpRequest) -> dict[str, Any]:
    """Tell every template whether strangers may make an account, through which services one may sign in, and where the
    source code is."""
    return {
        "is_signup_open": settings.SIGNUP_OPEN,
        "sign_in_services": [(provider, service["name"]) for provider, service in settings.OIDC.items()],
        "source_url": settings.SOURCE_URL,
    }
