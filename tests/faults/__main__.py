"""Hurts a served site in every way and counts what came of it: `python -m tests.faults [WHAT]`.

Everything hurt is the run's own: processes, a PostgreSQL cluster, a Redis and a small disk, where this machine allows
them. Where it allows no cluster, DATABASE_URL may name a PostgreSQL, which is then not restarted.
"""

import argparse
import atexit
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import django

from tests.faults.services import CannotHaveIt, Disk, Postgres, Redis

COLUMNS = ["fault", "database", "acknowledged", "stored", "doubled", "longest silence, s", "all answered again, s"]
COLUMNS += ["fitted again, s"]


def create(what: Callable[[], Any]) -> Any:
    """The service, or why there is none."""
    try:
        return what()
    except (CannotHaveIt, OSError) as error:
        return f"skipped: {error}"


def on_one_database(options: argparse.Namespace) -> None:
    """In a process of its own, since Django knows one default database."""
    base = Path(tempfile.mkdtemp(prefix="faults-"))
    base.chmod(0o755)  # PostgreSQL runs as a user of its own
    atexit.register(subprocess.run, ["rm", "-rf", "--one-file-system", str(base)], check=False)
    disk = create(lambda: Disk.create(base))
    folder = base
    if isinstance(disk, Disk):
        atexit.register(disk.unmount)
        folder = disk.folder / "site"
        folder.mkdir()
    postgres = "-"
    if options.database == "postgresql":
        postgres = create(lambda: Postgres.create(folder))
        if isinstance(postgres, Postgres):
            atexit.register(postgres.stop, "immediate")
            os.environ["DATABASE_URL"] = postgres.url
        elif not os.environ.get("DATABASE_URL"):
            print(f"| every fault | postgresql | {postgres}; DATABASE_URL names none either |", flush=True)
            return
    else:
        os.environ.pop("DATABASE_URL", None)
    os.environ.pop("REDIS_URL", None)
    redis = create(Redis.create)
    if isinstance(redis, Redis):
        atexit.register(redis.kill)
    os.environ |= {"DJANGO_SETTINGS_MODULE": "annotate.settings", "DEBUG": "true"}
    django.setup()
    from tests.faults import run  # noqa: PLC0415  (Django must be set up first)

    run.run(options, options.logs or base, folder, disk, postgres, redis)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["faults", "soak", "shares", "fairness"], default="faults")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], help="one alone (both, one after the other)")
    parser.add_argument("--only", default="", help="faults whose name this regular expression matches")
    parser.add_argument("--annotators", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=20, help="how long a soak lasts")
    parser.add_argument("--logs", type=Path, help="keep what the processes said in this folder")
    parser.add_argument("--inner", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inner:
        on_one_database(options)
        return 0
    if options.what == "faults":
        print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    chosen = [options.database] if options.database else ["sqlite", "postgresql"]
    codes = []
    for database in chosen:
        command = [sys.executable, "-m", "tests.faults", *sys.argv[1:], "--inner"]
        if not options.database:
            command += ["--database", database]
        with suppress(KeyboardInterrupt):
            codes.append(subprocess.run(command, check=False).returncode)
    return max(codes, default=1)


if __name__ == "__main__":
    started = time.monotonic()
    code = main()
    if "--inner" not in sys.argv:
        print(f"\n{time.monotonic() - started:.0f} s", flush=True)
    sys.exit(code)
