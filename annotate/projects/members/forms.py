"""What owners say of members: whom to add, and which role somebody has."""

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.models import Membership

EXPLAINED_ROLES = [
    (Membership.Role.VIEWER, _("Viewer: sees the results")),
    (Membership.Role.ANNOTATOR, _("Annotator: answers, sees no results")),
    (Membership.Role.MANAGER, _("Manager: runs the project")),
    (Membership.Role.OWNER, _("Owner: everything, also members and deleting")),
]


class AddMemberForm(forms.Form):
    address = forms.EmailField(label=_("E-mail address"), widget=forms.EmailInput(attrs={"autocomplete": "off"}))
    role = forms.ChoiceField(label=_("Role"), choices=EXPLAINED_ROLES)


class RoleForm(forms.Form):
    role = forms.ChoiceField(label=_("Role"), choices=Membership.Role.choices)
