"""Rows of the database as a piece of the file, and back."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db import connection

from annotate.models import (
    Annotator,
    ConflictOfInterest,
    CriterionAnswer,
    ItemComment,
    Label,
    Presentation,
    PresentedItem,
    Project,
    User,
)
from annotate.operations.label_archives.layout import (
    COMMENTS,
    CONFLICTS,
    FURTHER,
    ITEMS,
    LABEL,
    POSITIONS,
    arrow,
    comment_fields,
    further_fields,
    label_fields,
    presentation_fields,
)

CHUNK = 20_000  # presentations of one piece of the file


def presentation_chunks(project: Project) -> Iterator[tuple[int, int]]:
    """Yield (first, last) key of each piece of a project's presentations, in their order."""
    last, rows = 0, Presentation.objects.filter(project=project).order_by("pk")
    while keys := list(rows.filter(pk__gt=last).values_list("pk", flat=True)[:CHUNK]):
        yield keys[0], (last := keys[-1])


def read_piece(project: Project, schema: Any, first: int, last: int) -> Any:
    """Return the project's presentations of these keys as an Arrow table; five queries."""
    pa = arrow()
    names = [field.attname for field in presentation_fields()]
    within = Presentation.objects.filter(project=project, pk__range=(first, last))
    presentations = list(within.order_by("pk").values_list(*names))
    keys = [row[0] for row in presentations]
    columns: list[Any] = [list(column) for column in zip(*presentations, strict=True)] or [[] for _ in names]
    of_piece = {"presentation__project": project, "presentation__pk__range": (first, last)}
    shown = PresentedItem.objects.filter(**of_piece).order_by("presentation", "position")
    columns += lists_of(shown.values_list("presentation", "item", "position").iterator(CHUNK), keys, 2)
    label_names = [field.attname for field in label_fields()]
    labels = Label.objects.filter(**of_piece).order_by("presentation").values_list("presentation", *label_names)
    columns += beside(keys, list(labels), len(label_names))
    for model, fields in ((CriterionAnswer, further_fields()), (ItemComment, comment_fields())):
        rows = model._default_manager.filter(**{f"label__{name}": value for name, value in of_piece.items()})
        found = rows.order_by("label__presentation", "pk").values_list("label__presentation", *names_of(fields))
        columns.append(dicts_of(found.iterator(CHUNK), keys, names_of(fields)))
    declared = ConflictOfInterest.objects.filter(declared_in__project=project, declared_in__pk__range=(first, last))
    columns += lists_of(declared.order_by("declared_in", "pk").values_list("declared_in", "pk"), keys, 1)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def names_of(fields: Iterable[Any]) -> list[str]:
    return [field.attname for field in fields]


def lists_of(rows: Iterable[tuple[int, ...]], keys: Sequence[int], n: int) -> list[list[list[int]]]:
    """Return n columns with the values of each key's rows, which begin with it."""
    found: list[dict[int, list[int]]] = [{} for _ in range(n)]
    for key, *values in rows:
        for column, value in zip(found, values, strict=True):
            column.setdefault(key, []).append(value)
    return [[column.get(key, []) for key in keys] for column in found]


def dicts_of(rows: Iterable[tuple[Any, ...]], keys: Sequence[int], names: Sequence[str]) -> list[list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    for key, *values in rows:
        found.setdefault(key, []).append(dict(zip(names, values, strict=True)))
    return [found.get(key, []) for key in keys]


def beside(keys: Sequence[int], rows: list[tuple[Any, ...]], width: int) -> list[list[Any]]:
    """Return the columns of rows that begin with a key, None where a key has no row; at most one row a key."""
    if len(rows) == len(keys):  # both are in the order of the keys
        return [list(column) for column in list(zip(*rows, strict=True))[1:]] or [[] for _ in range(width)]
    by_key, none = {row[0]: row[1:] for row in rows}, (None,) * width
    filled = [by_key.get(key, none) for key in keys]
    return [list(column) for column in zip(*filled, strict=True)] or [[] for _ in range(width)]


def write_piece(project: Project, table: Any) -> int:
    """Write a piece of the file into the database, but what is there already and what people erased since had said;
    return how many presentations. Within a transaction that holds the project's lock.
    """
    keys = table.column("id").to_pylist()
    within = Presentation.objects.filter(project=project, pk__range=(keys[0], keys[-1]))
    there = set(within.values_list("pk", flat=True))
    if there.issuperset(keys):  # before the command was stopped
        return 0
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    people = set(Annotator.objects.filter(project=project).values_list("pk", flat=True))
    users = set(User.objects.filter(pk__in=set(columns[f"{LABEL}voided_by_id"]) - {None}).values_list("pk", flat=True))
    columns[f"{LABEL}voided_by_id"] = [user if user in users else None for user in columns[f"{LABEL}voided_by_id"]]
    places = [
        place
        for place, (key, person) in enumerate(zip(keys, columns["annotator_id"], strict=True))
        if key not in there and person in people
    ]
    labelled = [place for place in places if columns[f"{LABEL}id"][place] is not None]
    insert(Presentation, presentation_fields(), columns, places, "", project=project.pk)
    insert(Label, label_fields(), columns, labelled, LABEL, project=project.pk, presentation=keys)
    shown = [
        (keys[place], item, position)
        for place in places
        for item, position in zip(columns[ITEMS][place], columns[POSITIONS][place], strict=True)
    ]
    insert_rows(PresentedItem, ["presentation_id", "item_id", "position"], shown)
    for model, name, fields in (
        (CriterionAnswer, FURTHER, further_fields()),
        (ItemComment, COMMENTS, comment_fields()),
    ):
        names = names_of(fields)
        rows = [
            (columns[f"{LABEL}id"][place], *(one[name] for name in names))
            for place in labelled
            for one in columns[name][place]
        ]
        insert_rows(model, ["label_id", *names], rows)
    for place in places:
        if columns[CONFLICTS][place]:
            declared = ConflictOfInterest.objects.filter(pk__in=columns[CONFLICTS][place], declared_in=None)
            declared.update(declared_in=keys[place])
    return len(places)


def insert(
    model: type[Any], fields: list[Any], columns: dict[str, list[Any]], places: list[int], prefix: str, **more: Any
) -> None:
    """Insert the rows at these places. more: further columns, a list by place or one value for all."""
    names = [field.attname for field in fields]
    values = [columns[prefix + name] for name in names]
    extra = [value if isinstance(value, list) else [value] * len(columns["id"]) for value in more.values()]
    rows = [tuple(column[place] for column in (*values, *extra)) for place in places]
    insert_rows(model, [*names, *(f"{name}_id" for name in more)], rows)


def insert_rows(model: type[Any], names: list[str], rows: list[tuple[Any, ...]]) -> None:
    """Insert rows as they are, without signals or defaults: on PostgreSQL by COPY."""
    if not rows:
        return
    fields = {field.attname: field for field in model._meta.concrete_fields}
    quoted = ", ".join(connection.ops.quote_name(fields[name].column) for name in names)
    target = f"{connection.ops.quote_name(model._meta.db_table)} ({quoted})"
    if connection.vendor == "postgresql":
        # Django turns what the statement itself raises into its own errors, but not what writing to it raises.
        with connection.wrap_database_errors, connection.cursor() as cursor:
            with cursor.copy(f"COPY {target} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        return
    convert = [fields[name].get_db_prep_save for name in names]
    marks = ", ".join(["%s"] * len(names))
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {target} VALUES ({marks})",  # noqa: S608 (names of our own tables)
            [[to(value, connection) for to, value in zip(convert, row, strict=True)] for row in rows],
        )
