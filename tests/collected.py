"""Static files as a production site serves them, collected once for each state of them and shared by test servers."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.migrated import one_process
from tests.paths import ROOT

# Under pytest's cache, so that `pytest --cache-clear` takes it away.
FOLDER = ROOT / ".pytest_cache" / "d" / "collected"


def collected_static_files() -> Path:
    """The folder to serve. Collecting takes seconds: processes that want it at once wait for the first of them."""
    made = FOLDER / fingerprint()
    with one_process("collecting"):
        if not made.exists():
            shutil.rmtree(FOLDER, ignore_errors=True)
            collect(FOLDER / "unfinished")
            (FOLDER / "unfinished").rename(made)
    return made


def collect(folder: Path) -> None:
    env = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG")}
    env |= {"DEBUG": "false", "SECRET_KEY": "only-to-collect-static-files-for-tests", "STATIC_ROOT": str(folder)}
    command = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"]
    done = subprocess.run(command, cwd=ROOT, env=env, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def fingerprint() -> str:
    """Changes with our own files and with the versions of the packages that bring others."""
    digest = hashlib.sha256()
    for path in [*sorted(one for one in (ROOT / "static").rglob("*") if one.is_file()), ROOT / "requirements.lock"]:
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
