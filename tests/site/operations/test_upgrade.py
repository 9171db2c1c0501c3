"""Upgrading while collecting: a database of the first version goes through every migration, and no label is lost."""

import json
import os
import subprocess
import sys

import pytest

from tests.paths import ROOT
from tests.site.database_schema import tables
from tests.site.operations.test_backups import empty_database

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory, django_db_setup, django_db_blocker) -> dict:
    """What a database of the first version was and is after every migration, once for all that is asked of it."""
    with django_db_blocker.unblock(), empty_database(tmp_path_factory.mktemp("upgrade")) as url:
        env = os.environ | {
            "DATABASE_URL": url,
            "DEBUG": "true",
            "REDIS_URL": "",
            "DJANGO_SETTINGS_MODULE": "annotate.settings",
        }
        command = [sys.executable, "-m", "tests.site.schema_v1"]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


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
