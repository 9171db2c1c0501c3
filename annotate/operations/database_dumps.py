"""Copying a whole database while others write to it, and putting a copy in its place: SQLite and PostgreSQL."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import connection, transaction
from django.db.models import FileField

KEPT_BY_MIGRATE = {"django_migrations", "django_content_type", "auth_permission"}  # what an empty site has


class DumpError(Exception):
    """Its message is for the operator."""


def file_name() -> str:
    return "database.sqlite3" if connection.vendor == "sqlite" else "database.dump"


def dump(target: Path) -> tuple[dict[str, int], list[str]]:
    """Copy the database as it is at one moment; its rows by table and the files that it names, at that moment."""
    return dump_sqlite(target) if connection.vendor == "sqlite" else dump_postgresql(target)


def load(source: Path) -> None:
    """Replace all tables by the copy's."""
    load_sqlite(source) if connection.vendor == "sqlite" else load_postgresql(source)


def filled_tables() -> list[str]:
    """Return the tables of the site that hold rows."""
    with connection.cursor() as cursor:
        names = [name for name in connection.introspection.table_names(cursor) if name not in KEPT_BY_MIGRATE]
        return [name for name in sorted(names) if is_filled(cursor.execute, cursor.fetchone, name)]


def is_filled(execute: Callable[[str], Any], fetch: Callable[[], Any], table: str) -> bool:
    execute(f"SELECT 1 FROM {connection.ops.quote_name(table)} LIMIT 1")  # noqa: S608
    return fetch() is not None


def counted(execute: Callable[[str], Any], tables: Iterable[str]) -> tuple[dict[str, int], list[str]]:
    """Return rows by table, and the names of files; `execute` gives rows."""
    quote, tables = connection.ops.quote_name, sorted(tables)
    counts = {table: int(execute(f"SELECT COUNT(*) FROM {quote(table)}")[0][0]) for table in tables}  # noqa: S608
    files: set[str] = set()
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, FileField) and model._meta.db_table in counts:
                query = f"SELECT DISTINCT {quote(str(field.column))} FROM {quote(model._meta.db_table)}"  # noqa: S608
                files |= {row[0] for row in execute(query) if row[0]}
    return counts, sorted(files)


# --- SQLite -----------------------------------------------------------------------------------------------------------


def dump_sqlite(target: Path) -> tuple[dict[str, int], list[str]]:
    """Dump by SQLite's own backup, in one step: it reads one state of the database, and writers go on in
    the journal."""
    connection.ensure_connection()
    copy = sqlite3.connect(target)
    try:
        connection.connection.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # one file, without a journal beside it
        tables = [row[0] for row in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return counted(
            lambda query: copy.execute(query).fetchall(),
            [str(name) for name in tables if not str(name).startswith("sqlite_")],
        )
    finally:
        copy.close()


def load_sqlite(source: Path) -> None:
    connection.ensure_connection()
    copy = sqlite3.connect(source)
    try:
        [found] = copy.execute("PRAGMA integrity_check").fetchone()
        if found != "ok":
            raise DumpError(f"The database in the backup is damaged ({found}); nothing was changed.")
        copy.backup(connection.connection)
    except sqlite3.OperationalError as error:
        raise DumpError(f"The database can't be replaced ({error}). Stop the site and its engines first.") from error
    finally:
        copy.close()


# --- PostgreSQL -------------------------------------------------------------------------------------------------------


def tool(name: str) -> str:
    found = shutil.which(name)
    if not found:
        raise DumpError(
            f"{name} is not on the PATH. Install PostgreSQL's client programs of the server's version or a newer one "
            "(on Debian: apt-get install postgresql-client); the Docker image has them."
        )
    return found


def run(command: list[str]) -> str:
    """Run one of PostgreSQL's programs on the site's database; the password is in its environment, not its words."""
    database = connection.settings_dict
    values = {
        "PGHOST": database["HOST"],
        "PGPORT": str(database["PORT"] or ""),
        "PGUSER": database["USER"],
        "PGPASSWORD": database["PASSWORD"],
        "PGDATABASE": database["NAME"],
    }
    environment = os.environ | {name: value for name, value in values.items() if value}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise DumpError(f"{Path(command[0]).name} failed: {done.stderr.strip()[-800:]}")
    return done.stdout


def dump_postgresql(target: Path) -> tuple[dict[str, int], list[str]]:
    """Run pg_dump on a snapshot that this transaction has taken, so that rows are counted in the very state dumped."""
    program = tool("pg_dump")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        cursor.execute("SELECT pg_export_snapshot()")
        snapshot = cursor.fetchone()[0]
        run([program, "--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot}", f"--file={target}"])

        def rows(query: str) -> list[tuple]:
            cursor.execute(query)
            return list(cursor.fetchall())

        return counted(rows, connection.introspection.table_names(cursor))


def load_postgresql(source: Path) -> None:
    """Drop the tables there are and load the copy; a copy that pg_restore can't read drops nothing."""
    program = tool("pg_restore")
    run([program, "--list", str(source)])
    with transaction.atomic(), connection.cursor() as cursor:
        tables = ", ".join(map(connection.ops.quote_name, connection.introspection.table_names(cursor)))
        if tables:
            cursor.execute(f"DROP TABLE {tables} CASCADE")
    connection.close()
    name = str(connection.settings_dict["NAME"])
    command = ["--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error", f"--dbname={name}"]
    run([program, *command, str(source)])
