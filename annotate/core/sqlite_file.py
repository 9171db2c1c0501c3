"""Keeps SQLite's database file from other users of the machine and from being replaced under a running site."""

from pathlib import Path
from typing import Any

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import OperationalError


def protect_new_file(sender: Any, connection: BaseDatabaseWrapper, **options: Any) -> None:
    """Receives connection_created: a new database is readable by its owner alone, an old one keeps its mode."""
    if connection.vendor != "sqlite":
        return
    path = Path(str(connection.settings_dict["NAME"]))
    if not path.is_file() or not path.stat().st_mode & 0o077 or connection.introspection.table_names():
        return
    for name in (path, *(path.with_name(path.name + ending) for ending in ("-wal", "-shm"))):
        if name.exists():
            name.chmod(0o600)


def has_other_connections() -> bool:
    """Return whether another process or thread has SQLite's database open: then its journal can't be put away."""
    if connection.vendor != "sqlite":
        return False
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout=0")
        try:
            cursor.execute("PRAGMA journal_mode=DELETE")
        except OperationalError:
            return True
        finally:
            cursor.execute("PRAGMA busy_timeout=20000")
        cursor.execute("PRAGMA journal_mode=WAL")
    return False
