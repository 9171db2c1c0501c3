"""The whole worker beside a cluster: real processes of both, from the labels to what the pages and the API say."""

import subprocess
import sys
from http import HTTPStatus

import pytest
from django.db.models import Min
from django.test import Client
from django.urls import reverse
from numpy.testing import assert_allclose

from annotate.criteria import Criterion
from annotate.fitting.reading import read_labels
from annotate.fitting.result import fit_posterior
from annotate.models import FitState, Label, PresentedItem, Project, User
from models_engine.benchmarks.local_cluster import local_cluster
from models_engine.models import Fit
from tests.conftest import make_annotator
from tests.load.database import as_default, own_database
from tests.paths import ROOT
from tests.site.factories import make_labels
from tests.site.worker_site import Site, emptied

pytestmark = [pytest.mark.process, pytest.mark.embedded]
N_ANNOTATORS, N_ITEMS, N_LABELS, N_FURTHER = 10, 12, 120, 30  # a fit that asks its cluster some hundred times


@pytest.fixture
def site(tmp_path, django_db_blocker):
    with django_db_blocker.unblock(), own_database(tmp_path) as url, emptied(Site(url, tmp_path)) as found:
        yield found


def vote(project: Project, n: int, seed: int) -> None:
    """Labels in bulk, for the older item; the engine sees that they are new, and needs no pause after its last fit."""
    people = list(project.annotators.order_by("pk")) or [make_annotator(project, str(i)) for i in range(N_ANNOTATORS)]
    labels = make_labels(project, people, n, seed=seed)
    shown = PresentedItem.objects.filter(presentation__in=[label.presentation_id for label in labels])
    older = dict(shown.values_list("presentation").annotate(Min("item")).values_list("presentation", "item__min"))
    for label in labels:
        label.chosen_id = older[label.presentation_id]
    Label.objects.bulk_update(labels, ["chosen"])
    state = FitState.objects.get(project=project)
    FitState.objects.filter(pk=state.pk).update(wanted=state.wanted + n, not_before=None, last_fit_at=None)


def refit(site: Site) -> None:
    command = [sys.executable, "-m", "tests.site.cluster_worker_process", "--once"]
    done = subprocess.run(command, cwd=ROOT, env=site.env, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "1 fit published.", done.stderr


def engine_page(project: Project) -> str:
    client = Client()
    client.force_login(User.objects.get(username="alice"))
    reply = client.get(reverse("engine", args=[project.pk]))
    assert reply.status_code == HTTPStatus.OK
    return reply.content.decode()


def test_a_worker_fits_on_the_cluster_and_in_its_own_process_once_that_is_gone(site):
    pytest.importorskip("distributed", reason="the extra crowdrank[cluster] is not installed")
    project = site.project("Large", "CollaborativeGP", N_ITEMS)
    with local_cluster(2) as cluster:
        cluster.wait_for_workers(2)
        site.env["ENGINE_CLUSTER"] = cluster.address
        with as_default():
            project = Project.objects.get(pk=project.pk)  # of the default database
            vote(project, N_LABELS, seed=1)
        refit(site)
        with as_default():
            there = Fit.objects.get(project_id=project.pk, published=True)
            assert there.diagnostics["cluster"] == {"n_workers": 2}
            assert "2 workers" in engine_page(project)
            labels = read_labels(Criterion(project))
            here = fit_posterior("CollaborativeGP", labels, None, there.seed, lambda *step: True)
            means = dict(there.estimates.values_list("item_id", "utility"))
            assert_allclose([means[item] for item in labels.item_ids], here.posterior.mean, rtol=1e-10, atol=1e-12)
    with as_default():
        vote(project, N_FURTHER, seed=2)
    refit(site)
    with as_default():
        again = Fit.objects.get(project_id=project.pk, published=True)
        assert again.n_labels == N_LABELS + N_FURTHER
        assert "n_workers" not in again.diagnostics["cluster"]
        page = engine_page(project)
        assert "does not answer" in page
        assert cluster.address not in page
