"""The sets with a right answer as their owner sees them: what is right, how often it was asked and found."""

from collections import Counter
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import Count

from annotate.checks import rightness
from annotate.models import Item, KnownSet, Label, Project, Purpose

PAGE_SIZE = 50
MOST_LABELS = 20_000  # held against the sets of one page


@dataclass(frozen=True)
class Line:
    known: KnownSet
    items: list[Item]
    answer: str
    n_labels: int
    n_right: int


@dataclass(frozen=True)
class KnownSets:
    page: Page
    lines: list[Line]
    counts: dict[str, int]


def known_sets(project: Project, number: str | None) -> KnownSets:
    """One page, in the same number of queries however many sets and labels there are."""
    sets = KnownSet.objects.filter(project=project, retired_at=None).order_by("purpose", "pk")
    page = Paginator(sets.prefetch_related("items"), PAGE_SIZE).get_page(number)
    return KnownSets(page, lines_of(list(page)), counts(project))


def lines_of(sets: list[KnownSet]) -> list[Line]:
    """The sets, their items prefetched, with how often each was asked and found."""
    labels = Label.objects.filter(presentation__known__in=[known.pk for known in sets], voided_at=None).order_by("-pk")
    of_known = dict(labels.values_list("pk", "presentation__known")[:MOST_LABELS])
    right = rightness(Label.objects.filter(pk__in=labels.values("pk")[:MOST_LABELS])) if of_known else {}
    n_labels = Counter(of_known.values())
    n_right = Counter(of_known[pk] for pk, is_right in right.items() if is_right)
    return [
        Line(known, list(known.items.all()), answer_of(known), n_labels[known.pk], n_right[known.pk]) for known in sets
    ]


def counts(project: Project) -> dict[str, int]:
    """How many sets there are for each purpose."""
    sets = KnownSet.objects.filter(project=project, retired_at=None).order_by()
    found = dict(sets.values_list("purpose").annotate(n=Count("pk")))
    return {purpose: found.get(purpose, 0) for purpose in Purpose.values}


def answer_of(known: KnownSet) -> str:
    keys = {item.pk: item.key for item in known.items.all()}
    named = [keys[item] for item in known.named if item in keys]
    return " > ".join(named) if named else str(Label.Outcome(known.outcome).label)
