"""The table of labels: every answer ever given, voided ones too, with what was shown, when and to whom."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from annotate.checks import rightness
from annotate.criteria import each
from annotate.exporting.columns import Column, Kind, Row
from annotate.models import WITH_RIGHT_ANSWER, Item, Label, PresentedItem, Project
from annotate.orders import COUNTED, TIES

Outcome = Label.Outcome
CHUNK = 1000  # labels read at a time, each time from where the last ended: no cursor stays open while a client reads

COLUMNS = [
    Column("label", _("Number of the label, rising in the order of arrival."), Kind.INTEGER),
    Column("project", _("The project's id.")),
    Column("presentation", _("Number of the showing that this label answers; one label at most."), Kind.INTEGER),
    Column("pair", _("Number of the set of items shown, whatever their order."), Kind.INTEGER),
    Column("task_type", _("pair, graded, best, best_worst, ranking or top (a ranking of the best few).")),
    Column("k", _("How many items were shown."), Kind.INTEGER),
    Column("criterion", _("The question that was asked; where there are several criteria, the name of this one.")),
    Column("annotator", _("Pseudonym, unique in the project; never an e-mail address.")),
    Column("annotator_source", _("account, link, import or simulated (a program).")),
    Column("session", _("The same for answers from one stay in one browser; says nothing about the person.")),
    Column("left", _("Of a pair: key of the item shown as A.")),
    Column("right", _("Of a pair: key of the item shown as B.")),
    Column(
        "outcome",
        _(
            "left or right (the side of a pair chosen), choice (of several), best_worst, ranking, top, tie, both_good, "
            "both_bad, cant_judge or skip."
        ),
    ),
    Column("grade", _("How much better the chosen one is: slightly or clearly; empty where that is not asked.")),
    Column("reason", _("Why it was skipped, where that was asked; else empty.")),
    Column("comment", _("What the annotator added in words.")),
    Column("winner", _("Key of the item chosen or put first; empty if there is none.")),
    Column("loser", _("Key of the other item of a pair, or of the one called worst; empty if there is none.")),
    Column(
        "ranking",
        _("What the answer says, best first: a JSON list of lists of keys, those not told apart in one; else empty."),
        Kind.GROUPS,
    ),
    Column("left_text", _("Of a pair: text of the item shown as A; of an image, what it shows.")),
    Column("right_text", _("Of a pair: text of the item shown as B.")),
    Column("shown_order", _("Keys of the items in the order shown, a JSON list."), Kind.TEXTS),
    Column("purpose", _("Why the set was shown: ordinary, practice, gold, attention or repeat.")),
    Column("is_gold", _("Whether the right answer was known beforehand."), Kind.TRUTH),
    Column("is_right", _("Whether the answer is the one known to be right; empty where none is known."), Kind.TRUTH),
    Column("is_repeat", _("Whether this annotator had answered the same set before, by plan."), Kind.TRUTH),
    Column(
        "valid", _("Whether fits count the label: false if it was voided or its purpose does not count."), Kind.TRUTH
    ),
    Column("voided", _("Whether the label was taken back."), Kind.TRUTH),
    Column("void_reason", _("undone, excluded or late; empty for a label that counts.")),
    Column("voided_at", _("When it was taken back, server time (UTC)."), Kind.MOMENT),
    Column("presented_at", _("When the items were handed out, server time (UTC)."), Kind.MOMENT),
    Column("created_at", _("When the answer arrived, server time (UTC)."), Kind.MOMENT),
    Column("client_at", _("When it was given by the browser's own clock, which may be wrong (UTC)."), Kind.MOMENT),
    Column("response_seconds", _("How long the items had been in view, measured by the browser."), Kind.NUMBER),
    Column(
        "active_seconds",
        _("Of that, the time with a sign of life: a stretch without one counts for 30 seconds at most."),
        Kind.NUMBER,
    ),
    Column("app_version", _("Version of this software that took the answer.")),
]

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
    "void_reason",
    "voided_at",
    "presentation__created_at",
    "created_at",
    "client_at",
    "response_ms",
    "active_ms",
    "app_version",
]


# Of these, what a criterion after the first has in FurtherAnswer.
ANSWER = ("outcome", "chosen", "ranks", "grade")
FURTHER = "further__"


class Shown(NamedTuple):
    pk: int
    key: str
    body: str


def rows(project: Project) -> Iterator[Row]:
    """By the criterion that the project is looked at by; see rows_of_all."""
    for labels, shown, items in chunks(project):
        held = rightness_of(labels) if project.criterion == 1 else {}
        for label in labels:
            yield row(project, label, [items[item] for item in shown[label["presentation"]]], held)


def rows_of_all(project: Project) -> Iterator[Row]:
    """Every label by every criterion, one criterion after the other."""
    for one in each(project):
        yield from rows(one)


def chunks(project: Project) -> Iterator[tuple[list[dict[str, Any]], dict[int, list[int]], dict[int, Shown]]]:
    """Labels, the items of their presentations in the order shown, and those items; three queries each."""
    last = 0
    while True:
        found = by_criterion(project, Label.objects.filter(project=project, pk__gt=last))
        labels = [plain(label) for label in found.order_by("pk").values(*fields(project))[:CHUNK]]
        if not labels:
            return
        last = labels[-1]["pk"]
        yield labels, *shown_in(labels)


def by_criterion(project: Project, labels: QuerySet[Label], outcomes: Collection[str] | None = None) -> QuerySet[Label]:
    """Those that say something by the project's criterion, of these outcomes where some are given."""
    way = FURTHER if project.criterion > 1 else ""
    wanted: dict[str, Any] = {f"{way}criterion": project.criterion} if way else {}
    return labels.filter(**wanted, **({} if outcomes is None else {f"{way}outcome__in": outcomes}))


