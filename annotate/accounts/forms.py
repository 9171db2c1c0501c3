"""What a person says of a new access token: its name, what it may do, where, and until when."""

from datetime import timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.models import ApiToken, Project, User

LIFETIMES = [
    ("7", _("7 days")),
    ("30", _("30 days")),
    ("90", _("90 days")),
    ("365", _("A year")),
    ("", _("Never: revoke it yourself")),
]


class ProjectField(forms.ModelChoiceField):
    def label_from_instance(self, obj: Any) -> str:
        return str(obj.name)


class TokenForm(forms.Form):
    name = forms.CharField(
        label=_("What it is for"),
        max_length=100,
        help_text=_("Helps you to recognise it later. For example: “nightly export”, “lab notebook”."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
    )
    scopes = forms.MultipleChoiceField(
        label=_("Permissions"),
        choices=ApiToken.Scope.choices,
        initial=[ApiToken.Scope.READ],
        widget=forms.CheckboxSelectMultiple,
        help_text=_("A token can never do more than you can."),
    )
    project = ProjectField(
        label=_("Projects"), queryset=Project.objects.none(), required=False, empty_label=_("All of your projects")
    )
    lifetime = forms.ChoiceField(label=_("Expires after"), choices=LIFETIMES, required=False, initial="90")

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        mine = Project.objects.filter(memberships__user=user).only("name").order_by("name", "pk")
        self.fields["project"].queryset = mine  # type: ignore[attr-defined]

    @property
    def duration(self) -> timedelta | None:
        days = self.cleaned_data["lifetime"]
        return timedelta(days=int(days)) if days else None
