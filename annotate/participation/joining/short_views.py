"""Follows short addresses to the join page; who mistyped one gets a form. Guessing is slowed down."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotate.core.rate_limits import check_not_exhausted, check_rate_limit
from annotate.models import Project
from annotate.participation.joining.short_addresses import normalize_code

MAX_TYPED = 50
# Wrong codes are counted by address and, against many addresses, all together.
SCOPES = (("short-address", ""), ("short-addresses", "all"))


@never_cache
@require_safe
def type_code(request: HttpRequest) -> HttpResponse:
    """Ask for the code, and follow it."""
    typed = request.GET.get("code", "")[:MAX_TYPED]
    return follow_code(request, typed) if typed else render(request, "participation/short_address.html")


@never_cache
@require_safe
def short_join(request: HttpRequest, code: str) -> HttpResponse:
    return follow_code(request, code[:MAX_TYPED])


def follow_code(request: HttpRequest, typed: str) -> HttpResponse:
    """Redirect to the join page; raises RateLimited, for right codes too, after too many wrong ones."""
    for scope, who in SCOPES:
        check_not_exhausted(request, scope, who)
    code = normalize_code(typed)
    project = Project.objects.only("join_token").filter(join_code=code).first() if code else None
    if project:
        return redirect("join", project.join_token)
    for scope, who in SCOPES:
        check_rate_limit(request, scope, who)
    return render(request, "participation/short_address.html", {"typed": typed}, status=404)
