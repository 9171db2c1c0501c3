"""Limits the requests of one token, one signed-in person or one unknown address."""

from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from annotate.core.rate_limits import counted_as
from annotate.models import Annotator, ApiToken


class ApiThrottle(SimpleRateThrottle):
    scope = "api"

    def get_cache_key(self, request: Request, view: APIView) -> str:
        return f"limit-api-{counted_as(client_identity(request) or self.get_ident(request))}"


def client_identity(request: Request) -> str:
    """Return a name for the token, annotator or person who asks; empty for strangers."""
    if isinstance(request.auth, ApiToken):
        return f"token-{request.auth.pk}"
    if isinstance(request.auth, Annotator):
        return f"annotator-{request.auth.pk}"
    return f"user-{request.user.pk}" if request.user.is_authenticated else ""
