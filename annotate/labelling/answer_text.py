"""An answer in the words in which it is told to the one who gave it, by every criterion that there is."""

from collections.abc import Sequence
from typing import NamedTuple

from django.utils.translation import gettext as _

from annotate.labelling.actions import Answer
from annotate.labelling.answer_options import grade_words, outcome_words
from annotate.labelling.outcomes import LETTERS, decode_ranks, decode_shared
from annotate.labelling.task_types.registry import BY_OUTCOME
from annotate.models import CriterionAnswer, Label, PresentedItem, Project
from annotate.models.task_words import LETTER

Outcome = Label.Outcome


class AnswerSummary(NamedTuple):
    """order: the places that it names, best first.   shared: which of them, from 0, share the place of the one
    before."""

    outcome: str
    order: list[int | None]
    grade: str = ""
    shared: tuple[int, ...] = ()


def describe_answer(
    project: Project, outcome: str, order: Sequence[int | None], grade: str = "", shared: Sequence[int] = ()
) -> str:
    """Describe an answer; order, shared: as in AnswerSummary."""
    named = [LETTERS[place] for place in order if place is not None and place < len(LETTERS)]
    letters = join_shared(named, shared)
    if outcome == Outcome.CHOICE and letters and grade in Label.Grade.values:
        if own := grade_words(project, grade, letters[0]):
            return _("you said “%(answer)s”") % {"answer": own}
        values = {"letter": letters[0], "slightly": Label.Grade(grade).label.lower()}
        if project.choice_words:
            choice = project.choice_words.replace(LETTER, letters[0])
            return _("you said “%(choice)s” (%(slightly)s)") % {**values, "choice": choice}
        return _("you said %(letter)s is %(slightly)s better") % values
    if outcome in BY_OUTCOME and letters:
        return BY_OUTCOME[outcome].describe(letters, project)
    if outcome == Outcome.SKIP and not project.skip_words:
        return _("you skipped")
    return _("you said “%(answer)s”") % {"answer": outcome_words(project, outcome)}


def join_shared(letters: Sequence[str], shared: Sequence[int]) -> list[str]:
    """Return the letters by place: those that share one together, as in “A = B”."""
    found: list[str] = []
    for index, letter in enumerate(letters):
        if index in shared and found:
            found[-1] += f" = {letter}"
        else:
            found.append(letter)
    return found


def describe_answers(project: Project, answers: Sequence[AnswerSummary]) -> str:
    """Return what was said by each criterion, with their names where there are several."""
    if len(answers) == 1 or answers[0][0] == Outcome.SKIP:
        return describe_answer(project, *answers[0])
    names = [criterion["name"] for criterion in project.criteria]
    return "; ".join(f"{name}: {describe_answer(project, *one)}" for name, one in zip(names, answers, strict=False))


def summarize_answer(answer: Answer) -> list[AnswerSummary]:
    return [AnswerSummary(one.outcome, one.named, one.grade, one.shared) for one in (answer, *answer.further)]


def summarize_label(label: Label | CriterionAnswer, shown: Sequence[int]) -> AnswerSummary:
    """Summarize a label; shown: the items by place."""
    if label.ranks:
        order, shared = decode_ranks(label.outcome, label.ranks), decode_shared(label.outcome, label.ranks)
        return AnswerSummary(label.outcome, [*order], label.grade, shared)
    place = None if label.chosen_id is None else shown.index(label.chosen_id)
    return AnswerSummary(label.outcome, [place], label.grade)


def summarize_label_by_criterion(project: Project, label: Label) -> list[AnswerSummary]:
    """Return what a stored label says, the first criterion's answer first; one query more where there are several."""
    shown = list(PresentedItem.objects.filter(presentation=label.presentation_id).values_list("item_id", flat=True))
    further = CriterionAnswer.objects.filter(label=label).order_by("criterion") if project.criteria else []
    return [summarize_label(label, shown), *(summarize_label(one, shown) for one in further)]
