"""Backups made while answers come in, restored elsewhere: every label confirmed before is there, nothing is half."""

import io
import json
import os
import random
import sqlite3
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from annotate.fitting import scheduling
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.models import Item, Label, Project, User
from annotate.operations import backups, database_dumps
from tests.conftest import make_annotator, make_items
from tests.paths import ROOT

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]


@pytest.fixture
def project(project, settings, tmp_path) -> Project:
    settings.MEDIA_ROOT = str(tmp_path / "media")
    image = Item(project=project, key="picture", kind="image", body="A square")
    image.media.save("square.png", ContentFile(b"\x89PNG square"), save=True)
    Item.objects.filter(pk=image.pk).update(retired_at=timezone.now())
    make_items(Project.objects.create(name="Another", question="Which?"), 2)
    return project


class Crowd(threading.Thread):
    """Answers until told to stop; `confirmed`: labels whose transaction has ended."""

    def __init__(self, project: Project) -> None:
        super().__init__()
        Project.objects.filter(pk=project.pk).update(overlap=1000)
        self.people = [make_annotator(project, f"Otter {i}") for i in range(100)]
        self.confirmed: list[int] = []
        self.some, self.stopping = threading.Event(), threading.Event()

    def run(self) -> None:
        rng, sets = random.Random(5), 10
        try:
            for person in self.people:
                for _ in range(sets):
                    if self.stopping.is_set():
                        return
                    now = timezone.now()
                    shown = assignment.next_presentation(annotator=person, now=now, rng=rng)
                    label = record_label(presentation=shown, answer=Answer("choice", chosen=0), now=now)
                    self.confirmed.append(label.pk)
                    if len(self.confirmed) == 15:
                        self.some.set()
        finally:
            connection.close()


def backed_up(folder: Path, capsys) -> Path:
    call_command("backup", folder)
    return Path(capsys.readouterr().out.split(": ")[0])


@contextmanager
def empty_database(folder: Path) -> Iterator[str]:
    """The address of another, empty database of the same kind."""
    if connection.vendor == "sqlite":
        yield f"sqlite:///{folder / 'elsewhere.sqlite3'}"
        return
    values, name = connection.settings_dict, f"{connection.settings_dict['NAME']}_elsewhere"
    with connection.cursor() as cursor:
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}"')
        cursor.execute(f'CREATE DATABASE "{name}"')
    yield f"postgres://{values['USER']}:{values['PASSWORD']}@{values['HOST']}:{values['PORT']}/{name}"
    with connection.cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def elsewhere(tmp_path):
    with empty_database(tmp_path) as url:
        yield url


def elsewhere_does(url: str, media: Path, *command: str, ok: bool = True) -> str:
    env = os.environ | {"DATABASE_URL": url, "MEDIA_ROOT": str(media), "DEBUG": "true", "REDIS_URL": ""}
    done = subprocess.run(
        [sys.executable, "manage.py", *command], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode == 0) is ok, done.stdout + done.stderr
    return done.stdout if ok else done.stderr


def set_up_elsewhere(url: str, media: Path, archive: Path) -> None:
    """The site of the archive, elsewhere. A file that is put there takes no process."""
    if connection.vendor == "sqlite":
        file = Path(url.removeprefix("sqlite:///"))
        file.write_bytes(contents(archive)[database_dumps.file_name()])
        with closing(sqlite3.connect(file)) as database:
            database.execute("PRAGMA journal_mode=WAL")  # as the site has it
    else:
        elsewhere_does(url, media, "restore", str(archive))


CONNECTING = "from django.db import connection; connection.ensure_connection()"
COUNTING = "from annotate.models import *; print(*Label.objects.order_by('pk').values_list('pk', flat=True))"


def test_every_label_confirmed_before_is_restored_elsewhere(project, tmp_path, capsys, elsewhere):
    crowd = Crowd(project)
    crowd.start()
    assert crowd.some.wait(120)
    before = list(crowd.confirmed)
    archive = backed_up(tmp_path / "backups", capsys)
    after = set(crowd.confirmed)
    crowd.stopping.set()
    crowd.join(60)
    assert archive.stat().st_mode & 0o077 == 0  # it holds people's data

    media = tmp_path / "elsewhere"
    said = elsewhere_does(elsewhere, media, "restore", str(archive))
    kept = set(map(int, elsewhere_does(elsewhere, media, "shell", "-v", "0", "-c", COUNTING).split()))
    assert kept >= set(before)
    assert len(kept - after) <= 1  # one may be confirmed to the crowd only after the copy
    assert f"{len(kept)} labels" in said
    name = Item.objects.get(key="picture").media.name
    assert (media / name).read_bytes() == b"\x89PNG square"

    refused = elsewhere_does(elsewhere, media, "restore", str(archive), ok=False)
    assert "FORCE=1" in refused
    assert "not empty" in refused
    elsewhere_does(elsewhere, media, "restore", str(archive), "--force")