def fields(project: Project) -> list[str]:
    """FIELDS by the project's criterion; `plain` gives them their usual names."""
    way = FURTHER if project.criterion > 1 else ""
    return [way + name if name in ANSWER else name for name in FIELDS]


def plain(label: dict[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(FURTHER): value for name, value in label.items()}


def shown_in(labels: list[dict[str, Any]]) -> tuple[dict[int, list[int]], dict[int, Shown]]:
    """The items of the labels' presentations in the order shown, and those items."""
    shown: dict[int, list[int]] = {}
    presented = PresentedItem.objects.filter(presentation__in=[label["presentation"] for label in labels])
    for presentation, item in presented.order_by("position").values_list("presentation", "item"):
        shown.setdefault(presentation, []).append(item)
    wanted = {item for places in shown.values() for item in places}
    items = Item.objects.filter(pk__in=steady(wanted)).values_list("pk", "key", "body")
    return shown, {item[0]: Shown(*item) for item in items}


def steady(keys: Collection[int]) -> list[int]:
    """The keys, and below zero ones that nothing has, so many that their number is a power of two: of statements with
    any number of parameters SQLite keeps more than a hundred compiled, 20 MB in a large export."""
    n = (1 << (len(keys) - 1).bit_length()) - len(keys) if keys else 0
    return [*keys, *range(-n, 0)]


def row(project: Project, label: dict[str, Any], shown: list[Shown], held: dict[int, bool]) -> Row:
    left, right = shown if len(shown) == 2 else (None, None)
    groups = ranking(label, shown)
    winner = groups[0][0] if len(groups) > 1 else None
    loser = groups[-1][0] if winner and (len(shown) == 2 or label["outcome"] == Outcome.BEST_WORST) else None
    voided = label["voided_at"] is not None
    return [
        label["pk"],
        str(project.pk),
        label["presentation"],
        label["presentation__item_set"],
        project.task_type,
        len(shown),
        project.criterion_name or project.question,
        label["annotator__pseudonym"],
        label["annotator__source"],
        label["session"],
        left and left.key,
        right and right.key,
        outcome_of(label, shown),
        label["grade"],
        label["reason"],
        label["comment"],
        winner and winner.key,
        loser and loser.key,
        [[item.key for item in group] for group in groups] or None,
        left and left.body,
        right and right.body,
        [item.key for item in shown],
        label["presentation__purpose"],
        label["presentation__purpose"] in WITH_RIGHT_ANSWER,
        held.get(label["pk"]),
        label["presentation__repeat"] > 0,
        not voided and label["presentation__purpose"] in project.counted_purposes,
        voided,
        label["void_reason"],
        label["voided_at"],
        label["presentation__created_at"],
        label["created_at"],
        label["client_at"],
        in_seconds(label["response_ms"]),
        in_seconds(label["active_ms"]),
        label["app_version"],
    ]


def in_seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def counts(project: Project, label: dict[str, Any]) -> bool:
    """Whether the label says something to fits."""
    said = label["voided_at"] is None and label["outcome"] in COUNTED
    return said and label["presentation__purpose"] in project.counted_purposes


def rightness_of(labels: list[dict[str, Any]]) -> dict[int, bool]:
    """Asks nothing where no label is held against a right answer."""
    held = [label["pk"] for label in labels if label["presentation__purpose"] in WITH_RIGHT_ANSWER]
    return rightness(Label.objects.filter(pk__in=held)) if held else {}


def outcome_of(label: dict[str, Any], shown: list[Shown]) -> str:
    """A choice between two is told by its side."""
    if label["outcome"] == Outcome.CHOICE and len(shown) == 2:
        return "left" if label["chosen"] == shown[0].pk else "right"
    outcome: str = label["outcome"]
    return outcome


def ranking(label: dict[str, Any], shown: list[Shown]) -> list[list[Shown]]:
    """The items best first, those that the answer does not tell apart together; nothing where it says nothing."""
    if label["outcome"] == Outcome.CHOICE:
        ranks = "".join("0" if item.pk == label["chosen"] else "1" for item in shown)
    else:
        ranks = "0" * len(shown) if label["outcome"] in TIES else label["ranks"]
    groups: dict[str, list[Shown]] = {}
    for item, rank in zip(shown, ranks, strict=False):
        groups.setdefault(rank, []).append(item)
    return [groups[rank] for rank in sorted(groups)]
