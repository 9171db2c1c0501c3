"""Switches an account between simple results (places and scores) and expert ones (utilities and figures of the fit)."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from annotate.access import SignedInRequest
from annotate.models import User


def shows_expert(request: HttpRequest) -> bool:
    return bool(request.user.is_authenticated and request.user.is_expert)


@login_required
@require_POST
def set_detail(request: SignedInRequest) -> HttpResponse:
    """Remember the choice with the account and go back to the page it was made on."""
    is_expert = request.POST.get("detail") == "expert"
    User.objects.filter(pk=request.user.pk).exclude(is_expert=is_expert).update(is_expert=is_expert)
    back = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure())
    return HttpResponseRedirect(back if is_ours else reverse("home"))
