"""Imports as jobs: all rows checked before the first is written; in chunks, stopped, gone on with, never doubled."""

import csv
import io
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotate.core.stored_messages import render_message
from annotate.criteria import Criterion
from annotate.fitting.reading import read_labels
from annotate.imports import chunks
from annotate.imports import job as imports_job
from annotate.imports import queue as imports_queue
from annotate.imports.actions import ImportRunning, start_import
from annotate.imports.guessing import guess_items, guess_votes
from annotate.management.commands.worker import create_worker
from annotate.models import FeatureNames, FitState, ImportJob, Item, ItemFeatures, Label, Membership, Project, User
from annotate.models.leased_jobs import LeaseLost
from annotate.projects.actions import delete_project
from annotate.projects.copies.archiving import archive_project, unarchive_project
from tests.conftest import NOW, answer_one, make_annotator
from tests.load.database import ALIAS, environment, own_database
from tests.paths import ROOT
from tests.site.pages import HTMX, signed_in
from tests.site.processes import wait_for


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)


def table(n: int) -> bytes:
    return b"key,text,size\n" + b"".join(b"k%d,Text %d,%d\n" % (i, i, i % 9) for i in range(n))


def begin(project, alice, content: bytes, kind="items", name="items.csv", mapping=None, **more) -> ImportJob:
    mapping = guess_items(content.decode(), name) if mapping is None else mapping
    return start_import(
        project=project,
        actor=alice,
        kind=kind,
        source=name,
        file=ContentFile(content),
        mapping=mapping,
        now=NOW,
        **{"at_once": True, **more},
    )


def work(n: int = 1) -> None:
    for _ in range(n):
        create_worker("test").run_job(imports_queue.QUEUE)


def page(client, job):
    return client.get(reverse("import-job", args=[job.project_id, job.pk]))


def act(client, job, action):
    return client.post(reverse("import-job", args=[job.project_id, job.pk]), {"action": action}, follow=True)


def test_bad_rows_stop_it_before_the_first_is_written_and_can_be_left_out_and_taken_away(project, alice):
    job = begin(project, alice, b"key,text\na,One\nitem-1,Taken\nb,Two\nc,\n=d," + b"x" * 100_001 + b"\n")
    owner = signed_in(alice)
    waiting = page(owner, job).content.decode()
    assert "every 2s" in waiting
    assert "Look again" in waiting  # without JavaScript
    work()
    job.refresh_from_db()
    assert (job.state, job.n_rows, job.n_bad, job.n_written) == ("checked", 5, 3, 0)
    assert project.items.count() == 6
    shown = page(owner, job).content.decode()
    assert "every 2s" not in shown
    assert "Import the 2 good rows, leave out 3" in shown
    assert "The key “item-1” is already used" in shown
    left = owner.get(reverse("import-left-out", args=[project.pk, job.pk]))
    rows = list(csv.reader(io.StringIO(b"".join(left.streaming_content).decode())))
    assert [row[0] for row in rows] == ["row", "3", "5", "6"]
    assert rows[3][2] == "'=d", "a spreadsheet would run it"
    act(owner, job, "go")
    work()
    job.refresh_from_db()
    assert (job.state, job.n_written) == ("done", 2)
    assert set(project.items.values_list("key", flat=True)) >= {"a", "b"}
    assert "2 rows are imported. 3 rows were left out." in " ".join(page(owner, job).content.decode().split())
    fragment = owner.get(
        reverse("import-job", args=[project.pk, job.pk]), headers=HTMX | {"HX-Target": "import-job"}
    ).content.decode()
    assert fragment.lstrip().startswith('<div id="import-job"')


def test_it_is_written_in_chunks_stops_between_them_and_goes_on_without_doubling(project, alice, monkeypatch):
    monkeypatch.setitem(chunks.CHUNK, "item", 10)
    job = begin(project, alice, table(35))
    row = imports_queue.QUEUE.claim_next(owner="one", now=timezone.now())
    seen = []

    def stopped_after_the_second_chunk(step, total, _):
        if total and step == 20:
            act(signed_in(alice), job, "stop")
        seen.append((step, total))
        return True

    with pytest.raises(LeaseLost):
        imports_queue.QUEUE.work(row, progress=stopped_after_the_second_chunk)
    assert seen[-3:] == [(0, 35), (10, 35), (20, 35)]
    job.refresh_from_db()
    assert (job.state, job.n_written, project.items.count()) == ("cancelled", 20, 26)
    owner = signed_in(alice)
    assert "20 of 35 rows are imported and stay" in page(owner, job).content.decode()
    act(owner, job, "go")
    work()
    job.refresh_from_db()
    assert (job.state, job.n_written, project.items.count()) == ("done", 35, 41)
    verbs = project.events.order_by("pk").values_list("verb", flat=True)
    assert list(verbs) == ["import asked for", "import stopped", "import went on", "items imported"]
    act(owner, job, "go")  # sent again
    job.refresh_from_db()
    assert job.state == "done"


