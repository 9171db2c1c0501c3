"""Defines the export table of labels: every answer, voided ones too, with what was shown, when and to whom."""

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _

from annotate.criteria import Criterion, list_criteria
from annotate.files.columns import Column, Kind, Row
from annotate.labelling.label_rows import ShownItem, correctness_of, label_chunks, outcome_of, ranked_groups
from annotate.labelling.task_types.registry import task_type_of
from annotate.models import CHECKED_PURPOSES, Project

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


def rows(criterion: Criterion) -> Iterator[Row]:
    """By one criterion; see rows_of_all."""
    for labels, shown, items in label_chunks(criterion):
        held = correctness_of(labels) if criterion.number == 1 else {}
        for label in labels:
            yield row(criterion, label, [items[item] for item in shown[label["presentation"]]], held)


def rows_of_all(project: Project) -> Iterator[Row]:
    """Every label by every criterion, one criterion after the other."""
    for criterion in list_criteria(project):
        yield from rows(criterion)


def row(criterion: Criterion, label: dict[str, Any], shown: list[ShownItem], held: dict[int, bool]) -> Row:
    project = criterion.project
    left, right = shown if len(shown) == 2 else (None, None)
    groups = ranked_groups(label, shown)
    winner = groups[0][0] if len(groups) > 1 else None
    names_last = len(shown) == 2 or (label["ranks"] and task_type_of(project).names_last)
    loser = groups[-1][0] if winner and names_last else None
    voided = label["voided_at"] is not None
    return [
        label["pk"],
        str(project.pk),
        label["presentation"],
        label["presentation__item_set"],
        project.task_type,
        len(shown),
        criterion.name or project.question,
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
        label["presentation__purpose"] in CHECKED_PURPOSES,
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
