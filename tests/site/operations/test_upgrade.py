"""Upgrading while collecting: a database of the first version goes through every migration, and no label is lost."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from tests.migrated import FOLDER, one_process
from tests.paths import ROOT
from tests.site.database_schema import tables
from tests.site.operations.test_backups import empty_database
from tests.site.schema_machines import BEFORE

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]


# Where a walked SQLite database is kept, and what it comes from: the migrations on the way, and who walks it.
KEPT = FOLDER.with_name("walked")
ON_THE_WAY = [one for one in ROOT.glob("annotate/migrations/0*.py") if one.stem <= BEFORE]
SOURCES = [*ON_THE_WAY, *ROOT.glob("models_engine/migrations/*.py"), *ROOT.glob("annotate/settings/*.py")]
SOURCES += [ROOT / "requirements.lock", ROOT / "annotate/management/commands/serve.py"]
SOURCES += [ROOT / "tests/site/schema_v1.py", ROOT / "tests/site/schema_machines.py"]


def run(url: str, step: str, told: str = "") -> str:
    env = os.environ | {"DATABASE_URL": url, "DEBUG": "true", "REDIS_URL": ""}
    env["DJANGO_SETTINGS_MODULE"] = "annotate.settings"
    command = [sys.executable, "-m", "tests.site.schema_v1", step]
    done = subprocess.run(command, cwd=ROOT, env=env, input=told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def walk(url: str) -> str:
    """Puts a database of the first version, on its way, at this address and returns what was in it.

    Those migrations never change, and a hundred of them take most of the time: a SQLite file is kept once it has been
    walked, for as long as nothing changes that it comes from.
    """
    if connection.vendor != "sqlite":
        return run(url, "walk")
    digest = hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in sorted(SOURCES)))
    kept, file = KEPT / digest.hexdigest()[:16], Path(url.removeprefix("sqlite:///"))
    with one_process("walking"):
        if not kept.exists():
            said = run(url, "walk")
            shutil.rmtree(KEPT, ignore_errors=True)
            unfinished = KEPT / "unfinished"
            unfinished.mkdir(parents=True)
            shutil.copy(file, unfinished / "db.sqlite3")
            (unfinished / "said.json").write_text(said)
            unfinished.rename(kept)
        shutil.copy(kept / "db.sqlite3", file)
        return (kept / "said.json").read_text()


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory, django_db_setup, django_db_blocker) -> dict:
    """What a database of the first version was and is after every migration, once for all that is asked of it."""
    with django_db_blocker.unblock(), empty_database(tmp_path_factory.mktemp("upgrade")) as url:
        return json.loads(run(url, "upgrade", walk(url)))


def test_labels_of_the_first_version_are_all_there_after_the_last_migration(upgraded):
    found = upgraded
    assert len(found["before"]) == 9
    assert found["after"] == found["before"]
    assert "older version" in found["refused"]  # `serve` never runs on a schema that it does not know
    assert "manage.py migrate" in found["refused"]
    assert found["n_fitted"] == 9  # one was voided, and the answer that was open over the upgrade has come in
    assert found["members"] == [["alice@example.org", "owner"]]
    assert found["picture"] == ["image", "items/square.png"]
    assert found["task"] == ["pair", 2]
    fresh = json.loads(json.dumps(tables()))  # this test's own database, made by the squashed migrations
    assert sorted(found["schema"]) == sorted(fresh)
    for table, description in fresh.items():
        assert found["schema"][table] == description, table


def test_what_machines_answered_about_pairs_is_there_as_answers_about_sets_of_two(upgraded):
    found = upgraded["machines"]
    pairs, rankings = found["pair"], found["ranking"]
    assert pairs["answers"] == [
        ["i0", "i1", "01", "pair:2", "choice", "i0", "", 2],
        ["i0", "i1", "10", "pair:2", "choice", "i0", "", 2],
        ["i1", "i2", "10", "pair:2", "tie", None, "", 2],
    ]
    assert [one[3:7] for one in rankings["answers"]] == [
        ["ranking:2", "ranking", None, "01"],
        ["ranking:2", "ranking", None, "10"],
        ["ranking:2", "tie", None, ""],
    ]
    assert pairs["read"] == rankings["read"] == [[0, 1, 1, 0, 2, 1], [0, 1, 1, 0, 0, 0]]
    assert pairs["reported"] == 3
