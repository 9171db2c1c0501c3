"""The sets with a right answer as their owner sees them: what is right, how often it was asked and found."""

from collections import Counter
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import Count

from annotate.labelling.answer_text import join_shared
from annotate.labelling.special_tasks import correctness
from annotate.models import GoldSet, Item, Label, Project, Purpose

PAGE_SIZE = 50
MAX_LABELS = 20_000  # held against the sets of one page


@dataclass(frozen=True)
class GoldRow:
    known: GoldSet
    items: list[Item]
    answer: str
    n_labels: int
    n_right: int


@dataclass(frozen=True)
class GoldSetPage:
    page: Page
    lines: list[GoldRow]
    counts: dict[str, int]


def gold_set_page(project: Project, number: str | None) -> GoldSetPage:
    """Return one page, in the same number of queries however many sets and labels there are."""
    sets = GoldSet.objects.filter(project=project, retired_at=None).order_by("purpose", "pk")
    page = Paginator(sets.prefetch_related("items"), PAGE_SIZE).get_page(number)
    return GoldSetPage(page, gold_rows(list(page)), n_sets_by_purpose(project))


def gold_rows(sets: list[GoldSet]) -> list[GoldRow]:
    """Return the sets, their items prefetched, with how often each was asked and found."""
    labels = Label.objects.filter(presentation__known__in=[known.pk for known in sets], voided_at=None).order_by("-pk")
    of_known = dict(labels.values_list("pk", "presentation__known")[:MAX_LABELS])
    right = correctness(Label.objects.filter(pk__in=labels.values("pk")[:MAX_LABELS])) if of_known else {}
    n_labels = Counter(of_known.values())
    n_right = Counter(of_known[pk] for pk, is_right in right.items() if is_right)
    return [
        GoldRow(known, list(known.items.all()), describe_right_answer(known), n_labels[known.pk], n_right[known.pk])
        for known in sets
    ]


def n_sets_by_purpose(project: Project) -> dict[str, int]:
    """Return how many sets there are for each purpose."""
    sets = GoldSet.objects.filter(project=project, retired_at=None).order_by()
    found = dict(sets.values_list("purpose").annotate(n=Count("pk")))
    return {purpose: found.get(purpose, 0) for purpose in Purpose.values}


def describe_right_answer(known: GoldSet) -> str:
    keys = {item.pk: item.key for item in known.items.all()}
    named = join_shared([keys[item] for item in known.named if item in keys], known.shared)
    return " > ".join(named) if named else str(Label.Outcome(known.outcome).label)
