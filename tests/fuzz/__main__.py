"""Serves a site on a database of its own and lets schemathesis ask its whole API: `python -m tests.fuzz`.

The description that the site gives of its API says what may be sent and what must come back. The identifier of one
project is given, so that what is asked is not always 404; nothing that is there is anybody else's.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import django

from tests.paths import ROOT

CONFIG = ROOT / "tests" / "schemathesis.toml"
# The project that everything is asked of has to stay there.
LEFT_OUT = ["projects_delete"]


def fuzz(options: argparse.Namespace, folder: Path) -> int:
    """Returns the exit code of schemathesis: 0 where nothing was wrong."""
    from tests.fuzz.site import served  # noqa: PLC0415  (Django must be set up first)

    with served(folder) as site:
        config = folder / "schemathesis.toml"
        given = f'[parameters]\n"path.project_id" = "{site.project}"\n'
        config.write_text(f'hooks = "tests.fuzz.hooks"\n{CONFIG.read_text()}\n{given}')
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run", site.schema]
        command += ["--header", f"Authorization: Bearer {site.secret}", "--seed", str(options.seed)]
        command += ["--max-time", str(options.seconds), "--max-examples", str(options.examples), "--no-color"]
        for operation in LEFT_OUT:
            command += ["--exclude-operation-id", operation]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        return subprocess.run([*command, *options.more], cwd=folder, env=environment, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=240, help="how long it may ask")
    parser.add_argument("--examples", type=int, default=15, help="requests of each operation in one round")
    parser.add_argument("--seed", type=int, default=1, help="another one asks other things")
    parser.add_argument("more", nargs="*", help="passed on to schemathesis, after --")
    options = parser.parse_args()
    if not importlib.util.find_spec("schemathesis"):
        print("schemathesis is not installed: run make fuzz, which installs it.", file=sys.stderr)
        return 1
    os.environ.pop("DATABASE_URL", None)
    os.environ.pop("REDIS_URL", None)
    os.environ |= {"DJANGO_SETTINGS_MODULE": "annotate.settings", "DEBUG": "true"}
    django.setup()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        return fuzz(options, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
