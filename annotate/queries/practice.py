"""What an annotator is told while practising: how far they are, whether they were right, and why."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotate import checks
from annotate.models import Annotator, KnownSet, Label, Presentation, Purpose
from annotate.orders import LETTERS
from annotate.queries.own_answers import Shown, shown_in

Outcome = Label.Outcome


@dataclass(frozen=True)
class Step:
    """The practice task that is open: the how many-th of how many."""

    number: int
    n: int


@dataclass(frozen=True)
class Feedback:
    """On the answer just given. verdict: one of those of annotate.checks but FAILED. Named is what the right answer
    names."""

    is_right: bool
    answer: str
    why: str
    shown: list[Shown]
    verdict: str
    n_right: int
    needed: int
    n: int


def step(annotator: Annotator, token: str) -> Step | None:
    """None where the open task is no practice; asks nothing once practice is over or where there is none."""
    if not token or not checks.is_practising(annotator):
        return None
    if not Presentation.objects.filter(token=token, purpose=Purpose.PRACTICE).exists():
        return None
    state = checks.practice(annotator)
    done = 0 if not state.left else len(state.right)
    return Step(done + 1, len(state.sets))


def feedback(annotator: Annotator, n_done: int) -> Feedback | None:
    """On the last practice answer, until the first real one."""
    if not annotator.practised or n_done:
        return None
    label = (
        Label.objects.filter(annotator=annotator, voided_at=None, presentation__purpose=Purpose.PRACTICE)
        .select_related("presentation__known")
        .order_by("-created_at", "-pk")
        .first()
    )
    if label is None or label.presentation.known is None:
        return None
    shown = shown_in([label.presentation_id])[label.presentation_id]
    items = [item.pk for item in shown]
    known, state = label.presentation.known, checks.practice(annotator)
    return Feedback(
        is_right=checks.is_right(known, label, items),
        answer=in_words(known, items),
        why=known.why,
        shown=[Shown(LETTERS[place], item, item.pk in known.named) for place, item in enumerate(shown)],
        verdict=state.verdict,
        n_right=state.n_right,
        needed=state.needed,
        n=len(state.sets),
    )


def in_words(known: KnownSet, shown: Sequence[int]) -> str:
    """The right answer by the letters that its items were shown under."""
    letters = [LETTERS[shown.index(item)] for item in known.named if item in shown]
    if known.outcome == Outcome.BEST_WORST and len(letters) == 2:
        return _("best %(best)s, worst %(worst)s") % {"best": letters[0], "worst": letters[1]}
    return ", ".join(letters) if letters else str(Outcome(known.outcome).label)
