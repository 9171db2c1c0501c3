"""Authenticates by access token, by a pseudonymous annotator's secret, or by session with CSRF token."""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from annotate.accounts.actions import record_token_use
from annotate.core.statements import Given, Statement
from annotate.models import Annotator, ApiToken, User
from annotate.models.api_tokens import digest_of

READ, WRITE, ANNOTATE = ApiToken.Scope.READ, ApiToken.Scope.WRITE, ApiToken.Scope.ANNOTATE
BEARER, ANNOTATOR = "Bearer", "Annotator"

annotator_by_secret = Statement(
    lambda: Annotator.objects.select_related("project").filter(resume_token=Given("resume_token", Annotator), user=None)
)
token_by_digest = Statement(lambda: ApiToken.objects.select_related("user").filter(digest=Given("digest", ApiToken)))


def read_secret(request: Request, scheme: str) -> str | None:
    """Return what follows `scheme` in the Authorization header; None for another scheme or none."""
    given_scheme, _blank, secret = get_authorization_header(request).decode("latin-1").partition(" ")
    return secret.strip() if given_scheme.casefold() == scheme.casefold() else None


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer crk_...`: the user who made the token, within its scopes."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        secret = read_secret(request, BEARER)
        if secret is None:
            return None
        token: ApiToken | None = next(iter(token_by_digest(digest=digest_of(secret))), None)
        now = timezone.now()
        if token is None or token.revoked_at or not token.user.is_active:
            raise AuthenticationFailed(_("This token is unknown or revoked. Create a new one under “Access tokens”."))
        if token.expires_at and token.expires_at <= now:
            raise AuthenticationFailed(_("This token has expired. Create a new one under “Access tokens”."))
        record_token_use(token=token, now=now)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return BEARER


class AnnotatorAuthentication(BaseAuthentication):
    """`Authorization: Annotator ...`: a pseudonymous annotator, by the secret that joining returned."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, Annotator] | None:
        secret = read_secret(request, ANNOTATOR)
        if secret is None:
            return None
        annotator: Annotator | None = next(iter(annotator_by_secret(resume_token=secret)), None)
        if annotator is None:
            raise AuthenticationFailed(_("No annotator has this secret. Join the project again through its link."))
        return AnonymousUser(), annotator


class HasScope(BasePermission):
    """A token's scope must cover what the view does; an annotator's secret opens what asks for the annotate scope.

    Everything else is decided by annotate.access.
    """

    def has_permission(self, request: Request, view: APIView) -> bool:
        needed = required_scope(view, request.method or "")
        auth: Any = request.auth
        if isinstance(auth, ApiToken):
            if needed and needed not in auth.scopes:
                raise PermissionDenied(
                    _("This token does not have the scope “%(scope)s”. Create one that does.") % {"scope": needed}
                )
            return True
        if isinstance(auth, Annotator):
            return needed in (None, ANNOTATE)
        return needed is None or bool(request.user and request.user.is_authenticated)


def required_scope(view: APIView, method: str) -> str | None:
    """Return the scope a method requires: `view.scope` if it is set (None: no scope), else read or write."""
    default = READ if method in SAFE_METHODS else WRITE
    scope: str | None = getattr(view, "scope", default)
    return scope


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "annotate.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "An access token with the scopes read, write or annotate, made under “Access tokens”.",
        }


class AnnotatorScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "annotate.api.authentication.AnnotatorAuthentication"
    name = "annotator"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Annotator SECRET`, with the secret that joining by link returned.",
        }
