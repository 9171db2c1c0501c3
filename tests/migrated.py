"""A migrated database, made once for each state of models and migrations and copied wherever one is wanted.

On SQLite it is a file under pytest's cache. On PostgreSQL it is a template that stays on the server, one a checkout.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.paths import ROOT
from tests.postgresql import address, command, databases_named

# Under pytest's cache, so that `pytest --cache-clear` takes it away.
FOLDER = ROOT / ".pytest_cache" / "d" / "migrated"
SOURCES = ["annotate/migrations", "annotate/models", "annotate/settings"]
SOURCES += ["models_engine/migrations", "models_engine/models.py"]


def copy_migrated(file: Path) -> None:
    """Puts a fresh, migrated database at this place."""
    shutil.copy(migrated_file(), file)


def migrated_file() -> Path:
    """The file to copy. Migrating takes seconds: processes that want it at once wait for the first of them."""
    made = FOLDER / f"{fingerprint()}.sqlite3"
    with one_process():
        if not made.exists():
            for old in FOLDER.glob("*.sqlite3*"):
                old.unlink()
            unfinished = FOLDER / "unfinished.sqlite3"
            migrate(f"sqlite:///{unfinished}")
            unfinished.replace(made)
    return made


def migrated_template(settings: dict) -> str:
    """The name of the database to copy on the PostgreSQL of these settings."""
    start = f"template_{checkout()}_"
    made = start + fingerprint()
    with one_process():
        found = databases_named(settings, start)
        if made not in found:
            for old in found:
                command(settings, f"DROP DATABASE {old} WITH (FORCE)")
            unfinished = start + "unfinished"
            command(settings, f"CREATE DATABASE {unfinished}")
            migrate(address(settings, unfinished))
            command(settings, f"ALTER DATABASE {unfinished} RENAME TO {made}")
    return made


@contextmanager
def one_process(lock_name: str = "lock") -> Iterator[None]:
    """Whoever else wants the same database of this checkout waits."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / lock_name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def checkout() -> str:
    """Tells the databases of two checkouts apart that use one server."""
    return f"{zlib.crc32(str(ROOT).encode()):08x}"


def fingerprint() -> str:
    """Changes with whatever the tables come from: our migrations and models, the settings, other packages' versions."""
    digest = hashlib.sha256()
    for path in [*source_files(), ROOT / "requirements.lock"]:
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def source_files() -> Iterator[Path]:
    for source in SOURCES:
        path = ROOT / source
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def migrate(url: str) -> None:
    env = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG")}
    env |= {"DATABASE_URL": url, "DEBUG": "true", "SECRET_KEY": "only-to-migrate-for-tests"}
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=env, check=True)
