"""The two addresses of signing in through an institution: to its service, and back."""

import logging

from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from requests import RequestException

from annotate.accounts.oidc import ServiceAdapter, refusal_page
from annotate.core.rate_limits import check_rate_limit

log = logging.getLogger(__name__)


def passed_on(request: HttpRequest, view: type[OAuth2LoginView] | type[OAuth2CallbackView], name: str) -> HttpResponse:
    check_rate_limit(request, "join")
    try:
        answer: HttpResponse = view.adapter_view(ServiceAdapter(request, name))(request)
    except SocialApp.DoesNotExist:
        raise Http404 from None
    except (OAuth2Error, RequestException, KeyError, ValueError) as error:
        log.warning("Signing in through OpenID Connect failed: %s", error)
        return refusal_page(request, _("The sign-in service did not answer as expected. Try again in a minute."), 502)
    return answer


@never_cache
@require_safe
def start(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Send to the service."""
    return passed_on(request, OAuth2LoginView, provider_id)


@never_cache
@require_safe
def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Take what the service sent back."""
    return passed_on(request, OAuth2CallbackView, provider_id)


@require_safe
def cancelled(request: HttpRequest) -> HttpResponse:
    return refusal_page(request, _("You cancelled signing in. Nothing was changed."), 200)