@pytest.mark.parametrize("kind", ["items", "comparisons"])
def test_nothing_is_written_into_a_project_archived_meanwhile(project, alice, monkeypatch, kind):
    monkeypatch.setattr(chunks, "CHUNK", dict.fromkeys(chunks.CHUNK, 10))
    monkeypatch.setattr(imports_job, "CHUNK", chunks.CHUNK)
    if kind == "items":
        job = begin(project, alice, table(35))
    else:
        rows = "".join(f"Ann,item-{n % 6},item-{(n + 1) % 6},left\n" for n in range(35))
        content = ("annotator,left,right,outcome\n" + rows).encode()
        job = begin(project, alice, content, kind, "votes.csv", guess_votes(content.decode(), "votes.csv"))
    row = imports_queue.QUEUE.claim_next(owner="one", now=timezone.now())

    def archived_after_the_first_chunk(step, total, _):
        if total and step == 10:
            archive_project(project=project, actor=alice, now=timezone.now())
        return True

    imports_queue.QUEUE.work(row, progress=archived_after_the_first_chunk)
    job.refresh_from_db()
    assert (job.state, job.n_written) == ("failed", 10)
    assert "archive" in job.message
    assert (project.items.count(), project.labels.count()) == ((16, 0) if kind == "items" else (6, 10))
    unarchive_project(project=project, actor=alice, now=timezone.now())
    act(signed_in(alice), job, "go")
    work()
    job.refresh_from_db()
    assert (job.state, job.n_written) == ("done", 35)


def test_an_engine_that_has_lost_its_claim_writes_nothing(project, alice):
    job = begin(project, alice, table(5))
    late = imports_queue.QUEUE.claim_next(owner="late", now=timezone.now())
    ImportJob.objects.filter(pk=job.pk).update(lease_until=NOW)
    row = imports_queue.QUEUE.claim_next(owner="other", now=timezone.now())
    imports_queue.QUEUE.work(row, progress=lambda *_: True)
    with pytest.raises(LeaseLost):
        imports_queue.QUEUE.work(late, progress=lambda *_: True)
    assert project.items.count() == 11


@pytest.mark.slow
def test_three_thousand_rows_take_few_statements(project, alice):
    job = begin(project, alice, table(3000))
    row = imports_queue.QUEUE.claim_next(owner="one", now=timezone.now())
    with CaptureQueriesContext(connection) as queries:
        imports_queue.QUEUE.work(row, progress=lambda *_: True)
    job.refresh_from_db()
    assert (job.state, project.items.count()) == ("done", 3006)
    assert len(queries) < 80


def test_one_import_at_a_time_and_what_kills_three_engines_is_given_up(project, alice):
    job = begin(project, alice, table(3))
    with pytest.raises(ImportRunning):
        begin(project, alice, table(4))
    ImportJob.objects.filter(pk=job.pk).update(attempts=3, owner="dead#1")
    assert imports_queue.QUEUE.claim_next(owner="one", now=timezone.now()) is None
    job.refresh_from_db()
    assert (job.state, "stopped before it had finished" in render_message(job.message)) == ("failed", True)
    delete_project(project=project)
    assert not ImportJob.objects.exists()


def test_features_from_columns_and_from_a_matrix_reach_the_engine(project, alice):
    content = table(4)
    mapping = guess_items(content.decode(), "items.csv")
    mapping["columns"]["features"] = [(2, "size")]
    begin(project, alice, content, mapping=mapping)
    work()
    matrix = np.arange(20.0).reshape(10, 2)
    out = io.BytesIO()
    np.save(out, matrix.astype(np.float32))
    owner = signed_in(alice)
    url = reverse("features-import", args=[project.pk])
    response = owner.post(url, {"file": ContentFile(out.getvalue(), "matrix.npy"), "called": "f"}, follow=True)
    assert "Waiting to be checked" in response.content.decode()
    work()
    assert FeatureNames.objects.get(project=project).names == ["size", "f1", "f2"]
    assert ItemFeatures.objects.count() == 10
    answer_one(make_annotator(project, "Otter"))
    found = read_labels(Criterion(project)).data.item_features
    assert found[:, 1:].tolist() == matrix.tolist()
    assert found[6:, 0].tolist() == [0, 1, 2, 3]
    assert found[:6, 0].tolist() == [1.5] * 6  # not known: the mean of the others
    assert "3 features; 10 of 10 items have them." in owner.get(url).content.decode()


