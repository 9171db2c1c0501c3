"""The size of a project that is not made yet, from which its form says what it gives; nothing of it is stored."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.projects.forms import ProjectForm
from annotate.projects.setup.estimates import with_choices
from annotate.projects.setup.presets import Preset

MOST = 1_000_000


class SizeForm(forms.Form):
    n_items = forms.IntegerField(label=_("Items"), min_value=2, max_value=MOST)
    n_people = forms.IntegerField(label=_("People"), min_value=1, max_value=MOST)
    answers_each = forms.IntegerField(label=_("Answers of each person"), min_value=1, max_value=MOST)


def size_form(start: Preset, data: Any = None) -> SizeForm:
    """Return the form, bound where its fields were sent, else with the start's usual size."""
    sent = data if data is not None and any(name.startswith("size-") for name in data) else None
    usual = {name: getattr(start.example, name) for name in SizeForm.base_fields}
    return SizeForm(sent, initial=usual, prefix="size")


def chosen_start(start: Preset, settings: ProjectForm, size: SizeForm) -> Preset:
    """Return the start with what both forms hold; what can't be read stays as the start has it."""
    valid = []
    for form in (settings, size):
        form.is_valid()
        valid.append(form.cleaned_data if form.is_bound else {})
    given = {name: value for name, value in valid[0].items() if value is not None or name == "n_sets"}
    return with_choices(start, given, valid[1])
