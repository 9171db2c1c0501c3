"""Run records from the site: asked for by an owner, made by an engine process, taken away and reproduced."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from annotate.criteria import Criterion
from annotate.fitting import run as fitting_run
from annotate.fitting import scheduling
from annotate.jobs import requested
from annotate.management.commands.worker import create_worker
from annotate.models import Event, FitState, Item, Label, Project, RunRecord, RunRecordPart, leased_jobs
from annotate.projects.actions import delete_project
from annotate.publishing.preregistration.actions import freeze_plan
from annotate.publishing.run_records import job as run_records_job
from annotate.publishing.run_records import queue as run_records_queue
from annotate.publishing.run_records.analysis import r_script
from models_engine.data import Comparisons
from models_engine.errors import InsufficientData
from models_engine.io.run_records import FitSpec, write_record
from models_engine.models import Estimate
from tests.conftest import NOW, make_annotator
from tests.paths import ROOT
from tests.site.factories import make_labels
from tests.site.pages import HTMX, signed_in

AVERAGED = {"inference": "auto", "prior_sd": None}  # over scales


@pytest.fixture
def fitted(project) -> Project:
    """Labels of four people, one of them taken back, a retired item, and a published fit."""
    project.estimator, project.top_k = "BradleyTerry", 2
    project.save()
    crowd = [make_annotator(project, f"Otter {i}") for i in range(4)]
    labels = make_labels(project, crowd, 60)
    Label.objects.filter(pk=labels[0].pk).update(voided_at=NOW, void_reason="undone")
    Item.objects.filter(project=project, key="item-5").update(retired_at=NOW)
    claim_and_fit(project)
    return project


def claim_and_fit(project: Project) -> None:
    FitState.objects.create(project=project, wanted=1)
    claim = scheduling.claim_next(owner="test", now=timezone.now(), pause=timedelta(0))
    fitting_run.run(claim, progress=lambda *_: True)


def unpacked(content: bytes, folder):
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        assert len({name.partition("/")[0] for name in file.namelist()}) == 1
        file.extractall(folder)
    return next(folder.iterdir())


def reproduce(folder) -> subprocess.CompletedProcess:
    bare = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO")}
    command = [sys.executable, "-m", "models_engine", "reproduce", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, env=bare)


@pytest.mark.process
def test_from_the_button_to_the_same_ranking(fitted, alice, vera, tmp_path):
    owner = signed_in(alice)
    address = reverse("exports", args=[fitted.pk])
    ask = reverse("record-ask", args=[fitted.pk])
    assert ask in owner.get(address).content.decode()
    assert owner.post(ask).url == address
    assert owner.post(ask).url == address  # sent twice: still one
    record = RunRecord.objects.get()
    assert (record.status, record.asked_by) == ("asked", alice)
    assert Event.objects.filter(project=fitted, verb="run record asked for").count() == 1
    waiting = owner.get(address, headers=HTMX | {"HX-Target": "run-record"}).content.decode()
    assert waiting.lstrip().startswith('<section id="run-record"')
    assert "every 2s" in waiting
    assert owner.get(reverse("record", args=[fitted.pk, record.pk])).status_code == 404

    assert create_worker("test").run_job(run_records_queue.QUEUE) is True
    assert create_worker("test").run_job(run_records_queue.QUEUE) is False
    record.refresh_from_db()
    assert (record.status, record.n_labels, record.fit_number) == ("ready", 59, 1)
    shown = owner.get(address, headers=HTMX | {"HX-Target": "run-record"}).content.decode()
    assert "every 2s" not in shown
    assert "59 answers" in shown
    assert "There have been new answers" not in shown

    response = signed_in(vera).get(reverse("record", args=[fitted.pk, record.pk]))
    content = b"".join(response.streaming_content)
    assert len(content) == int(response["Content-Length"])
    folder = unpacked(content, tmp_path)
    assert folder.name == "convincing-arguments-run-record"
    done = reproduce(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Reproduced")
    held = json.loads((folder / "record.json").read_text())
    assert held["about"]["question"] == fitted.question
    assert (held["unranked"], held["k"], held["estimator"]) == (["item-5"], 2, "BradleyTerry")
    assert "example.org" not in "".join(path.read_text() for path in folder.iterdir())
    with (folder / "ranking.csv").open() as file:
        ranking = {row["item"]: row for row in csv.DictReader(file)}
    live = {Item.objects.get(pk=e.item_id).key: e for e in Estimate.objects.filter(fit__project_id=fitted.pk)}
    assert ranking.keys() == live.keys() == {f"item-{i}" for i in range(5)}
    for key, estimate in live.items():  # the live fit was a cold one, of the same labels in another order
        assert float(ranking[key]["utility"]) == pytest.approx(estimate.utility, abs=1e-6)
        assert (int(ranking[key]["rank"]), int(ranking[key]["n_comparisons"])) == (
            estimate.rank,
            estimate.n_comparisons,
        )


@pytest.mark.process
def test_the_command_writes_a_folder(fitted, tmp_path, capsys):
    folder = tmp_path / "record"
    call_command("run_record", str(fitted.pk), str(folder))
    assert "59 labels, BradleyTerry" in capsys.readouterr().out
    assert reproduce(folder).returncode == 0
    with pytest.raises(CommandError, match="not empty"):
        call_command("run_record", str(fitted.pk), str(folder))
    with pytest.raises(CommandError, match="no project"):
        call_command("run_record", "00000000-0000-0000-0000-000000000000", str(tmp_path / "b"))


def test_before_the_first_fit_there_is_nothing_to_record(project, alice, tmp_path):
    owner = signed_in(alice)
    told = owner.post(reverse("record-ask", args=[project.pk]), follow=True).content.decode()
    assert "There is no ranking yet, so there is nothing to record" in told
    assert not RunRecord.objects.exists()
    make_labels(project, [make_annotator(project, "Otter")], 3)
    with pytest.raises(CommandError, match="There is no ranking yet"):
        call_command("run_record", str(project.pk), str(tmp_path / "record"))


def asked(project: Project, **values) -> RunRecord:
    return RunRecord.objects.create(project=project, asked_at=NOW, **values)


def test_a_new_record_takes_the_place_of_the_old(fitted, monkeypatch):
    monkeypatch.setattr(run_records_job, "PART_BYTES", 500)
    for _ in range(2):
        asked(fitted)
        assert create_worker("test").run_job(run_records_queue.QUEUE)
    kept = RunRecord.objects.get()
    assert kept.status == "ready"
    parts = RunRecordPart.objects.filter(record=kept)
    assert parts.count() == RunRecordPart.objects.count() > 2
    assert sum(len(part.data) for part in parts) == kept.n_bytes
    delete_project(project=fitted)
    assert not RunRecordPart.objects.exists()


def test_a_killed_engine_leaves_the_record_to_the_next_and_not_for_ever(fitted):
    asked(fitted)
    now = NOW
    for attempt in range(1, requested.MAX_ATTEMPTS + 1):
        claimed = run_records_queue.QUEUE.claim_next(owner=f"engine-{attempt}#1", now=now)
        assert claimed.attempts == attempt
        assert run_records_queue.QUEUE.claim_next(owner="other", now=now) is None
        assert claimed.renew(now=now)
        now += leased_jobs.lease_duration() + timedelta(seconds=1)
    assert run_records_queue.QUEUE.claim_next(owner="other", now=now) is None
    record = RunRecord.objects.get()
    assert record.status == "failed"
    assert "engine-3" in record.message


def test_a_failure_is_told_and_a_stop_is_none(fitted, alice, monkeypatch):
    record = asked(fitted)
    worker = create_worker("test")
    worker.stopping.set()
    assert worker.run_job(run_records_queue.QUEUE)
    record.refresh_from_db()
    assert (record.status, record.attempts, record.owner) == ("asked", 0, "")

    def broken(*arguments, **options):
        raise InsufficientData("there is <b>nothing</b>.")

    monkeypatch.setattr(run_records_job, "write_run_record", broken)
    assert create_worker("test").run_job(run_records_queue.QUEUE)
    told = signed_in(alice).get(reverse("exports", args=[fitted.pk])).content.decode()
    assert "there is &lt;b&gt;nothing&lt;/b&gt;." in told
    assert reverse("record-ask", args=[fitted.pk]) in told  # try again


def test_another_projects_record_is_not_found(fitted, alice):
    other = Project.objects.create(name="Other", question="?")
    record = asked(other, status="ready")
    assert signed_in(alice).get(reverse("record", args=[fitted.pk, record.pk])).status_code == 404


@pytest.fixture
def package(fitted, alice, tmp_path):
    """The analysis package of a project with ties, unpacked."""
    tied = Label.objects.filter(project=fitted, voided_at=None).order_by("pk")[:6]
    Label.objects.filter(pk__in=[label.pk for label in tied]).update(outcome="tie", chosen=None)
    fitted.tie_words = "Can't decide"
    fitted.save()
    freeze_plan(project=fitted, actor=alice, statements={}, now=NOW)
    folder = tmp_path / "package"
    run_records_job.write_run_record(Criterion(fitted), folder, progress=lambda *_: True, now=NOW)
    return folder


def rows_of(path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_package_says_what_every_column_means(package, fitted):
    book = {(row["file"], row["column"]): row for row in rows_of(package / "codebook.csv")}
    for name in ("labels", "ranking", "answers", "item_texts", "published", "deviations"):
        with (package / f"{name}.csv").open(encoding="utf-8") as file:
            header = next(csv.reader(file))
        assert all(book[f"{name}.csv", column]["meaning"] for column in header), name
    assert book["ranking.csv", "utility"]["unit"] == "logit"
    assert book["answers.csv", "response_seconds"]["unit"] == "s"
    assert "Can't decide" in book["", "tie_words"]["meaning"]
    assert "Can't decide" in book["answers.csv", "outcome"]["meaning"]
    assert len(rows_of(package / "answers.csv")) == 60
    assert "Bradley" in (package / "methods.txt").read_text(encoding="utf-8")
    frozen = fitted.preregistration
    assert (package / "preregistration.json").read_text(encoding="utf-8") == frozen.document


@pytest.mark.embedded
@pytest.mark.process
def test_the_python_script_repeats_the_ranking(package):
    bare = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO")}
    bare["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, "analysis.py"]
    done = subprocess.run(command, capture_output=True, text=True, env=bare, cwd=package)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Reproduced")
    assert "The ranking published on the site differs" in done.stdout


def output_of_r(script: Path) -> str:
    """What the script prints; skips the test where R is absent."""
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not on the PATH; on Debian: apt-get install --no-install-recommends r-base-core")
    done = subprocess.run(["Rscript", "--vanilla", str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.embedded
@pytest.mark.process
@pytest.mark.parametrize("estimator", ["BradleyTerry", "CrowdBT"])
def test_the_r_script_repeats_bradley_terry_and_says_where_it_does_not(package, estimator):
    script = package / "analysis.R"
    script.write_text(script.read_text(encoding="utf-8").replace('"BradleyTerry"\n', f'"{estimator}"\n', 1))
    output = output_of_r(script)
    assert ("within the tolerance" in output) == (estimator == "BradleyTerry")
    assert ("does not repeat" in output) == (estimator != "BradleyTerry")
    assert "Pearson 1.0000, Kendall 1.0000" in output
    assert len(rows_of(package / "ranking_by_R.csv")) == 5


@pytest.mark.embedded
@pytest.mark.process
@pytest.mark.parametrize("options", [{}, {"inference": "variational", "prior_sd": 4.0}, {"ties": "half"}, AVERAGED])
@pytest.mark.parametrize(("k", "tied", "mixed"), [(2, 0, 0), (4, 0, 0), (4, 1, 0), (4, 0, 1), (4, 1, 1)])
def test_the_r_script_agrees_on_pairs_best_and_worst_and_shared_places(tmp_path, options, k, tied, mixed):
    """Items apart, ties, wide priors, parts that nothing connects, and names that a list would break; mixed: with pairs
    of the same items, some of them tied."""
    rng, n = np.random.default_rng(1), 12
    sets = np.array([rng.choice(n, k, replace=False) for _ in range(40)])
    seen = np.linspace(-3, 3, n)[sets] + rng.gumbel(size=sets.shape)
    rows = np.arange(len(sets))
    best, worst = sets[rows, seen.argmax(axis=1)], sets[rows, seen.argmin(axis=1)]
    if k == 2:
        outcome = np.where(rows < 6, 0.5, (best == sets[:, 0]).astype(float))
        data = Comparisons.from_pairs(sets[:, 0], sets[:, 1], outcome, annotators=rows % 5, n_items=n)
    elif tied:  # one answer in four puts all items in one place
        ranks = [[0] * k if row % 4 == 0 else [[0, 1, 1, 2][place] for place in (-seen[row]).argsort()] for row in rows]
        data = Comparisons.from_ranks(ranks, sets, annotators=rows % 5, n_items=n, tied=True)
    else:
        data = Comparisons.from_best_worst(best, worst, sets, annotators=rows % 5, n_items=n)
    if mixed:
        outcome = np.array([0.0, 0.5, 1.0])[rows % 3]
        data = Comparisons.concatenate(
            [data, Comparisons.from_pairs(sets[:, 0], sets[:, 1], outcome, annotators=rows % 5, n_items=n)]
        )
    names = [f"item;{i}" for i in range(n)]
    record = write_record(tmp_path, data, names, list("abcde"), FitSpec("BradleyTerry", options), about={})
    script = tmp_path / "analysis.R"
    script.write_text(r_script(record), encoding="utf-8")
    assert "within the tolerance of 0.0001" in output_of_r(script)


@pytest.mark.embedded
@pytest.mark.process
def test_the_r_script_agrees_at_the_highest_scale(tmp_path):
    """A chain of ten items that all agree about, of whose scale nothing is known but that it is wide."""
    left = np.repeat(np.arange(9), 5)
    data = Comparisons.from_pairs(left, left + 1, np.ones(len(left)), n_items=10)
    names = [f"item{i}" for i in range(10)]
    record = write_record(tmp_path, data, names, list("a"), FitSpec("BradleyTerry", {}), about={})
    assert record["hyperparameters"]["prior_sd"] == 6
    script = tmp_path / "analysis.R"
    script.write_text(r_script(record), encoding="utf-8")
    assert "within the tolerance of 0.0001" in output_of_r(script)


@pytest.mark.embedded
@pytest.mark.process
@pytest.mark.parametrize(("apart", "n_labels"), [(0.0, 40), (0.0, 2_000), (1.6, 60), (1.3, 200)])
def test_the_r_script_agrees_where_items_are_as_alike_as_the_lowest_scale_or_nearly(tmp_path, apart, n_labels):
    """At a scale of which little is known but that it is small, and above it."""
    rng, n = np.random.default_rng(2), 12
    sets = np.array([rng.choice(n, 2, replace=False) for _ in range(n_labels)])
    seen = np.linspace(-apart, apart, n)[sets] + rng.gumbel(size=sets.shape)
    data = Comparisons.from_pairs(sets[:, 0], sets[:, 1], (seen[:, 0] > seen[:, 1]).astype(float), n_items=n)
    names = [f"item{i}" for i in range(n)]
    record = write_record(tmp_path, data, names, list("a"), FitSpec("BradleyTerry", AVERAGED), about={})
    assert 0.05 <= record["hyperparameters"]["prior_sd"] < 1.2
    script = tmp_path / "analysis.R"
    script.write_text(r_script(record), encoding="utf-8")
    assert "within the tolerance of 0.0001" in output_of_r(script)
