"""An annotator's own answers, newest first: what was shown and what they said; nothing of others or of the ranking."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Prefetch, Q

from annotate.labelling.answer_text import describe_answers, summarize_label
from annotate.labelling.eligibility import counted_labels
from annotate.labelling.outcomes import LETTERS
from annotate.labelling.shown_items import LetteredItem, items_by_presentation
from annotate.labelling.wording import Wording, translate_items
from annotate.models import Annotator, CriterionAnswer, Item, Label, Project, Purpose

PAGE_SIZE = 20
VoidReason = Label.VoidReason


class OwnItemComment(NamedTuple):
    letter: str
    text: str


@dataclass(frozen=True)
class OwnAnswer:
    """`token` is that of the presentation, where this is the answer that undo takes back; else empty."""

    at: datetime
    words: str
    shown: list[LetteredItem]
    comment: str
    item_comments: list[OwnItemComment]
    undone: bool
    late: bool
    practice: bool
    token: str


@dataclass(frozen=True)
class OwnAnswers:
    page: Page
    answers: list[OwnAnswer]
    n_counting: int


def own_answers(annotator: Annotator, *, number: str | None, wording: Wording | None = None) -> OwnAnswers:
    """Read a page of answers; a number that isn't there becomes the nearest that is.

    wording: the words and the language of the items, as far as they have it; the project's own by default.
    """
    wording = wording or Wording(annotator.project)
    listed = Q(voided_at=None) | Q(void_reason__in=[VoidReason.UNDONE, VoidReason.LATE])
    labels = Label.objects.filter(listed, annotator=annotator).select_related("presentation")
    if annotator.project.criteria:
        labels = labels.prefetch_related(Prefetch("further", CriterionAnswer.objects.order_by("criterion")))
    labels = labels.prefetch_related("item_comments")
    page = Paginator(labels.order_by("-created_at", "-pk"), PAGE_SIZE).get_page(number)
    last = counted_labels(annotator).order_by("-created_at", "-pk").values_list("pk", flat=True).first()
    shown = items_by_presentation([label.presentation_id for label in page])
    translate_items([item for items in shown.values() for item in items], wording.language)
    answers = [
        own_answer_of(wording.project, label, shown[label.presentation_id], is_last=label.pk == last) for label in page
    ]
    return OwnAnswers(page, answers, counted_labels(annotator).count())


def own_answer_of(project: Project, label: Label, items: list[Item], is_last: bool) -> OwnAnswer:
    keys = [item.pk for item in items]
    answers = [summarize_label(one, keys) for one in (label, *(label.further.all() if project.criteria else ()))]
    named = {place for one in answers for place in one.order}
    words = describe_answers(project, answers)
    said_of = {one.item_id: one.text for one in label.item_comments.all()}
    return OwnAnswer(
        at=label.created_at,
        words=words[:1].upper() + words[1:],
        shown=[LetteredItem(LETTERS[place], item, place in named) for place, item in enumerate(items)],
        comment=label.comment,
        item_comments=[
            OwnItemComment(LETTERS[place], said_of[key]) for place, key in enumerate(keys) if key in said_of
        ],
        undone=label.void_reason == VoidReason.UNDONE,
        late=label.void_reason == VoidReason.LATE,
        practice=label.presentation.purpose == Purpose.PRACTICE,
        token=label.presentation.token if is_last else "",
    )
