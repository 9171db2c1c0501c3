"""/healthz: what a machine learns about the site, and that a stranger learns no more."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from annotate.fitting import scheduling
from annotate.models import FitState, Label, leased_jobs
from annotate.operations.health import check_health
from models_engine.models import Fit
from tests.conftest import NOW, answer_one, make_annotator

MINUTE = timedelta(minutes=1)


@pytest.fixture
def otter(project):
    return make_annotator(project, "Quiet Otter")


def test_it_works(client, project, otter):
    scheduling.record_heartbeat("secret-host:17", started_at=timezone.now(), now=timezone.now())
    answer_one(otter, now=timezone.now())
    response = client.get("/healthz")
    assert response.status_code == 200
    found = response.json()
    assert (found["status"], found["engines"]["running"], found["projects"]["waiting"]) == ("ok", 1, 1)
    assert "no-store" in response["Cache-Control"]


def test_a_stranger_learns_no_names(client, project, otter):
    scheduling.record_heartbeat("secret-host:17", started_at=timezone.now(), now=timezone.now())
    FitState.objects.create(project=project, wanted=1, error="secret path /srv", error_at=NOW)
    text = client.get("/healthz").content.decode()
    for secret in ("secret", project.name, str(project.pk), otter.pseudonym):
        assert secret not in text


def test_503_without_an_engine_but_not_to_a_load_balancer(client, project, otter):
    """Voting goes on without an engine: whoever sends people to this process must not stop."""
    answer_one(otter, now=timezone.now())
    scheduling.record_heartbeat("dead", started_at=NOW, now=timezone.now() - 2 * leased_jobs.lease_duration())
    response = client.get("/healthz")
    assert response.status_code == 503
    assert (response.json()["status"], response.json()["database"]) == ("degraded", connection.vendor)
    assert response.json()["engines"] == {"running": 0, "seen_seconds_ago": None}
    assert client.get("/healthz?of=web").status_code == 200


def test_the_longest_wait_begins_with_the_first_label_not_yet_fitted(project, otter):
    for minute in range(4):
        answer_one(otter, now=NOW + minute * MINUTE)
    assert check_health(NOW + 10 * MINUTE)["projects"]["longest_wait_seconds"] == 600
    Fit.objects.create(
        project_id=project.pk, number=1, estimator="x", data_version=2, published=True, started_at=NOW + 1.5 * MINUTE
    )
    FitState.objects.update(fitted=2)
    assert check_health(NOW + 10 * MINUTE)["projects"]["longest_wait_seconds"] == 480
    FitState.objects.update(fitted=4)
    assert check_health(NOW + 10 * MINUTE)["projects"] == {"waiting": 0, "failing": 0, "longest_wait_seconds": None}


def test_failing_projects_are_counted(project, otter):
    answer_one(otter)
    FitState.objects.update(error="singular", error_at=NOW)
    assert check_health(NOW)["projects"]["failing"] == 1


def test_the_number_of_queries_does_not_grow(client, project, otter, django_assert_num_queries):
    with django_assert_num_queries(2):
        client.get("/healthz")
    for _ in range(5):
        answer_one(otter)
    with django_assert_num_queries(2):
        client.get("/healthz")
    assert Label.objects.count() == 5


def test_503_when_the_database_does_not_answer(client, db, caplog):
    def no_answer(execute, sql, params, many, context):
        raise OperationalError("connection to server at 10.1.2.3 failed")

    with connection.execute_wrapper(no_answer):
        response = client.get("/healthz?of=web")
    assert response.status_code == 503
    assert response.json()["status"] == "down"
    assert "10.1.2.3" not in response.content.decode()
    assert "did not answer" in caplog.text


def test_only_reading(client, db):
    assert client.post("/healthz").status_code == 405
