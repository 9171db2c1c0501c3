"""The layout of the file: a row is a presentation with the items shown, its label and what hangs on that.

Columns are those of the tables, by the names that the database has for them, so that a field that is added later is
kept too. The file says of which project it is and in which format.
"""

from importlib import import_module
from typing import Any

from django.db import models

from annotate.models import ConflictOfInterest, CriterionAnswer, ItemComment, Label, Presentation, PresentedItem

FORMAT = b"1"
FORMAT_KEY, PROJECT_KEY, VERSION_KEY = b"crowdrank_labels", b"project", b"crowdrank"
LABEL = "label_"  # what the columns of the label begin with
ITEMS, POSITIONS, FURTHER, COMMENTS, CONFLICTS = "items", "positions", "further", "item_comments", "declared_conflicts"
# Every relation to a presentation or a label, and the column that keeps it; those left out are said in `archive`.
KEPT_RELATIONS = {
    (PresentedItem, "presentation"): ITEMS,
    (Label, "presentation"): LABEL,
    (Presentation, "reopens"): "reopens_id",
    (ConflictOfInterest, "declared_in"): CONFLICTS,
    (CriterionAnswer, "label"): FURTHER,
    (ItemComment, "label"): COMMENTS,
}


def arrow() -> Any:
    """Return pyarrow, loaded where it is used: it takes 40 MiB, and most processes never need it."""
    return import_module("pyarrow")


def parquet() -> Any:
    return import_module("pyarrow.parquet")


def fields_of(model: type[models.Model], *without: str) -> list[Any]:
    """Return the columns of a table, but those that the row says already."""
    return [field for field in model._meta.concrete_fields if field.name not in without]


def presentation_fields() -> list[Any]:
    return fields_of(Presentation, "project")


def label_fields() -> list[Any]:
    return fields_of(Label, "project", "presentation")


def further_fields() -> list[Any]:
    return fields_of(CriterionAnswer, "label")


def comment_fields() -> list[Any]:
    return fields_of(ItemComment, "label")


def type_of(field: Any) -> Any:
    """Return the Arrow type of a column."""
    pa = arrow()
    if isinstance(field, models.ForeignKey):
        return type_of(field.target_field)
    if isinstance(field, models.DateTimeField):
        return pa.timestamp("us", tz="UTC")
    if isinstance(field, models.BooleanField):
        return pa.bool_()
    if isinstance(field, models.IntegerField):  # keys too
        return pa.int64()
    if isinstance(field, models.CharField | models.TextField):
        return pa.string()
    raise TypeError(f"{field} has no place in an archive of labels yet.")


def struct_of(fields: list[Any]) -> Any:
    return arrow().struct([(field.attname, type_of(field)) for field in fields])


def schema_of(project_id: Any, version: str) -> Any:
    pa = arrow()
    columns = [(field.attname, type_of(field)) for field in presentation_fields()]
    columns += [(ITEMS, pa.list_(pa.int64())), (POSITIONS, pa.list_(pa.int64()))]
    columns += [(LABEL + field.attname, type_of(field)) for field in label_fields()]
    columns += [
        (FURTHER, pa.list_(struct_of(further_fields()))),
        (COMMENTS, pa.list_(struct_of(comment_fields()))),
        (CONFLICTS, pa.list_(pa.int64())),
    ]
    about = {FORMAT_KEY: FORMAT, PROJECT_KEY: str(project_id).encode(), VERSION_KEY: version.encode()}
    return pa.schema(columns, metadata=about)
