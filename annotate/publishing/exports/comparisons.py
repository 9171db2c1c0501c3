"""Defines the export table of comparisons: the labels that fits count, as the engine's command line reads them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from annotate.criteria import Criterion
from annotate.files.columns import Column, Kind, Row
from annotate.labelling.asked_tasks import is_mixed
from annotate.labelling.label_rows import ShownItem, is_informative, label_chunks, ranked_groups, tied_within
from annotate.labelling.task_types.registry import task_type_of
from annotate.models import Project

ANNOTATOR = Column("annotator", _("Pseudonym, unique in the project."))
LEFT = Column("left", _("Key of the item shown as A."))
RIGHT = Column("right", _("Key of the item shown as B."))
OUTCOME = Column("outcome", _("1 if A was chosen, 0 if B was, 0.5 for a tie, both good or both bad."), Kind.NUMBER)
CHOSEN = Column("chosen", _("Key of the chosen item."))
BEST = Column("best", _("Key of the item chosen as best."))
WORST = Column("worst", _("Key of the item chosen as worst."))
TOP = Column(
    "top", _("Keys of the ranked items, best first, separated by semicolons; a full ranking contains all of them.")
)
SET = Column(
    "set",
    _("Keys of the items in the order shown, separated by semicolons; a semicolon within a key is written as %3B."),
)
RANKS = Column("ranks", _("Place of each of them, separated by semicolons: 0 is the best; equal ones share a place."))
TIED = Column("tied", _("1: items that share a place are tied."), Kind.INTEGER)
BY_NAME = {column.name: column for column in (CHOSEN, BEST, WORST, TOP)}


def columns(project: Project) -> Sequence[Column]:
    if is_mixed(project):
        return [ANNOTATOR, SET, RANKS, TIED]
    if project.k == 2:
        return [ANNOTATOR, LEFT, RIGHT, OUTCOME]
    if task_type_of(project).shares_places(project):
        return [ANNOTATOR, SET, RANKS, TIED]
    return [ANNOTATOR, *(with_words(BY_NAME[name], project) for name in task_type_of(project).export_columns), SET]


def with_words(column: Column, project: Project) -> Column:
    """Return the column under its usual name; what it means in the words that annotators read."""
    words = {BEST.name: project.best_words, WORST.name: project.worst_words}.get(column.name, "")
    meaning = _("{meaning} Annotators read “{words}”.")
    return replace(column, meaning=format_lazy(meaning, meaning=column.meaning, words=words)) if words else column


def rows(criterion: Criterion) -> Iterator[Row]:
    for labels, shown, items in label_chunks(criterion):
        for label in labels:
            if is_informative(criterion.project, label):
                places = [items[item] for item in shown[label["presentation"]]]
                yield [label["annotator__pseudonym"], *answer(criterion.project, label, places)]


def answer(project: Project, label: dict, shown: list[ShownItem]) -> Row:
    groups = ranked_groups(label, shown)
    if is_mixed(project):
        rank_of = {item.pk: rank for rank, group in enumerate(groups) for item in group}
        ranks = ";".join(str(rank_of[item.pk]) for item in shown)
        return [";".join(map(key_in_list, shown)), ranks, int(tied_within(label))]
    if project.k == 2:
        first = groups[0][0] is shown[0]
        return [shown[0].key, shown[1].key, 0.5 if len(groups) == 1 else int(first)]
    shown_keys = ";".join(map(key_in_list, shown))
    if task_type_of(project).shares_places(project):
        return [shown_keys, ";".join(label["ranks"]), 1]
    cells = task_type_of(project).exported(groups, project)
    return [*(";".join(map(key_in_list, items)) for items in cells), shown_keys]


def key_in_list(item: ShownItem) -> str:
    return item.key.replace(";", "%3B")
