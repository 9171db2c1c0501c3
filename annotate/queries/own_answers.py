"""An annotator's own answers, newest first: what was shown and what they said; nothing of others or of the ranking."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Page, Paginator
from django.db.models import Prefetch, Q

from annotate.guarding import counting
from annotate.models import Annotator, FurtherAnswer, Item, Label, PresentedItem, Project, Purpose
from annotate.orders import LETTERS
from annotate.queries.answer_words import all_in_words, said_by

PAGE_SIZE = 20
VoidReason = Label.VoidReason


@dataclass(frozen=True)
class Shown:
    """One item of an answer; named: whether the answer is about it (chosen, best and worst, ranked)."""

    letter: str
    item: Item
    named: bool


@dataclass(frozen=True)
class OwnAnswer:
    """`token` is that of the presentation, where this is the answer that undo takes back; else empty."""

    at: datetime
    words: str
    shown: list[Shown]
    comment: str
    undone: bool
    late: bool
    practice: bool
    token: str


@dataclass(frozen=True)
class OwnAnswers:
    page: Page
    answers: list[OwnAnswer]
    n_counting: int


def own_answers(annotator: Annotator, *, number: str | None) -> OwnAnswers:
    """number: the page asked for; one that isn't there becomes the nearest that is."""
    told = Q(voided_at=None) | Q(void_reason__in=[VoidReason.UNDONE, VoidReason.LATE])
    labels = Label.objects.filter(told, annotator=annotator).select_related("presentation")
    if annotator.project.criteria:
        labels = labels.prefetch_related(Prefetch("further", FurtherAnswer.objects.order_by("criterion")))
    page = Paginator(labels.order_by("-created_at", "-pk"), PAGE_SIZE).get_page(number)
    last = counting(annotator).order_by("-created_at", "-pk").values_list("pk", flat=True).first()
    shown = shown_in([label.presentation_id for label in page])
    answers = [
        own_answer(annotator.project, label, shown[label.presentation_id], is_last=label.pk == last) for label in page
    ]
    return OwnAnswers(page, answers, counting(annotator).count())


def shown_in(presentations: list[int]) -> dict[int, list[Item]]:
    """The items of each presentation, in the order shown."""
    found = defaultdict(list)
    rows = PresentedItem.objects.filter(presentation__in=presentations).select_related("item")
    for row in rows.order_by("presentation", "position"):
        found[row.presentation_id].append(row.item)
    return found


def own_answer(project: Project, label: Label, items: list[Item], is_last: bool) -> OwnAnswer:
    keys = [item.pk for item in items]
    said = [said_by(one, keys) for one in (label, *(label.further.all() if project.criteria else ()))]
    named = {place for _outcome, places, _grade in said for place in places}
    words = all_in_words(project, said)
    return OwnAnswer(
        at=label.created_at,
        words=words[:1].upper() + words[1:],
        shown=[Shown(LETTERS[place], item, place in named) for place, item in enumerate(items)],
        comment=label.comment,
        undone=label.void_reason == VoidReason.UNDONE,
        late=label.void_reason == VoidReason.LATE,
        practice=label.presentation.purpose == Purpose.PRACTICE,
        token=label.presentation.token if is_last else "",
    )