@pytest.mark.parametrize(
    ("matrix", "keys", "message"),
    [
        (np.array([[1.0, np.nan]] * 6), b"", "Column 2 holds nan"),
        (np.array([[np.inf]] * 6), b"", "Column 1 holds inf"),
        (np.ones((5, 2)), b"", "The matrix has 5 rows for 6 items"),
        (np.ones((1, 2)), b"nobody\n", "There is no item with the key “nobody”"),
        (np.ones((2, 2)), b"item-1\nitem-1\n", "The key “item-1” is already used in row 1"),
        (np.array([["a"]] * 6), b"", "Save it as numbers"),
        (np.array([[{}]] * 6, dtype=object), b"", "Save it as numbers"),
        (np.ones(6), b"", "it needs a row for each item"),
    ],
)
def test_a_matrix_that_is_none_is_refused_and_says_where(project, alice, matrix, keys, message):
    out = io.BytesIO()
    np.save(out, matrix, allow_pickle=True)
    job = begin(project, alice, out.getvalue(), "features", "m.npy", {"prefix": "f"}, keys=keys)
    work()
    job.refresh_from_db()
    assert message in " ".join([job.message, *(problem for _place, problem in job.errors)])
    assert not ItemFeatures.objects.exists()


def test_the_command_imports_and_refuses(project, tmp_path, capsys):
    file = tmp_path / "a.tsv"
    file.write_text("key\ttext\nx\tOne\ny\tTwo\n")
    call_command("import_file", "items", str(project.pk), str(file))
    assert "2 rows read, 2 imported" in capsys.readouterr().out
    with pytest.raises(CommandError, match="Nothing was imported: 2 of 2 rows have errors"):
        call_command("import_file", "items", str(project.pk), str(file))
    assert "row 2: The key “x” is already used" in capsys.readouterr().out
    votes = tmp_path / "votes.json"
    votes.write_text('[{"worker": "w", "left": "x", "right": "new", "label": "new"}]')
    call_command("import_file", "comparisons", str(project.pk), str(votes), "--create-items")
    assert Label.objects.get().chosen.key == "new"
    assert "1 row read, 1 imported, new items: 1, " in capsys.readouterr().out
    assert FitState.objects.get(project=project).wanted == 1


@pytest.mark.parametrize(
    ("kind", "table"),
    [
        ("items", "key,text\n{key},One\n"),
        ("comparisons", "annotator,left,right,outcome\nw,{key},item-1,left\n"),
        ("counts", "annotator,item,count\nw,{key},3\n"),
    ],
)
def test_a_key_that_is_too_long_is_told_in_the_same_words_by_every_import(project, tmp_path, capsys, kind, table):
    file = tmp_path / "table.csv"
    Project.objects.filter(pk=project.pk).update(state="draft")
    file.write_text(table.format(key="k" * 201))
    options = [] if kind == "items" else ["--create-items"]
    with pytest.raises(CommandError, match="Nothing was imported"):
        call_command("import_file", kind, str(project.pk), str(file), *options)
    told = f"The key “{'k' * 39}…” has 201 characters; the limit is 200. Shorten it."
    assert told in capsys.readouterr().out


@pytest.mark.process
def test_an_engine_killed_in_mid_import_is_followed_by_one_that_doubles_nothing(tmp_path, settings, django_db_blocker):
    with django_db_blocker.unblock(), own_database(tmp_path) as url:
        env = environment(url, tmp_path) | {
            "DJANGO_SETTINGS_MODULE": "annotate.settings",
            "WORKER_LEASE_SECONDS": "1",
            "MEDIA_ROOT": str(tmp_path),
        }
        user = User.objects.using(ALIAS).create(username="alice", email="alice@example.org")
        project = Project.objects.using(ALIAS).create(name="Killed", state="open")
        Membership.objects.using(ALIAS).create(project=project, user=user, role="owner")
        (tmp_path / "items.csv").write_bytes(table(6000))
        code = (
            "import sys, django; django.setup();"
            "from annotate.imports import chunks; chunks.CHUNK['item'] = 200;"
            "from django.core.management import call_command; call_command(*sys.argv[1:])"
        )
        command = [sys.executable, "-c", code, "import_file", "items", str(project.pk), str(tmp_path / "items.csv")]

        def written() -> int:
            return Item.objects.using(ALIAS).filter(project=project).count()

        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL)
        wait_for(lambda: written() > 400, 120, "nothing was written")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        job = ImportJob.objects.using(ALIAS).get()
        assert job.state == "running"
        assert job.n_written == written() < 6000, "the mark and the rows are one transaction"
        settings.WORKER_LEASE_SECONDS = 1
        wait_for(lambda: ImportJob.objects.using(ALIAS).get().lease_until < timezone.now(), 60, "the lease did not end")
        engine = [sys.executable, "-c", code, "worker", "--once"]
        subprocess.run(engine, cwd=ROOT, env=env, check=True, capture_output=True)
        job.refresh_from_db()
        assert (job.state, job.n_written, written()) == ("done", 6000, 6000)
