"""Erased people, looked for where nobody thinks of: the database's own file, caches, the log, and a new backup.

Tables, columns and files are searched in tests/site/privacy/test_erasure.py, with the person who is erased here too.
"""

import json
import logging
import pickle
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.core.json_logs import JsonFormatter
from annotate.core.log_filters import RedactSecrets
from annotate.models import Annotator, Item
from annotate.privacy.erasure.accounts import erase_account
from tests.cases import each_case
from tests.site.pages import signed_in
from tests.site.privacy.test_erasure import (
    EMAIL,
    IP,
    PERSON,
    needles_of,
    others,  # noqa: F401  (a fixture)
    person,  # noqa: F401  (a fixture)
    project,  # noqa: F401  (a fixture)
)

# In SQLite's own file, which a transaction that is never committed does not reach.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
# What has nothing of people in it but the name of a project, or takes a run of the engine.
PAGES = ["ranking", "progress", "annotators", "engine", "items", "exports", "report", "log", "comments"]
PAGES += ["participants", "expected-people", "quality", "ideas", "members", "webhooks", "cohorts", "tastes", "machines"]


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """Every event of the log as the site writes it, as a line and as JSON."""
    lines: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(JsonFormatter().format(record))
            lines.append(logging.Formatter("%(message)s").format(record))

    handler = Kept()
    handler.addFilter(RedactSecrets())
    root, level = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield lines
    root.removeHandler(handler)
    root.setLevel(level)


def cached() -> str:
    """All that the process's cache holds: keys and values, unpickled where they are pickled."""
    texts = []
    for key, value in dict(cache._cache).items():
        with suppress(Exception):
            value = pickle.loads(value)
        texts.append(f"{key}: {value!r}")
    return "\n".join(texts)


def look_at_everything(owner: Client, themself: Client, project) -> None:  # noqa: F811
    for name in PAGES:
        assert owner.get(reverse(name, args=[project.pk])).status_code == 200, name
    annotator = Annotator.objects.get(pk=PERSON)
    assert owner.get(reverse("annotator", args=[project.pk, annotator.key])).status_code == 200
    for table in ("labels", "annotators"):
        response = owner.get(reverse("export", args=[project.pk, table, "csv"]))
        assert annotator.pseudonym in b"".join(response).decode()
    for name in ("own-answers", "label"):
        themself.get(reverse(name, args=[project.pk]))
    themself.get(reverse("account-data"))
    stranger = Client(REMOTE_ADDR=IP)
    stranger.get(reverse("own-data", args=[annotator.resume_token]))
    stranger.get(f"/nothing/{annotator.resume_token}/")
    for password in ("guessed wrong", "correct horse battery"):
        stranger.post(reverse("account_login"), {"login": EMAIL, "password": password})
    stranger.post(reverse("account_reset_password"), {"email": EMAIL})


@pytest.fixture
def erased(project, person, alice, logged) -> list[str]:  # noqa: F811
    """What named the person, who was seen on every page and then erased."""
    needles = needles_of(Annotator.objects.get(pk=PERSON))
    look_at_everything(signed_in(alice), signed_in(person), project)
    assert Item.objects.filter(project=project).exists()
    erase_account(user=person, now=timezone.now())
    return [one for one in needles if len(one) > 5]


def found(needles: list[str], text: str) -> list[str]:
    return [one for one in needles if one.lower() in text.lower()]


@pytest.mark.embedded  # it reads the database as a file
def test_nothing_is_left_where_nobody_looks(erased, logged, tmp_path, capsys):
    """In one test, since the person takes a second to make: what each case says is its name."""
    with each_case() as case:
        with case("the cache"):
            assert cached()
            assert found(erased, cached()) == []
        with case("the log, which is not taken back, so that it must hold nothing from the start"):
            assert len(logged) > 4
            assert found(erased, "\n".join(logged)) == []
        with case("a new backup"):
            check_backup(erased, tmp_path, capsys)
        with case("the database's own file"):
            check_file(erased)


def check_backup(erased: list[str], folder: Path, capsys) -> None:
    """It holds nothing, and its manifest names no file of theirs, not as missing either."""
    call_command("backup", folder)
    archive = Path(capsys.readouterr().out.split(": ")[0])
    with tarfile.open(archive) as file:
        parts = {name: file.extractfile(name).read() for name in file.getnames()}
    assert json.loads(parts["manifest.json"])["missing_files"] == []
    left = {name: found(erased, data.decode("latin1")) for name, data in parts.items()}
    assert {name: one for name, one in left.items() if one} == {}


def check_file(erased: list[str]) -> None:
    """Deleted rows are overwritten, in SQLite's file and, once it is put away, in its journal."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = Path(str(connection.settings_dict["NAME"]))
    data = b"".join(one.read_bytes() for one in path.parent.glob(f"{path.name}*"))
    assert len(data) > 100_000
    assert found(erased, data.decode("latin1")) == []
