"""What owners say of a project's guards: its hours, reading time, pauses, why something is skipped."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.models import MAX_REASON_LENGTH, Project

MOST_REASONS = 12


class LinesField(forms.CharField):
    """A list of short texts, one a line."""

    widget = forms.Textarea

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override]
        text = "\n".join(value) if isinstance(value, list) else super().to_python(value) or ""
        return [*dict.fromkeys(" ".join(line.split()) for line in text.splitlines() if line.strip())]

    def validate(self, value: Any) -> None:
        super().validate(value)
        if len(value) > MOST_REASONS:
            raise forms.ValidationError(
                _("There are %(n)d reasons; the limit is %(limit)d. Leave some out: own words are always taken."),
                params={"n": len(value), "limit": MOST_REASONS},
            )
        for line in value:
            if len(line) > MAX_REASON_LENGTH:
                raise forms.ValidationError(
                    _("“%(start)s…” has %(n)d characters; the limit is %(limit)d. Shorten it."),
                    params={"start": line[:40], "n": len(line), "limit": MAX_REASON_LENGTH},
                )

    def run_validators(self, value: Any) -> None:
        """Skip the validators of CharField, which are for one text."""


class LocalDateTimeInput(forms.DateTimeInput):
    """A date and a time by the site's clock."""

    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%dT%H:%M")


class QualityForm(forms.ModelForm):
    skip_reasons = LinesField(
        label=_("Reasons to choose from"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
        help_text=_("One a line, for example “I know the author”. Annotators may always say it in words of their own."),
    )

    class Meta:
        model = Project
        fields = [
            "opens_at",
            "closes_at",
            "min_seconds",
            "break_every",
            "sitting_cap",
            "ask_why_skipped",
            "skip_reasons",
            "practice_pass",
            "practice_tries",
            "gold_every",
            "attention_every",
            "repeat_percent",
            "count_gold",
            "count_repeats",
        ]
        labels = {
            "opens_at": _("Takes answers from"),
            "closes_at": _("Takes answers until"),
            "min_seconds": _("Shortest time to read, in seconds"),
            "break_every": _("Propose a break after so many answers"),
            "sitting_cap": _("Most answers in one sitting"),
            "ask_why_skipped": _("Ask why something is skipped"),
            "practice_pass": _("Right answers that pass the practice"),
            "practice_tries": _("Tries"),
            "gold_every": _("One gold question in so many tasks"),
            "attention_every": _("One attention check in so many tasks"),
            "repeat_percent": _("Percent of tasks that repeat an earlier one"),
            "count_gold": _("Answers to gold questions count in the ranking"),
            "count_repeats": _("Answers to repeats count in the ranking"),
        }
        help_texts = {
            "opens_at": _("Besides being open. Empty: as soon as the project is open."),
            "closes_at": _("An answer that arrives later is refused. Empty: until you close the project."),
            "min_seconds": _(
                "0 to 120; 0 asks for none. Until it is over the answers can't be pressed; one that arrives earlier "
                "is not counted, and the task stays."
            ),
            "break_every": _("A page that proposes a pause and can be skipped. Empty: none."),
            "sitting_cap": _("A sitting ends after half an hour without an answer. Empty: no limit."),
            "ask_why_skipped": _(
                "Where “Skip” is allowed, it then takes a reason, which is stored with the label and exported. Skips "
                "say nothing to the ranking."
            ),
        }
        help_texts = help_texts | {
            "practice_pass": _(
                "Before the first task come the practice sets, each with feedback. Who has fewer right than this tries "
                "again, then is screened out with kind words; you can let them in. Empty: no practice."
            ),
            "practice_tries": _("How often the practice may be tried, the first time counted."),
            "gold_every": _(
                "Sets whose right answer you know, at random places, never twice to one person. They look like any "
                "other task and count in people's progress and caps, not in the overlap. Empty: none."
            ),
            "attention_every": _("The same for sets that anybody who reads gets right. Empty: none."),
            "repeat_percent": _(
                "0 to 50. Sets that the person answered at least five answers ago, shown once more in mirrored order: "
                "they tell how consistent people are with themselves."
            ),
            "count_gold": _("Off, they serve to check people only."),
            "count_repeats": _("Off, only the first answer to a set counts."),
        }
        widgets = {"opens_at": LocalDateTimeInput, "closes_at": LocalDateTimeInput}

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        opens, closes = values.get("opens_at"), values.get("closes_at")
        if opens and closes and opens >= closes:
            self.add_error("closes_at", _("It would close before it opens. Give a later time, or leave one empty."))
        return values

    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.Meta.fields}
