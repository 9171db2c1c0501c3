"""What owners say of given questions: which to list, what to do with those ticked, in which order they are asked."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.files.limits import MAX_KEY
from annotate.labelling.plan.given import MAX_PRIORITY
from annotate.models import GivenOrder
from annotate.questions.queries import PAGE_SIZE, STATES


class FilterForm(forms.Form):
    """`state` comes with the links above the list."""

    state = forms.ChoiceField(choices=[("", ""), *STATES.items()], required=False, widget=forms.HiddenInput)
    item = forms.CharField(label=_("Key of an item"), max_length=MAX_KEY, required=False)


class ManyForm(forms.Form):
    """What to do with the questions ticked."""

    action = forms.ChoiceField(choices=[("withdraw", ""), ("ask", ""), ("priority", "")])
    number = forms.TypedMultipleChoiceField(coerce=int)
    priority = forms.IntegerField(
        label=_("Priority"), min_value=-MAX_PRIORITY, max_value=MAX_PRIORITY, required=False, initial=0
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sent = self.data.getlist("number")[:PAGE_SIZE] if self.is_bound else []  # type: ignore[attr-defined]
        usable = [one for one in sent if one.isdecimal() and len(one) < 10]
        self.fields["number"].choices = [(one, one) for one in usable]  # type: ignore[attr-defined]
        self.fields["number"].error_messages["required"] = _("No question is ticked. Tick at least one.")

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if values.get("action") == "priority" and values.get("priority") is None and "priority" not in self.errors:
            self.add_error("priority", _("Enter a whole number; the highest is asked first."))
        return values


class OrderForm(forms.Form):
    order = forms.ChoiceField(label=_("Asked"), choices=GivenOrder.choices)
