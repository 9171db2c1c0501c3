"""Defines the export table of labels: every answer, voided ones too, with what was shown, when and to whom."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from annotate.criteria import Criterion, list_criteria
from annotate.files.columns import Column, Kind, Row
from annotate.labelling.answer_options import button_words
from annotate.labelling.asked_tasks import read_task, task_of
from annotate.labelling.label_rows import (
    ShownItem,
    correctness_of,
    item_comments_of,
    label_chunks,
    outcome_of,
    ranked_groups,
)
from annotate.models import CHECKED_PURPOSES, Project

COLUMNS = [
    Column("label", _("Number of the label, in order of arrival."), Kind.INTEGER),
    Column("project", _("The project's id.")),
    Column(
        "presentation",
        _(
            "Number of the presentation (one set shown to one annotator) that this label answers; each has at "
            "most one label."
        ),
        Kind.INTEGER,
    ),
    Column("pair", _("Number of the set of items shown, regardless of their order."), Kind.INTEGER),
    Column("task_type", _("pair, graded, best, best_worst, ranking or top (a ranking of the best few).")),
    Column("k", _("How many items were shown."), Kind.INTEGER),
    Column("criterion", _("The question asked; in a project with several criteria, the name of the criterion.")),
    Column("annotator", _("Pseudonym, unique in the project; never an e-mail address.")),
    Column("annotator_source", _("account, link, platform, import or simulated (a program).")),
    Column(
        "session",
        _("ID of the browser session; the same for all answers given in one session. It does not identify the person."),
    ),
    Column("left", _("For a pair: key of the item shown as A.")),
    Column("right", _("For a pair: key of the item shown as B.")),
    Column(
        "outcome",
        _(
            "left or right (the side of a pair chosen), choice (of several), best_worst, ranking, top, tie, both_good, "
            "both_bad, cant_judge or skip."
        ),
    ),
    Column("grade", _("How much better the chosen item is: slightly or clearly; empty if not asked.")),
    Column("reason", _("Reason for skipping, if it was asked for; otherwise empty.")),
    Column("comment", _("The annotator's comment.")),
    Column(
        "winner", _("Key of the item chosen or put first; empty if there is none, or several share the first place.")
    ),
    Column("loser", _("Key of the other item of a pair, or of the item chosen as worst; empty if there is none.")),
    Column(
        "ranking",
        _(
            "The order that the answer gives, best first: a JSON list of lists of keys, where items in the same "
            "inner list are not ordered; in a ranking, they share a place. Empty if the answer gives no order."
        ),
        Kind.GROUPS,
    ),
    Column("left_text", _("For a pair: text of the item shown as A; for an image, its description.")),
    Column("right_text", _("For a pair: text of the item shown as B.")),
    Column("shown_order", _("Keys of the items in the order shown, a JSON list."), Kind.TEXTS),
    Column("purpose", _("Why the set was shown: ordinary, practice, gold, attention or repeat.")),
    Column("is_gold", _("Whether the right answer was known beforehand."), Kind.TRUTH),
    Column("is_right", _("Whether the answer is the known right one; empty if none is known."), Kind.TRUTH),
    Column(
        "is_repeat",
        _("Whether this is a planned repeat of a set that this annotator had already answered."),
        Kind.TRUTH,
    ),
    Column("valid", _("Whether fits count the label: false if it is void or its purpose does not count."), Kind.TRUTH),
    Column("voided", _("Whether the label is void."), Kind.TRUTH),
    Column(
        "void_reason",
        _(
            "Why it is void: undone, excluded, bulk (excluded by time or session), screened (screened out by a rule), "
            "conflict (conflict of interest) or late; otherwise empty."
        ),
    ),
    Column("voided_at", _("When it became void, server time (UTC)."), Kind.MOMENT),
    Column("presented_at", _("When the task was given to the annotator, server time (UTC)."), Kind.MOMENT),
    Column("created_at", _("When the answer arrived, server time (UTC)."), Kind.MOMENT),
    Column(
        "client_at",
        _("When the answer was given according to the browser's clock, which may be wrong (UTC)."),
        Kind.MOMENT,
    ),
    Column(
        "response_seconds",
        _("How long the items were visible before the answer, measured by the browser."),
        Kind.NUMBER,
    ),
    Column(
        "active_seconds",
        _(
            "The part of that time in which the annotator was active. A period without any activity counts for at "
            "most 30 seconds."
        ),
        Kind.NUMBER,
    ),
    Column(
        "asked_by",
        _(
            "Which rule chose the question: balanced, control (balanced too, but drawn at random to be it: a fair "
            "sample) or adaptive (by the ranking so far); empty for checks, repeats and imported answers."
        ),
    ),
    Column("asked_fit", _("Number of the fit that suggested the question; empty if none did."), Kind.INTEGER),
    Column("app_version", _("Version of this software that received the answer.")),
    Column(
        "language",
        _(
            "Language in which it was asked; “fr/en”: in fr, but part of it in en because its translation was missing. "
            "Empty if the project has not said its language."
        ),
    ),
    Column(
        "item_comments",
        _("The annotator's comments on the items in the order shown, a JSON list; empty if there are none."),
        Kind.TEXTS,
    ),
]


def columns(project: Project) -> list[Column]:
    """Return the columns; of outcomes also the owner's own words that annotators read."""
    words = "; ".join(f"{name.removesuffix('_words')}: “{text}”" for name, text in button_words(project))
    if not words:
        return COLUMNS
    meaning = _("{meaning} Annotators read: {words}.")
    return [
        replace(one, meaning=format_lazy(meaning, meaning=one.meaning, words=words)) if one.name == "outcome" else one
        for one in COLUMNS
    ]


def rows(criterion: Criterion) -> Iterator[Row]:
    """Yield the labels by one criterion; see rows_of_all."""
    for labels, shown, items in label_chunks(criterion):
        held = correctness_of(labels) if criterion.number == 1 else {}
        comments = item_comments_of(labels)
        for label in labels:
            about = comments.get(label["pk"], {})
            yield row(criterion, label, [items[item] for item in shown[label["presentation"]]], held, about)


def rows_of_all(project: Project) -> Iterator[Row]:
    """Yield every label by every criterion, one criterion after the other."""
    for criterion in list_criteria(project):
        yield from rows(criterion)


def row(
    criterion: Criterion,
    label: dict[str, Any],
    shown: list[ShownItem],
    held: dict[int, bool],
    comments: dict[int, str],
) -> Row:
    """Return the values of COLUMNS.   comments: by item."""
    project = criterion.project
    left, right = shown if len(shown) == 2 else (None, None)
    groups = ranked_groups(label, shown)
    winner = groups[0][0] if len(groups) > 1 and len(groups[0]) == 1 else None
    asked = read_task(label["presentation__task"]) if label["presentation__task"] else task_of(project)
    names_last = len(shown) == 2 or (label["ranks"] and asked.type.names_last)
    loser = groups[-1][0] if winner and names_last else None
    voided = label["voided_at"] is not None
    return [
        label["pk"],
        str(project.pk),
        label["presentation"],
        label["presentation__item_set"],
        asked.task_type,
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
        label["presentation__asked_by"],
        label["presentation__asked_fit"],
        label["app_version"],
        label["language"],
        [comments.get(item.pk, "") for item in shown] if comments else None,
    ]


def in_seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
