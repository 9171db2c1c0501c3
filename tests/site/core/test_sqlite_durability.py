"""What SQLite promises of an acknowledged answer and of an erased person, as the settings ask for it."""

import subprocess
import sys

import pytest

from tests.load.database import environment
from tests.paths import ROOT

pytestmark = [pytest.mark.process, pytest.mark.embedded]
ASKS = """
import django
django.setup()
from django.db import connection
with connection.cursor() as cursor:
    for name in ("synchronous", "secure_delete", "journal_mode"):
        cursor.execute(f"PRAGMA {name}")
        print(*cursor.fetchone())
"""


def test_a_commit_is_on_the_disk_and_what_is_deleted_is_overwritten(tmp_path):
    """2 is FULL: SQLite waits for the disk before a commit ends, so that a power cut takes nothing acknowledged."""
    env = {**environment(f"sqlite:///{tmp_path}/a.sqlite3", tmp_path), "DJANGO_SETTINGS_MODULE": "annotate.settings"}
    done = subprocess.run([sys.executable, "-c", ASKS], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["2", "1", "wal"], done.stderr
