"""The table of comparisons: the labels that fits count, in the layout that the engine's command line reads."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext_lazy as _

from annotate.exporting.columns import Column, Kind, Row
from annotate.exporting.labels import Shown, chunks, counts, ranking
from annotate.models import Label, Project

TaskType = Project.TaskType

ANNOTATOR = Column("annotator", _("Pseudonym, unique in the project."))
LEFT = Column("left", _("Key of the item shown as A."))
RIGHT = Column("right", _("Key of the item shown as B."))
OUTCOME = Column("outcome", _("1 if A was chosen, 0 if B was, 0.5 for a tie, both good or both bad."), Kind.NUMBER)
CHOSEN = Column("chosen", _("Key of the chosen item."))
BEST = Column("best", _("Key of the item called best."))
WORST = Column("worst", _("Key of the item called worst."))
TOP = Column("top", _("Keys of the items ranked, best first, divided by semicolons; all of them in a full ranking."))
SET = Column("set", _("Keys of the items in the order shown, divided by semicolons; one within a key is written %3B."))


def columns(project: Project) -> Sequence[Column]:
    if project.k == 2:
        return [ANNOTATOR, LEFT, RIGHT, OUTCOME]
    if project.task_type == TaskType.BEST_WORST:
        return [ANNOTATOR, BEST, WORST, SET]
    return [ANNOTATOR, CHOSEN if project.task_type == TaskType.BEST else TOP, SET]


def rows(project: Project) -> Iterator[Row]:
    for labels, shown, items in chunks(project):
        for label in labels:
            if counts(project, label):
                places = [items[item] for item in shown[label["presentation"]]]
                yield [label["annotator__pseudonym"], *answer(project, label, places)]


def answer(project: Project, label: dict, shown: list[Shown]) -> Row:
    groups = ranking(label, shown)
    if project.k == 2:
        first = groups[0][0] is shown[0]
        return [shown[0].key, shown[1].key, 0.5 if len(groups) == 1 else int(first)]
    shown_keys = ";".join(map(key_in_list, shown))
    if label["outcome"] == Label.Outcome.BEST_WORST:
        return [key_in_list(groups[0][0]), key_in_list(groups[-1][0]), shown_keys]
    named = [key_in_list(group[0]) for group in groups if len(group) == 1]
    if label["outcome"] == Label.Outcome.TOP:
        named = named[: project.m]
    return [";".join(named), shown_keys]


def key_in_list(item: Shown) -> str:
    return item.key.replace(";", "%3B")
