"""Reads labels with the items shown, by criterion, in chunks of bounded memory."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from django.db.models import QuerySet

from annotate.core.errors import LabelsArchived
from annotate.criteria import Criterion
from annotate.labelling.outcomes import INFORMATIVE, TIES
from annotate.labelling.special_tasks import correctness
from annotate.labelling.task_types.registry import BY_OUTCOME
from annotate.models import CHECKED_PURPOSES, Item, ItemComment, Label, LabelArchive, PresentedItem, Project

Outcome = Label.Outcome


CHUNK_SIZE = (
    1000  # labels read at a time, each time from where the last ended: no cursor stays open while a client reads
)


FIELDS = [
    "pk",
    "presentation",
    "presentation__item_set",
    "annotator__pseudonym",
    "annotator__source",
    "session",
    "outcome",
    "chosen",
    "ranks",
    "grade",
    "reason",
    "comment",
    "presentation__repeat",
    "presentation__purpose",
    "presentation__task",
    "presentation__asked_by",
    "presentation__asked_fit",
    "void_reason",
    "voided_at",
    "presentation__created_at",
    "created_at",
    "client_at",
    "response_ms",
    "active_ms",
    "app_version",
    "language",
]


# Of these, what a criterion after the first has in CriterionAnswer.
ANSWER_FIELDS = ("outcome", "chosen", "ranks", "grade")


CRITERION_PREFIX = "further__"


class ShownItem(NamedTuple):
    pk: int
    key: str
    body: str


def require_labels(project: Project) -> None:
    """Raise LabelsArchived where the project's labels are in a file. Costs a query where the project is archived."""
    if project.archived_at and LabelArchive.objects.filter(project=project).exists():
        raise LabelsArchived


def label_chunks(
    criterion: Criterion,
) -> Iterator[tuple[list[dict[str, Any]], dict[int, list[int]], dict[int, ShownItem]]]:
    """Yield labels, the items of their presentations in the order shown, and those items; three queries each."""
    last = 0
    while True:
        found = labels_by_criterion(criterion, Label.objects.filter(project=criterion.project, pk__gt=last))
        labels = [
            without_prefix(label) for label in found.order_by("pk").values(*fields_by_criterion(criterion))[:CHUNK_SIZE]
        ]
        if not labels:
            return
        last = labels[-1]["pk"]
        yield with_items(labels)


def labels_by_criterion(
    criterion: Criterion, labels: QuerySet[Label], outcomes: Collection[str] | None = None
) -> QuerySet[Label]:
    """Return those that say something by this criterion, of these outcomes where some are given."""
    way = CRITERION_PREFIX if criterion.number > 1 else ""
    wanted: dict[str, Any] = {f"{way}criterion": criterion.number} if way else {}
    return labels.filter(**wanted, **({} if outcomes is None else {f"{way}outcome__in": outcomes}))


def fields_by_criterion(criterion: Criterion) -> list[str]:
    """Return FIELDS by this criterion; `plain` gives them their usual names."""
    way = CRITERION_PREFIX if criterion.number > 1 else ""
    return [way + name if name in ANSWER_FIELDS else name for name in FIELDS]


def without_prefix(label: dict[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(CRITERION_PREFIX): value for name, value in label.items()}


def with_items(
    labels: list[dict[str, Any]],
) -> tuple[list[dict[str, Any]], dict[int, list[int]], dict[int, ShownItem]]:
    """Return the labels, the items of their presentations in the order shown, and those items.

    Labels of somebody who has been erased since they were read are left out.
    """
    shown: dict[int, list[int]] = {}
    presented = PresentedItem.objects.filter(presentation__in=[label["presentation"] for label in labels])
    for presentation, item in presented.order_by("position").values_list("presentation", "item"):
        shown.setdefault(presentation, []).append(item)
    wanted = {item for places in shown.values() for item in places}
    items = Item.objects.filter(pk__in=pad_to_power_of_two(wanted)).values_list("pk", "key", "body")
    still_there = [label for label in labels if label["presentation"] in shown]
    return still_there, shown, {item[0]: ShownItem(*item) for item in items}


def item_comments_of(labels: list[dict[str, Any]]) -> dict[int, dict[int, str]]:
    """Return the comments on single items, by label and item; asks once."""
    found: dict[int, dict[int, str]] = {}
    wanted = ItemComment.objects.filter(label__in=pad_to_power_of_two([label["pk"] for label in labels]))
    for label, item, text in wanted.values_list("label", "item", "text"):
        found.setdefault(label, {})[item] = text
    return found


def pad_to_power_of_two(keys: Collection[int]) -> list[int]:
    """Return the keys, and below zero ones that nothing has, so many that their number is a power of two: of statements
    with any number of parameters SQLite keeps more than a hundred compiled, 20 MB in a large export."""
    n = (1 << (len(keys) - 1).bit_length()) - len(keys) if keys else 0
    return [*keys, *range(-n, 0)]


def is_informative(project: Project, label: dict[str, Any]) -> bool:
    """Return whether the label says something to fits."""
    counts = label["voided_at"] is None and label["outcome"] in INFORMATIVE
    return counts and label["presentation__purpose"] in project.counted_purposes


def correctness_of(labels: list[dict[str, Any]]) -> dict[int, bool]:
    """Asks nothing where no label is held against a right answer."""
    held = [label["pk"] for label in labels if label["presentation__purpose"] in CHECKED_PURPOSES]
    return correctness(Label.objects.filter(pk__in=held)) if held else {}


def outcome_of(label: dict[str, Any], shown: list[ShownItem]) -> str:
    """Return a choice between two is told by its side."""
    if label["outcome"] == Outcome.CHOICE and len(shown) == 2:
        return "left" if label["chosen"] == shown[0].pk else "right"
    outcome: str = label["outcome"]
    return outcome


def ranked_groups(label: dict[str, Any], shown: list[ShownItem]) -> list[list[ShownItem]]:
    """Return the items best first, those that the answer does not tell apart together; nothing where it
    says nothing."""
    if label["outcome"] == Outcome.CHOICE:
        ranks = "".join("0" if item.pk == label["chosen"] else "1" for item in shown)
    else:
        ranks = "0" * len(shown) if label["outcome"] in TIES else label["ranks"]
    groups: dict[str, list[ShownItem]] = {}
    for item, rank in zip(shown, ranks, strict=False):
        groups.setdefault(rank, []).append(item)
    return [groups[rank] for rank in sorted(groups)]


def tied_within(label: dict[str, Any]) -> bool:
    """Return whether items of one group (ranked_groups) are tied, where else it is left open which is better."""
    outcome = label["outcome"]
    return outcome in TIES or (outcome in BY_OUTCOME and BY_OUTCOME[outcome].may_share)
