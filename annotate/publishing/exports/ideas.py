"""Defines the export table of ideas: what annotators proposed and what became of it."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from annotate.files.columns import Column, Kind, Row
from annotate.models import Project

CHUNK = 500  # ideas read at a time

COLUMNS = [
    Column("idea", _("Number of the idea."), Kind.INTEGER),
    Column("text", _("As its author wrote it; empty once the author was erased.")),
    Column("annotator", _("The author's pseudonym; empty once they were erased.")),
    Column("state", _("waiting, approved, merged or refused.")),
    Column("item", _("Key of the item made of it, or that it was merged into.")),
    Column("reason", _("Why it was refused.")),
    Column("created_at", _("When it was sent, server time (UTC)."), Kind.MOMENT),
    Column("decided_at", _("When it was decided, server time (UTC)."), Kind.MOMENT),
]
VALUES = ("pk", "text", "annotator__pseudonym", "state", "item__key", "reason", "created_at", "decided_at")


def rows(project: Project) -> Iterator[Row]:
    for row in project.ideas.order_by("pk").values_list(*VALUES).iterator(CHUNK):
        yield list(row)
