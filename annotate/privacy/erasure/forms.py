"""Saying once more that a person is to be erased: by the password, or by a tick."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.models import User


class PasswordForm(forms.Form):
    password = forms.CharField(
        label=_("Your password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self.user.check_password(password):
            raise forms.ValidationError(_("That is not your password. Nothing was erased; try again."))
        return password


class ConfirmForm(forms.Form):
    sure = forms.BooleanField(
        label=_("Yes, erase it permanently"),
        error_messages={"required": _("Tick the box to confirm that you are sure. Nothing was erased.")},
    )
