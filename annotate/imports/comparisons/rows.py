"""Writing a chunk of imported comparisons in bulk: sets, presentations, presented items, labels and every count."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, DateTimeField, F, Max, Model, UUIDField
from django.db.models.functions import Random

from annotate.core.errors import ProjectArchived
from annotate.labelling.item_sets import set_key
from annotate.labelling.outcomes import encode_ranks
from annotate.labelling.task_types.registry import is_ordered
from annotate.locks import lock_project
from annotate.models import (
    IMPORTED_APP_VERSION,
    FitState,
    Item,
    ItemSet,
    Label,
    Presentation,
    PresentedItem,
    Project,
    new_token,
)

MOST_OVERLAP = 1000  # the limit of Project.overlap
ADAPTED = (DateTimeField, UUIDField)  # what databases write in their own ways


class Checked(NamedTuple):
    """A comparison whose items exist: `items` by primary key in the order shown, `order` the places named (Answer)."""

    row: int
    annotator: str
    items: tuple[int, ...]
    outcome: str
    order: tuple[int, ...]
    at: datetime | None
    response_ms: int | None
    grade: str = ""
    comment: str = ""
    shared: tuple[int, ...] = ()
    task: str = ""  # Presentation.task

    @property
    def key(self) -> str:
        return set_key(list(self.items))


def write_labels(
    project: Project,
    rows: Sequence[Checked],
    annotators: Mapping[str, int],
    repeats: dict[tuple[int, str], int],
    now: datetime,
    rng: random.Random,
    wanted: bool = True,
) -> None:
    """One label per row, inside the caller's transaction; `repeats` is read and raised (see Presentation.repeat).

    wanted: ask for a fit; else the caller does when all chunks are in. Raises ProjectArchived.
    """
    if lock_project(project.pk).archived_at:
        raise ProjectArchived
    sets = ensure_sets(project, {row.key for row in rows}, rng)
    # Plain SQL: by bulk_create these would take four fifths of the import.
    tokens = [new_token() for _row in rows]
    insert_rows(
        Presentation,
        presentations(project, rows, tokens, annotators, sets, repeats, now),
    )
    ids = dict(Presentation.objects.filter(token__in=tokens).values_list("token", "pk"))
    shown = [ids[token] for token in tokens]
    insert_rows(
        PresentedItem,
        (
            {"presentation_id": pk, "item_id": item, "position": place}
            for pk, row in zip(shown, rows, strict=True)
            for place, item in enumerate(row.items)
        ),
    )
    insert_rows(
        Label,
        (
            {
                "project_id": project.pk,
                "presentation_id": pk,
                "annotator_id": annotators[row.annotator],
                "outcome": str(row.outcome),
                "chosen_id": row.items[row.order[0]] if row.outcome == Label.Outcome.CHOICE else None,
                "grade": row.grade,
                "comment": row.comment,
                "ranks": encode_ranks(row.outcome, row.order, len(row.items), row.shared)
                if is_ordered(row.outcome)
                else "",
                "created_at": row.at or now,
                "response_ms": row.response_ms,
                "app_version": IMPORTED_APP_VERSION,
            }
            for pk, row in zip(shown, rows, strict=True)
        ),
    )
    add_counts(ItemSet, Counter(sets[row.key] for row in rows))
    add_counts(Item, Counter(item for row in rows for item in row.items))
    FitState.objects.get_or_create(project=project)
    if wanted:
        FitState.objects.filter(project=project).update(wanted=F("wanted") + len(rows))


def insert_rows(model: type[Model], rows: Iterable[dict[str, Any]]) -> None:
    """Rows by the names of their columns, all the same ones; the others get their defaults."""
    source = iter(rows)
    first = next(source, None)
    if first is None:
        return
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    others = {f.attname: f.get_db_prep_save(f.get_default(), connection) for f in fields if f.attname not in first}
    adapted = [f for f in fields if f.attname in first and isinstance(getattr(f, "target_field", f), ADAPTED)]
    prepared: dict[tuple[str, Any], Any] = {}  # most rows have the same moment and project
    names = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    places = ", ".join("%s" for _field in fields)
    table = f"{connection.ops.quote_name(model._meta.db_table)} ({names})"

    def values() -> Iterator[list[Any]]:
        for row in chain([first], source):
            whole = others | row
            for field in adapted:
                at = field.attname, whole[field.attname]
                if at not in prepared:
                    prepared[at] = field.get_db_prep_save(at[1], connection)
                whole[field.attname] = prepared[at]
            yield [whole[field.attname] for field in fields]

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # a statement for every row would take four times as long
            with cursor.copy(f"COPY {table} FROM STDIN") as copy:
                for whole in values():
                    copy.write_row(whole)
        else:
            cursor.executemany(f"INSERT INTO {table} VALUES ({places})", list(values()))  # noqa: S608


def ensure_sets(project: Project, keys: set[str], rng: random.Random) -> dict[str, int]:
    """Return the primary key of each item set, created where need be."""
    found = project.item_sets.filter(key__in=keys)
    known = dict(found.values_list("key", "pk"))
    new = [{"project_id": project.pk, "key": key, "shuffle": rng.random()} for key in sorted(keys - known.keys())]
    insert_rows(ItemSet, new)
    return dict(found.values_list("key", "pk")) if new else known


def presentations(
    project: Project,
    rows: Sequence[Checked],
    tokens: Sequence[str],
    annotators: Mapping[str, int],
    sets: Mapping[str, int],
    repeats: dict[tuple[int, str], int],
    now: datetime,
) -> Iterator[dict[str, Any]]:
    for row, token in zip(rows, tokens, strict=True):
        seen = annotators[row.annotator], row.key
        repeat = repeats.get(seen, 0)
        repeats[seen] = repeat + 1
        at = row.at or now
        yield {
            "token": token,
            "project_id": project.pk,
            "annotator_id": seen[0],
            "item_set_id": sets[row.key],
            "task": row.task,
            "state": str(Presentation.State.ANSWERED),
            "repeat": repeat,
            "created_at": at,
            "leased_until": at,
        }


def add_counts(model: type[Item] | type[ItemSet], counts: Counter[int]) -> None:
    """Add to n_taken, with one UPDATE for all rows that get the same number, and draw the tie-breakers anew."""
    by_number = defaultdict(list)
    for pk, number in counts.items():
        by_number[number].append(pk)
    for number, pks in by_number.items():
        model._default_manager.filter(pk__in=pks).update(n_taken=F("n_taken") + number, shuffle=Random())


def raise_overlap(project: Project) -> None:
    """Overlap is how many annotators one set may have: never fewer than one already has."""
    answered = Presentation.objects.filter(project=project, state=Presentation.State.ANSWERED)
    per_set = answered.order_by().values("item_set").annotate(n=Count("annotator", distinct=True))
    most = per_set.aggregate(most=Max("n"))["most"] or 0
    Project.objects.filter(pk=project.pk, overlap__lt=most).update(overlap=min(most, MOST_OVERLAP))
    project.refresh_from_db(fields=["overlap"])
