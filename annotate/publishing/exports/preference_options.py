"""Says how preference pairs are exported: by answer or by pair, as text or as messages, whole or split by prompt."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

MAX_HELD_OUT = 50  # per cent of the prompts
LINES = [
    ("answers", gettext_lazy("One line for each answer")),
    ("majority", gettext_lazy("One line for each pair, by majority")),
]
FORMS = [("text", gettext_lazy("Plain text")), ("chat", gettext_lazy("Chat messages with role and content"))]
SPLITS = [
    ("all", gettext_lazy("All lines")),
    ("train", gettext_lazy("Lines to train with")),
    ("test", gettext_lazy("Held-out lines")),
]
TABLE = "preferences"


@dataclass(frozen=True)
class PreferenceOptions:
    """lines: of LINES.   form: of FORMS.   held_out: per cent of the prompts.   split: of SPLITS."""

    lines: str = "answers"
    form: str = "text"
    held_out: int = 0
    split: str = "all"


NAMES = ("lines", "form", "held_out", "split")


def split_problem(values: dict[str, Any]) -> str:
    """Return what is wrong with the split of these options, each valid by itself; "" if nothing is."""
    if values.get("split") in (None, "", "all") or values.get("held_out"):
        return ""
    text = _("split=%(split)s needs a held-out share. Give held_out from 1 to %(most)d, or leave split out.")
    return text % {"split": values["split"], "most": MAX_HELD_OUT}


def other_table_problem(table: str) -> str:
    """Return the words for options given with a table that has none."""
    return _("“%(table)s” has no such option; only “%(only)s” has. Leave it out.") % {"table": table, "only": TABLE}


class PreferenceForm(forms.Form):
    """The options as the Export page offers them; what an address leaves out has its usual value."""

    use_required_attribute = False
    lines = forms.ChoiceField(
        label=gettext_lazy("Lines"),
        choices=LINES,
        required=False,
        help_text=gettext_lazy(
            "By majority, no pair appears both ways round: each line says how many answers compare the two, the share "
            "that prefers the chosen text, and by how much that is more than the share that prefers the other."
        ),
    )
    form = forms.ChoiceField(label=gettext_lazy("Form of the texts"), choices=FORMS, required=False)
    held_out = forms.IntegerField(
        label=gettext_lazy("Held-out prompts, in per cent"),
        min_value=0,
        max_value=MAX_HELD_OUT,
        required=False,
        help_text=gettext_lazy(
            "A column says “train” or “test”. All lines of a prompt are on the same side, and stay there in every "
            "later export. Items without a context share one prompt, the question, and are not divided."
        ),
    )
    split = forms.ChoiceField(label=gettext_lazy("Side of the split"), choices=SPLITS, required=False)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if not self.errors and (problem := split_problem(values)):
            self.add_error("split", problem)
        return values

    def options(self) -> PreferenceOptions:
        return options_from({name: value for name, value in self.cleaned_data.items() if value not in ("", None)})


def options_from(values: dict[str, Any]) -> PreferenceOptions:
    """Return the options among validated values."""
    return PreferenceOptions(**{name: values[name] for name in NAMES if name in values})
