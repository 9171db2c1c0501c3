"""The page behind an invitation to be a member: choose a password, or join with the account there is."""

from datetime import datetime
from typing import Any

from allauth.account.adapter import get_adapter
from django import forms
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotate.accounts.invitations import (
    InvitationOver,
    accept_invitations,
    account_of,
    invitation_of,
    is_switched_off,
    make_account,
)
from annotate.core.rate_limits import check_rate_limit
from annotate.models import MemberInvitation, User

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


class PasswordForm(forms.Form):
    password1 = forms.CharField(
        label=gettext_lazy("Password"), widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}), strip=False
    )
    password2 = forms.CharField(
        label=gettext_lazy("Password (again)"),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        strip=False,
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_password1(self) -> str:
        password: str = self.cleaned_data["password1"]
        validate_password(password, self.user)
        return password

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        if "password1" in values and values["password1"] != values.get("password2"):
            raise ValidationError(_("The two passwords are different. Type the same one twice."))
        return values


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invited(request: HttpRequest, token: str) -> HttpResponse:
    """Show what one is invited to; POST makes the account, signs in and joins."""
    now = timezone.now()
    check_rate_limit(request, "join")
    invitation = invitation_of(token, now)
    if account := account_of(invitation.address):
        return join_with(request, account, invitation, now)
    if is_switched_off(invitation.address):
        return redirect("account_inactive")
    user = User(email=invitation.address)
    form = PasswordForm(request.POST if request.method == "POST" else None, user=user)
    if form.is_valid():
        check_rate_limit(request, "password")
        get_adapter(request).populate_username(request, user)
        password = form.cleaned_data["password1"]
        try:
            make_account(invitation=invitation, user=user, password=password, now=now)
        except InvitationOver:
            twin = account_of(invitation.address)  # the same form, sent twice at once
            if twin is None or not twin.check_password(password):
                raise
            user = twin
        login(request, user, backend=BACKEND)
        n = user.memberships.count()
        messages.success(request, _("Your account is ready. You are a member of %(n)d projects.") % {"n": n})
        return redirect("home")
    context = {"form": form, "invitation": invitation, "project": invitation.project}
    return render(request, "accounts/invited.html", context, status=400 if form.errors else 200)


def join_with(request: HttpRequest, account: User, invitation: MemberInvitation, now: datetime) -> HttpResponse:
    """Show that there is an account already; POST makes it a member, and signing in is left to its person."""
    if request.method == "POST":
        accept_invitations(user=account, address=invitation.address, now=now)
        messages.success(request, _("You are a member now. Sign in to open the project."))
        return redirect("home" if request.user.is_authenticated else "account_login")
    context = {"form": None, "invitation": invitation, "project": invitation.project}
    return render(request, "accounts/invited.html", context)
