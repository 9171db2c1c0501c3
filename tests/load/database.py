"""A database of its own for servers started as real processes: a SQLite file, or one made on the PostgreSQL in use."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connections

from tests.collected import collected_static_files
from tests.migrated import copy_migrated, migrated_template
from tests.postgresql import address, command

ALIAS = "fire"


PASSED_ON = ("PATH", "HOME", "REDIS_URL", "LANG", "WEB_THREADS", "WEB_SWITCH_MS")


def environment(url: str, folder: Path) -> dict[str, str]:
    """What a server process of the tests runs with."""
    return {
        **{k: v for k, v in os.environ.items() if k in PASSED_ON},
        "DATABASE_URL": url,
        "DEBUG": "true",
        "SECRET_KEY": "only-for-the-servers-that-tests-start",
        "MEDIA_ROOT": str(folder / "media"),
        "RATE_LIMIT_JOIN": "100000/min",
        "RATE_LIMIT_ANSWER": "100000/min",
        "LOG_LEVEL": "WARNING",
        "OPENBLAS_NUM_THREADS": "1",
        "WORKER_LEASE_SECONDS": "5",
    }


def production_environment(url: str, folder: Path) -> dict[str, str]:
    """The same with DEBUG off, so that an error is the page that strangers see."""
    return environment(url, folder) | {"DEBUG": "false", "HTTPS": "false", "STATIC_ROOT": str(collected_static_files())}


@contextmanager
def own_database(folder: Path) -> Iterator[str]:
    """The address of a fresh, migrated database, which Django knows as `fire` meanwhile."""
    settings = connections.settings["default"]
    if settings["ENGINE"].endswith("sqlite3"):
        name, drop = str(folder / "fire.sqlite3"), None
        copy_migrated(Path(name))
        url = f"sqlite:///{name}"
    else:
        name = f"fire_{uuid.uuid4().hex[:12]}"
        command(settings, f"CREATE DATABASE {name} TEMPLATE {migrated_template(settings)}")
        url, drop = address(settings, name), f"DROP DATABASE {name} WITH (FORCE)"
    connections.settings[ALIAS] = {**settings, "NAME": name, "OPTIONS": without_pool(settings["OPTIONS"])}
    try:
        yield url
    finally:
        connections[ALIAS].close()
        del connections[ALIAS]
        del connections.settings[ALIAS]
        if drop:
            command(settings, drop)


@contextmanager
def as_default() -> Iterator[None]:
    """This thread's actions write into `fire` meanwhile: to the servers on it they come from another process."""
    own = connections["default"]
    connections["default"] = connections[ALIAS]
    try:
        yield
    finally:
        connections["default"] = own


def without_pool(options: dict) -> dict:
    return {key: value for key, value in options.items() if key != "pool"}
