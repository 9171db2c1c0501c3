"""Defines the export table of counts, as their import and the engine's command line read it."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from annotate.files.columns import Column, Kind, Row
from annotate.models import Count, Project

COLUMNS = [
    Column("annotator", _("Pseudonym, unique in the project.")),
    Column("item", _("The item's key.")),
    Column("count", _("How often or how long, as the imported file says."), Kind.INTEGER),
    Column("exposure", _("How often or how long it could have been; 1 where the file said nothing."), Kind.NUMBER),
    Column("counted", _("Whether the ranking counts it; not of annotators who are excluded."), Kind.TRUTH),
    Column("imported_at", _("When it was imported, in UTC."), Kind.MOMENT),
]
NAMES = ("annotator__pseudonym", "item__key", "count", "exposure", "annotator__excluded_at", "imported_at")


def rows(project: Project) -> Iterator[Row]:
    found = Count.objects.filter(project=project).order_by("pk").values_list(*NAMES)
    for annotator, item, count, exposure, excluded_at, at in found.iterator(2000):
        yield [annotator, item, count, exposure, excluded_at is None, at]
