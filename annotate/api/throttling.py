"""How much one token, one signed-in person or one unknown address may ask of the API."""

from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from annotate.models import Annotator, ApiToken


class ApiThrottle(SimpleRateThrottle):
    scope = "api"

    def get_cache_key(self, request: Request, view: APIView) -> str:
        return f"limit-api-{sender_of(request) or self.get_ident(request)}"


def sender_of(request: Request) -> str:
    """Names who asks: a token, an annotator, a person; empty for strangers."""
    if isinstance(request.auth, ApiToken):
        return f"token-{request.auth.pk}"
    if isinstance(request.auth, Annotator):
        return f"annotator-{request.auth.pk}"
    return f"user-{request.user.pk}" if request.user.is_authenticated else ""
