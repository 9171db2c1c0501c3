"""What an annotator is told while practising: how far they are, whether they were right, and why."""

from collections.abc import Sequence
from dataclasses import dataclass

from annotate.labelling import special_tasks
from annotate.labelling.answer_options import outcome_words
from annotate.labelling.answer_text import join_shared
from annotate.labelling.outcomes import LETTERS
from annotate.labelling.shown_items import LetteredItem, items_by_presentation
from annotate.labelling.task_types.registry import BY_OUTCOME
from annotate.models import Annotator, GoldSet, Label, Presentation, Purpose

Outcome = Label.Outcome


@dataclass(frozen=True)
class PracticeStep:
    """The practice task that is open: the how many-th of how many."""

    number: int
    n: int


@dataclass(frozen=True)
class Feedback:
    """On the answer just given. verdict: one of those of special_tasks but FAILED. Named is what the right answer
    names."""

    is_right: bool
    answer: str
    why: str
    shown: list[LetteredItem]
    verdict: str
    n_right: int
    needed: int
    n: int


def practice_step(annotator: Annotator, token: str) -> PracticeStep | None:
    """Return None where the open task is no practice; asks nothing once practice is over or where there is none."""
    if not token or not special_tasks.is_practising(annotator):
        return None
    if not Presentation.objects.filter(token=token, purpose=Purpose.PRACTICE).exists():
        return None
    state = special_tasks.practice_state(annotator)
    done = 0 if not state.left else len(state.right)
    return PracticeStep(done + 1, len(state.sets))


def practice_feedback(annotator: Annotator, n_done: int) -> Feedback | None:
    """Return feedback on the last practice answer, until the first real one."""
    if not annotator.practised or n_done:
        return None
    label = (
        Label.objects.filter(annotator=annotator, voided_at=None, presentation__purpose=Purpose.PRACTICE)
        .select_related("presentation__known__project")
        .order_by("-created_at", "-pk")
        .first()
    )
    if label is None or label.presentation.known is None:
        return None
    shown = items_by_presentation([label.presentation_id])[label.presentation_id]
    items = [item.pk for item in shown]
    known, state = label.presentation.known, special_tasks.practice_state(annotator)
    return Feedback(
        is_right=special_tasks.is_correct(known, label, items),
        answer=describe_right_answer(known, items),
        why=known.why,
        shown=[LetteredItem(LETTERS[place], item, item.pk in known.named) for place, item in enumerate(shown)],
        verdict=state.verdict,
        n_right=state.n_right,
        needed=state.needed,
        n=len(state.sets),
    )


def describe_right_answer(known: GoldSet, shown: Sequence[int]) -> str:
    """Return the right answer by the letters that its items were shown under."""
    named = [LETTERS[shown.index(item)] for item in known.named if item in shown]
    letters = join_shared(named, known.shared)
    if letters and known.outcome in BY_OUTCOME:
        return BY_OUTCOME[known.outcome].describe_right_answer(letters, known.project)
    return outcome_words(known.project, known.outcome)
