"""Answers that a task offers besides choosing an item, and the steps of a graded choice."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotate.labelling.outcomes import EXTRA_OUTCOMES, allowed_extra_outcomes
from annotate.models import Label, Project
from annotate.models.task_words import LETTER

Outcome = Label.Outcome
# Beyond this, or as a sentence of its own, what a higher place means no longer fits on a button.
MAX_MEANING_LENGTH = 40


@dataclass(frozen=True)
class ExtraAnswer:
    """An answer other than choosing an item."""

    value: str
    words: str


@dataclass(frozen=True)
class GradeStep:
    """One step of the scale from A clearly to B clearly; `option` is empty for the tie in its middle."""

    value: str
    words: str
    place: str
    option: str


OWN_WORDS = {
    Outcome.TIE.value: "tie_words",
    Outcome.BOTH_GOOD.value: "both_good_words",
    Outcome.BOTH_BAD.value: "both_bad_words",
    Outcome.CANT_JUDGE.value: "cant_judge_words",
    Outcome.SKIP.value: "skip_words",
}


def outcome_words(project: Project, outcome: str) -> str:
    """Return what the button of an answer other than a choice says: the owner's words, or the usual ones."""
    own = str(getattr(project, OWN_WORDS[outcome])) if outcome in OWN_WORDS else ""
    return own or str(Outcome(outcome).label)


def grade_words(project: Project, grade: str, letter: str) -> str:
    """Return the owner's words for how much better the item of this letter is; "" where they have none."""
    return str(getattr(project, f"{grade}_words")).replace(LETTER, letter)


def extra_answers(project: Project) -> list[ExtraAnswer]:
    allowed = allowed_extra_outcomes(project)
    return [ExtraAnswer(outcome, outcome_words(project, outcome)) for outcome in EXTRA_OUTCOMES if outcome in allowed]


def button_words(project: Project) -> list[tuple[str, str]]:
    """Return the owner's own words that annotators read, as (name of the setting, words)."""
    names = ("best_words", "worst_words", "choice_words", "slightly_words", "clearly_words", *OWN_WORDS.values())
    return [(name, str(getattr(project, name))) for name in names if getattr(project, name)]


def grade_steps(project: Project, others: Sequence[ExtraAnswer]) -> list[GradeStep]:
    """Return what is pressed where it is asked how much better; a tie that is allowed is the middle."""

    def step(letter: str, grade: str, usual: str) -> tuple[str, str, str]:
        place = letter.lower()
        return f"{place}_{grade}", grade_words(project, grade, letter) or usual, place

    steps = [step("A", "clearly", _("A clearly")), step("A", "slightly", _("A slightly"))]
    if any(other.value == Outcome.TIE for other in others):
        steps.append((Outcome.TIE.value, outcome_words(project, Outcome.TIE), ""))
    steps += [step("B", "slightly", _("B slightly")), step("B", "clearly", _("B clearly"))]
    return [GradeStep(value, words, str(place), option) for place, (value, words, option) in enumerate(steps, start=1)]


def button_text(project: Project, letter: str, meaning: str) -> str:
    """Return the owner's words, or the usual ones."""
    return project.choice_words.replace(LETTER, letter) if project.choice_words else choice_text(letter, meaning)


def choice_text(letter: str, meaning: str) -> str:
    """Return “A is better”, where the owner's words fit behind “A is”."""
    meaning = meaning.strip()
    if not meaning or len(meaning) > MAX_MEANING_LENGTH or meaning[-1] in ".!?:;":
        return _("Choose %(letter)s") % {"letter": letter}
    return _("%(letter)s is %(better)s") % {"letter": letter, "better": meaning}
