"""A migrated SQLite file, made once for each state of models and migrations and copied wherever one is wanted."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.paths import ROOT

# Under pytest's cache, so that `pytest --cache-clear` takes it away.
FOLDER = ROOT / ".pytest_cache" / "d" / "migrated"
SOURCES = ["annotate/migrations", "annotate/models", "models_engine/migrations", "models_engine/models.py"]


def copy_migrated(file: Path) -> None:
    """Puts a fresh, migrated database at this place."""
    shutil.copy(migrated_file(), file)


def migrated_file() -> Path:
    """The file to copy. Migrating takes seconds: processes that want it at once wait for the first of them."""
    made = FOLDER / f"{fingerprint()}.sqlite3"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            for old in FOLDER.glob("*.sqlite3*"):
                old.unlink()
            unfinished = FOLDER / "unfinished.sqlite3"
            migrate(unfinished)
            unfinished.replace(made)
    return made


def fingerprint() -> str:
    """Changes with whatever the tables come from: our migrations and models, the settings, other packages' versions."""
    digest = hashlib.sha256()
    for path in [*source_files(), ROOT / "annotate/settings.py", ROOT / "requirements.lock"]:
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def source_files() -> Iterator[Path]:
    for source in SOURCES:
        path = ROOT / source
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def migrate(file: Path) -> None:
    env = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG")}
    env |= {"DATABASE_URL": f"sqlite:///{file}", "DEBUG": "true", "SECRET_KEY": "only-to-migrate-for-tests"}
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=env, check=True)
