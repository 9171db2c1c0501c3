"""Reads what managers decide about ideas."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.files.limits import MAX_KEY
from annotate.models import MAX_REASON_LENGTH, Idea, Item, Project
from annotate.models.participant_settings import MAX_IDEA_LENGTH

MAX_AT_ONCE = 200


class FilterForm(forms.Form):
    """Bound to GET; what is not valid counts as the ideas that wait."""

    state = forms.ChoiceField(choices=[*Idea.State.choices, ("all", "")], required=False)

    def asked(self) -> str:
        """Return the state; "" for all."""
        state = self.cleaned_data["state"] if self.is_valid() else ""
        return "" if state == "all" else state or Idea.State.WAITING


class ApproveForm(forms.Form):
    """Approves those ticked."""

    ideas = forms.TypedMultipleChoiceField(coerce=int, required=True)

    def __init__(self, data: Any, *, project: Project) -> None:
        super().__init__(data)
        waiting = project.ideas.filter(state=Idea.State.WAITING).order_by("pk").values_list("pk", flat=True)
        self.fields["ideas"].choices = [(pk, "") for pk in waiting]  # type: ignore[attr-defined]
        self.fields["ideas"].error_messages = {
            "required": _("Tick the ideas to approve first."),
            "invalid_choice": _("One of these ideas has been decided in the meantime, so nothing was changed."),
        }

    def clean_ideas(self) -> list[int]:
        ideas: list[int] = self.cleaned_data["ideas"]
        if len(ideas) > MAX_AT_ONCE:
            raise forms.ValidationError(
                _("These are %(n)d ideas; the limit is %(limit)d at a time."),
                params={"n": len(ideas), "limit": MAX_AT_ONCE},
            )
        return ideas


class DecisionForm(forms.Form):
    """What becomes of one idea. `item` is the key of a similar item that was ticked, `other` one that was typed."""

    action = forms.ChoiceField(choices=[("approve", ""), ("merge", ""), ("refuse", "")])
    text = forms.CharField(label=_("In these words"), required=False, max_length=MAX_IDEA_LENGTH)
    item = forms.CharField(label=_("Item"), required=False, max_length=MAX_KEY)
    other = forms.CharField(label=_("Key of another item"), required=False, max_length=MAX_KEY)
    reason = forms.CharField(label=_("Reason"), required=False, max_length=MAX_REASON_LENGTH)

    def __init__(self, data: Any, *, project: Project) -> None:
        super().__init__(data)
        self.project = project

    def clean(self) -> dict[str, Any]:
        """Find the item to merge into."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if values.get("action") == "merge":
            key = values.get("other") or values.get("item", "")
            values["into"] = Item.objects.filter(project=self.project, key=key).first()
            if values["into"] is None:
                text = _("No item has the key “%(key)s”. Copy it from the Items page.") if key else _("Choose an item.")
                self.add_error("other", text % {"key": key})
        return values

    @property
    def problem(self) -> str:
        """Return the first error."""
        return next((str(error) for errors in self.errors.values() for error in errors), "")
