"""Rows that take a fixture long, kept by this process: the next test that begins alike gets them without the work."""

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import connection, transaction

Row = tuple[Any, ...]
Tables = dict[str, dict[int, Row]]  # by table and rowid


@dataclass(frozen=True)
class Changes:
    """What a fixture wrote: rows by table; of rows that were there before, which went and which columns changed.

    keys: the random keys of rows that were there before; in another test they are others.
    """

    keys: list[str]
    deleted: list[tuple[str, int]]
    inserted: dict[str, list[Row]]
    updated: list[tuple[str, int, dict[str, Any]]]


KEPT: dict[Any, Changes] = {}


def replay(name: str, write: Callable[[], object]) -> None:
    """Call `write`, or write again what it wrote when a test called it by this name from as many rows.

    It may only write to the database, and depend on what every test has that asks for its fixture. PostgreSQL's
    sequences go on after a rollback, so that no two tests begin alike there.
    """
    if connection.vendor != "sqlite":
        write()
        return
    before = read_tables()
    start = (write.__module__, name, tuple((table, tuple(rows)) for table, rows in before.items() if rows))
    if start in KEPT:
        kept = KEPT[start]
        write_changes(kept, dict(zip(kept.keys, random_keys(before), strict=True)))
    else:
        write()
        KEPT[start] = compare(before, read_tables())


def read_tables() -> Tables:
    with connection.cursor() as cursor:
        found = {}
        for table, names in columns().items():
            cursor.execute(f'SELECT {quoted(["rowid", *names])} FROM "{table}"')
            found[table] = {rowid: values for rowid, *values in cursor.fetchall()}
        return found


@cache
def columns() -> dict[str, list[str]]:
    """The columns of every table."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        names = [name for (name,) in cursor.fetchall()]
        return {name: [one[1] for one in cursor.execute(f'PRAGMA table_info("{name}")').fetchall()] for name in names}


@cache
def primary_key(table: str) -> str:
    with connection.cursor() as cursor:
        return next(one[1] for one in cursor.execute(f'PRAGMA table_info("{table}")').fetchall() if one[5])


def quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def compare(before: Tables, after: Tables) -> Changes:
    inserted: dict[str, list[Row]] = {}
    updated, deleted = [], []
    for table, rows in after.items():
        deleted += [(table, rowid) for rowid in before[table] if rowid not in rows]
        for rowid, values in rows.items():
            if rowid not in before[table]:
                inserted.setdefault(table, []).append((rowid, *values))
            elif values != (was := before[table][rowid]):
                pairs = zip(columns()[table], was, values, strict=True)
                updated.append((table, rowid, {name: new for name, old, new in pairs if new != old}))
    return Changes(random_keys(before), deleted, inserted, updated)


def random_keys(tables: Tables) -> list[str]:
    """The primary keys that are UUIDs, by table and rowid; each as in its column, and as in JSON."""
    found = []
    for table, rows in tables.items():
        place = columns()[table].index(primary_key(table))
        for key in (row[place] for row in rows.values()):
            if isinstance(key, str) and re.fullmatch("[0-9a-f]{32}", key):
                found += [key, str(uuid.UUID(key))]
    return found


def renamed(value: Any, new: dict[str, str]) -> Any:
    if isinstance(value, str):
        for old in new:
            value = value.replace(old, new[old])
    return value


def write_changes(changes: Changes, new: dict[str, str]) -> None:
    # One transaction, since tables may come before those that they refer to. In this order: of some rows only one at a
    # time may be, say, published.
    with transaction.atomic(), connection.cursor() as cursor:
        for table, rowid in changes.deleted:
            cursor.execute(f'DELETE FROM "{table}" WHERE rowid = %s', [rowid])
        for table, rowid, values in changes.updated:
            names = ", ".join(f'"{name}" = %s' for name in values)
            cursor.execute(
                f'UPDATE "{table}" SET {names} WHERE rowid = %s',
                [*(renamed(value, new) for value in values.values()), rowid],
            )
        for table, rows in changes.inserted.items():
            names, marks = quoted(["rowid", *columns()[table]]), ", ".join(["%s"] * len(rows[0]))
            cursor.executemany(
                f'INSERT INTO "{table}" ({names}) VALUES ({marks})',
                [[renamed(value, new) for value in row] for row in rows],
            )