def test_nothing_is_restored_under_a_running_worker(project, tmp_path, capsys, elsewhere):
    soon = timezone.now() + timedelta(minutes=10)  # so that it is alive still, however long the commands take
    scheduling.record_heartbeat("desk-1", started_at=timezone.now(), now=soon)
    archive = backed_up(tmp_path / "backups", capsys)
    set_up_elsewhere(elsewhere, tmp_path / "elsewhere", archive)  # with its worker's heartbeat
    refused = elsewhere_does(elsewhere, tmp_path / "elsewhere", "restore", str(archive), "--force", ok=False)
    assert "The site is running (worker desk-1 was seen a moment ago); nothing was changed." in refused


@pytest.mark.embedded
def test_nothing_is_restored_while_another_process_has_the_file_open(project, tmp_path, capsys, elsewhere):
    archive, media = backed_up(tmp_path / "backups", capsys), tmp_path / "elsewhere"
    set_up_elsewhere(elsewhere, media, archive)
    reader = sqlite3.connect(tmp_path / "elsewhere.sqlite3")
    reader.execute("SELECT 1 FROM annotate_project").fetchone()
    assert "The site is running; nothing" in elsewhere_does(
        elsewhere, media, "restore", str(archive), "--force", ok=False
    )
    reader.close()
    elsewhere_does(elsewhere, media, "restore", str(archive), "--force")


@pytest.mark.embedded
def test_only_its_owner_may_read_a_new_database(elsewhere, tmp_path):
    umask = os.umask(0o022)
    try:
        elsewhere_does(elsewhere, tmp_path, "shell", "-v", "0", "-c", CONNECTING)
    finally:
        os.umask(umask)
    assert (tmp_path / "elsewhere.sqlite3").stat().st_mode & 0o777 == 0o600


def test_what_is_damaged_incomplete_or_strange_changes_nothing(project, tmp_path, capsys, monkeypatch):
    archive = backed_up(tmp_path, capsys)
    User.objects.create_user("afterwards")
    files = contents(archive)
    flipped = {**files, "media/" + project.items.get(key="picture").media.name: b"other bytes"}
    manifest = json.loads(files["manifest.json"])
    newer = {**manifest, "migrations": [*manifest["migrations"], ["annotate", "9999_to_come"]]}
    other = {**manifest, "database": "oracle"}
    for changed, why in (
        (flipped, "is damaged"),
        ({name: data for name, data in files.items() if not name.startswith("database")}, "is damaged"),
        ({**files, "manifest.json": json.dumps(newer).encode()}, "newer version"),
        ({**files, "manifest.json": json.dumps(other).encode()}, "of its own kind"),
        ({**files, "manifest.json": json.dumps({"format": 7}).encode()}, "format"),
        ({name: data for name, data in files.items() if name != "manifest.json"}, "no manifest.json"),
    ):
        with pytest.raises(CommandError, match=why):
            call_command("restore", packed(tmp_path / "changed.tar.gz", changed), force=True)
    half = tmp_path / "half.tar.gz"
    half.write_bytes(archive.read_bytes()[:2000])
    with pytest.raises(CommandError, match="not a complete backup"):
        call_command("restore", half, force=True)
    with pytest.raises(CommandError, match="There is no"):
        call_command("restore", tmp_path / "nowhere.tar.gz", force=True)
    with pytest.raises(CommandError, match="not empty"):
        call_command("restore", archive)
    assert User.objects.filter(username="afterwards").exists()


def contents(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as file:
        return {name: file.extractfile(name).read() for name in file.getnames()}


def packed(target: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(target, "w:gz") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return target


def test_the_manifest_says_what_is_in_it_and_what_is_not(project, tmp_path, capsys):
    lost = Item.objects.get(key="picture").media.name
    default_storage.delete(lost)
    call_command("backup", tmp_path)
    out, err = capsys.readouterr()
    manifest = json.loads(contents(Path(out.split(": ")[0]))["manifest.json"])
    assert manifest["missing_files"] == [lost]
    assert lost in err
    assert manifest["rows"]["annotate_item"] == 9
    assert ["annotate", "0001_initial"] in manifest["migrations"]
    assert set(manifest["sha256"]) == {database_dumps.file_name()}


def test_a_backup_that_fails_leaves_nothing_behind(project, tmp_path, monkeypatch):
    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(backups, "write_archive", full)
    with pytest.raises(CommandError, match="No backup was made: No space left"):
        call_command("backup", tmp_path / "backups")
    assert list((tmp_path / "backups").iterdir()) == []


def test_without_postgresqls_programs_it_says_so(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(database_dumps.DumpError, match=r"pg_dump is not on the PATH.*postgresql-client"):
        database_dumps.tool("pg_dump")


@pytest.mark.embedded
def test_a_copy_of_sqlite_is_whole_and_one_file(project, tmp_path):
    copy = tmp_path / "copy.sqlite3"
    counts, files = database_dumps.dump(copy)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("copy")] == ["copy.sqlite3"]
    assert sqlite3.connect(copy).execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert (counts["annotate_project"], len(files)) == (2, 1)
    assert Label.objects.count() == counts["annotate_label"]


@pytest.mark.parametrize("found", [[], {}, {"format": 1}])
def test_a_manifest_of_something_else_is_refused(tmp_path, found):
    with pytest.raises(backups.BackupError, match="does not belong to a backup"):
        backups.check(tmp_path, found)
