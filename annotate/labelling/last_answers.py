"""What an annotator said last: the answer, or that they know an item, which undo would take back."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from annotate.labelling.answer_text import describe_answer, describe_answers, summarize_label_by_criterion
from annotate.labelling.eligibility import counted_labels
from annotate.labelling.outcomes import LETTERS, decode_ranks, decode_shared
from annotate.models import Annotator, PresentedItem


@dataclass(frozen=True)
class LastAnswer:
    """The answer that undo would take back, named by its presentation's token."""

    token: str
    words: str
    at: datetime


def last_answer_or_declaration(annotator: Annotator) -> LastAnswer | None:
    """Return the last answer, or if it is later, which item the annotator said they know."""
    answered = last_answer(annotator)
    if not annotator.has_never_shown:
        return answered
    declared = annotator.never_shown.select_related("declared_in").exclude(declared_at=None)
    found = declared.order_by("-declared_at", "-pk").first()
    if found is None or found.declared_in is None or found.declared_at is None:
        return answered
    if answered and answered.at > found.declared_at:
        return answered
    letter = LETTERS[position_of(found.declared_in.pk, found.item_id) or 0]
    return LastAnswer(found.declared_in.token, _("you know %(letter)s") % {"letter": letter}, found.declared_at)


def last_answer(annotator: Annotator) -> LastAnswer | None:
    if annotator.project.criteria:
        return last_answer_by_criterion(annotator)
    last = (
        counted_labels(annotator)
        .order_by("-created_at", "-pk")
        .values_list("presentation__token", "outcome", "presentation_id", "chosen_id", "ranks", "grade", "created_at")
        .first()
    )
    if last is None:
        return None
    token, outcome, presentation_id, chosen_id, ranks, grade, at = last
    order = decode_ranks(outcome, ranks) if ranks else [position_of(presentation_id, chosen_id)]
    shared = decode_shared(outcome, ranks) if ranks else ()
    return LastAnswer(token, describe_answer(annotator.project, outcome, order, grade, shared), at)


def last_answer_by_criterion(annotator: Annotator) -> LastAnswer | None:
    """Return the same where there are several criteria."""
    last = counted_labels(annotator).select_related("presentation").order_by("-created_at", "-pk").first()
    if last is None:
        return None
    words = describe_answers(annotator.project, summarize_label_by_criterion(annotator.project, last))
    return LastAnswer(last.presentation.token, words, last.created_at)


def position_of(presentation_id: int, item_id: int | None) -> int | None:
    if item_id is None:
        return None
    shown = PresentedItem.objects.filter(presentation=presentation_id, item=item_id)
    return shown.values_list("position", flat=True).get()
