"""Large fits on a cluster, and here where it can't be reached."""

import os
import subprocess
import sys

import pytest

from annotate.core.stored_messages import render_message
from annotate.criteria import Criterion
from annotate.fitting.cluster import fit_on_cluster
from annotate.fitting.reading import read_labels
from annotate.fitting.result import fit_posterior
from annotate.jobs.limits import job_limits
from models_engine.benchmarks.local_cluster import local_cluster
from models_engine.executor import active_executor
from tests.conftest import make_annotator
from tests.site.factories import make_labels

NOBODY = "tcp://127.0.0.1:1"
needs_dask = "the extra crowdrank[cluster] is not installed"


def test_without_a_cluster_nothing_is_told():
    assert fit_on_cluster(lambda: 7) == (7, {})


def test_a_small_fit_asks_no_cluster(settings):
    settings.ENGINE_CLUSTER = NOBODY
    assert fit_on_cluster(lambda: active_executor().suited(1.0) and 7) == (7, {})


@pytest.mark.slow
def test_a_large_fit_runs_here_where_nobody_answers_and_says_why(project, settings, monkeypatch):
    pytest.importorskip("distributed", reason=needs_dask)
    make_labels(project, [make_annotator(project, name) for name in ("Otter", "Heron")], 30)
    labels = read_labels(Criterion(project))
    here = fit_posterior("CollaborativeGP", labels, None, 0, lambda *step: True)
    settings.ENGINE_CLUSTER = NOBODY
    monkeypatch.setattr("models_engine.executor.MIN_CLUSTER_COST", 0.0)
    monkeypatch.setattr("models_engine.executor.CONNECT_SECONDS", 0.5)
    found = fit_posterior("CollaborativeGP", labels, None, 0, lambda *step: True)
    assert "does not answer" in render_message(found.where["cluster"]["failure"])
    assert NOBODY not in render_message(found.where["cluster"]["failure"])
    assert (found.posterior.mean == here.posterior.mean).all()


def test_a_job_may_map_what_the_clusters_client_needs(project, settings):
    settings.WORKER_JOB_MEMORY_MB = 0
    before = job_limits(project.pk).memory_mb
    settings.ENGINE_CLUSTER = NOBODY
    assert job_limits(project.pk).memory_mb > before


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.embedded
def test_a_process_of_the_fork_server_reaches_the_cluster_within_its_limits():
    pytest.importorskip("distributed", reason=needs_dask)
    with local_cluster(1) as cluster:
        cluster.wait_for_workers(1)
        command = [sys.executable, "-m", "tests.site.cluster_process", cluster.address]
        found = subprocess.run(command, env=os.environ | {"DEBUG": "true"}, capture_output=True, text=True, timeout=120)
    assert found.stdout.split() == ["900000.0", "1"], found.stderr
