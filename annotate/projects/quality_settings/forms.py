"""What owners say of a project's guards: its hours, reading time, pauses, why something is skipped."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.models import MAX_REASON_LENGTH, Project

MOST_REASONS = 12
NONE_IF_EMPTY = ("min_seconds", "repeat_percent")  # as the page says of every field: empty turns it off


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
                _(
                    "There are %(n)d reasons; the limit is %(limit)d. Remove some: annotators can always write "
                    "their own."
                ),
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
        help_text=_("One per line, for example “I know the author”. Annotators can always write their own."),
    )

    class Meta:
        model = Project
        fields = [
            "opens_at",
            "closes_at",
            "min_seconds",
            "break_every",
            "sitting_cap",
            "question_ahead",
            "ask_why_skipped",
            "skip_reasons",
            "practice_pass",
            "practice_tries",
            "gold_every",
            "attention_every",
            "repeat_percent",
            "count_gold",
            "count_repeats",
            "attention_fails",
            "gold_fails",
            "count_screened_out",
        ]
        labels = {
            "opens_at": _("Accepts answers from"),
            "closes_at": _("Accepts answers until"),
            "min_seconds": _("Minimum reading time, in seconds"),
            "break_every": _("Suggest a break after this many answers"),
            "sitting_cap": _("Maximum answers in one sitting"),
            "question_ahead": _("Hold the next question ready"),
            "ask_why_skipped": _("Ask why something is skipped"),
            "practice_pass": _("Right answers needed to pass the practice"),
            "practice_tries": _("Attempts at the practice"),
            "gold_every": _("One gold question in this many tasks"),
            "attention_every": _("One attention check in this many tasks"),
            "repeat_percent": _("Percent of tasks that repeat an earlier one"),
            "count_gold": _("Answers to gold questions count in the ranking"),
            "count_repeats": _("Answers to repeats count in the ranking"),
            "attention_fails": _("Screen out after this many failed attention checks"),
            "gold_fails": _("Screen out after this many failed gold questions"),
            "count_screened_out": _("Answers of people screened out count in the ranking"),
        }
        help_texts = {
            "opens_at": _("The project must be open as well. Leave empty to accept answers as soon as it is."),
            "closes_at": _("Later answers are refused. Leave empty to accept answers until you close the project."),
            "min_seconds": _(
                "0 to 120; 0 means none. The answer buttons are disabled until the time is over. An answer sent "
                "earlier does not count, and the task stays open."
            ),
            "break_every": _("Shows a page that suggests a break; annotators can skip it. Leave empty for none."),
            "sitting_cap": _("A sitting ends after half an hour without an answer. Leave empty for no limit."),
            "question_ahead": _(
                "The page loads the next question while people answer, so that it appears at once, even over a slow "
                "connection. Each person then holds two sets at a time, the second for a minute at most."
            ),
            "ask_why_skipped": _(
                "Where “Skip” is allowed, it then needs a reason, which is stored with the label and exported. "
                "Skips do not affect the ranking."
            ),
        }
        help_texts = help_texts | {
            "practice_pass": _(
                "Annotators answer the practice sets before their first task, with feedback on each. People with "
                "fewer right answers may try again, then are turned away politely. You can let them in later. "
                "Leave empty for no practice."
            ),
            "practice_tries": _("How often people may try the practice, including the first time."),
            "gold_every": _(
                "Sets whose right answer you know, mixed in at random and never shown twice to one person. They "
                "look like any other task and count towards people's progress and limits, but not towards the "
                "overlap. Leave empty for none."
            ),
            "attention_every": _("The same, with sets that anybody who reads them gets right. Leave empty for none."),
            "repeat_percent": _(
                "0 to 50. Shows a set again in mirrored order, at least five answers later. This measures how "
                "consistent each annotator is."
            ),
            "count_gold": _("When off, they are used only to check annotators."),
            "count_repeats": _("When off, only the first answer to a set counts."),
            "attention_fails": _(
                "The rule is the same for everybody and is applied at once. People see a polite page and the code for "
                "those screened out; nobody can be admitted again by hand. Leave empty for no such rule."
            ),
            "gold_fails": _("The same, by wrong answers to gold questions. Leave empty for no such rule."),
            "count_screened_out": _(
                "When off, all answers of whoever is screened out by these rules become void, and their sets go to "
                "others. A change holds for those screened out from then on."
            ),
        }
        widgets = {"opens_at": LocalDateTimeInput, "closes_at": LocalDateTimeInput}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name in NONE_IF_EMPTY:
            self.fields[name].required = False

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        values.update({name: values[name] or 0 for name in NONE_IF_EMPTY if name in values})
        opens, closes = values.get("opens_at"), values.get("closes_at")
        if opens and closes and opens >= closes:
            self.add_error("closes_at", _("It would close before it opens. Give a later time, or leave one empty."))
        return values

    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.Meta.fields}
