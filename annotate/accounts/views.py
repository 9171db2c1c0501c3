"""A person's access tokens: making one, whose secret is shown once, looking at them, revoking."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotate.access import SignedInRequest
from annotate.accounts.actions import create_token, revoke_token
from annotate.accounts.forms import TokenForm
from annotate.core.errors import UserError

PAGE_SIZE = 50


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: SignedInRequest) -> HttpResponse:
    """Show the tokens; the answer to the form shows a new secret, so that it is in no address and no session."""
    form, now, made = (
        TokenForm(request.POST if request.method == "POST" else None, user=request.user),
        timezone.now(),
        None,
    )
    if form.is_valid():
        values = {name: form.cleaned_data[name] for name in ("name", "scopes", "project")}
        expires_at = now + form.duration if form.duration else None
        try:
            made = create_token(user=request.user, **values, expires_at=expires_at, now=now)
            form = TokenForm(user=request.user)
        except UserError as refusal:
            form.add_error(None, str(refusal))
    mine = request.user.api_tokens.filter(revoked_at=None).select_related("project").order_by("-created_at", "-pk")
    context = {
        "form": form,
        "page": Paginator(mine, PAGE_SIZE).get_page(request.GET.get("page")),
        "secret": made[1] if made else "",
        "made": made[0] if made else None,
        "now": now,
    }
    return render(request, "accounts/tokens.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def revoke(request: SignedInRequest, token_id: int) -> HttpResponse:
    token = get_object_or_404(request.user.api_tokens, pk=token_id)
    if revoke_token(token=token, now=timezone.now()):
        messages.success(request, _("The token “%(name)s” is revoked and no longer works.") % {"name": token.name})
    else:
        messages.info(request, _("The token “%(name)s” had already been revoked.") % {"name": token.name})
    return redirect("tokens")
