"""The result of a fit: computed whole, without a write, and then written in one place."""

from dataclasses import FrozenInstanceError
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotate.criteria import Criterion
from annotate.fitting import run as fitting_run
from annotate.fitting import scheduling
from annotate.fitting.result import FitResult, Stopwatch, compute_result
from annotate.fitting.storage import write_result
from annotate.jobs.fit_requests import request_fit
from annotate.models.leased_jobs import LeaseLost
from models_engine.models import AnnotatorEstimate, Estimate, Fit
from tests.conftest import NOW, make_annotator
from tests.site.factories import make_labels

WRITES = ("INSERT", "UPDATE", "DELETE")


def go_on(step: int, total: int, objective: float) -> bool:
    return True


@pytest.fixture
def fit(project) -> Fit:
    project.estimator = "BradleyTerry"
    project.save()
    make_labels(project, [make_annotator(project, name) for name in ("Otter", "Heron")], 40)
    request_fit(project)
    claim = scheduling.claim_next(owner="test", now=NOW + timedelta(hours=1), pause=timedelta(0))
    return fitting_run.create_fit(Criterion(project), claim, NOW)


def test_computing_writes_nothing(project, fit):
    with CaptureQueriesContext(
        connection,
    ) as queries:
        result = compute_result(fit, Criterion(project), None, go_on, Stopwatch())
    assert [query["sql"] for query in queries if query["sql"].startswith(WRITES)] == []
    assert (result.n_labels, len(result.annotator_estimates), len(result.estimates)) == (40, 2, result.n_items)
    assert not Estimate.objects.exists()
    with pytest.raises(FrozenInstanceError):
        result.n_labels = 0


def test_what_was_computed_is_what_is_stored(project, fit):
    watch = Stopwatch()
    result = compute_result(fit, Criterion(project), None, go_on, watch)
    write_result(fit, result, go_on, watch, lambda: NOW)
    stored = Fit.objects.get(pk=fit.pk)
    for name, value in result.columns().items():
        if name not in ("diagnostics", "arrays"):
            assert getattr(stored, name) == value, name
    assert bytes(stored.arrays) == result.arrays
    assert stored.diagnostics.keys() - {"stages"} == result.diagnostics.keys()
    assert stored.diagnostics["stages"].keys() == {
        "reading",
        "fitting",
        "estimates",
        "settling",
        "undecided",
        "writing",
    }
    assert Estimate.objects.filter(fit=fit).count() == len(result.estimates) == result.n_items
    assert AnnotatorEstimate.objects.filter(fit=fit).count() == len(result.annotator_estimates)
    assert (stored.status, stored.published) == ("done", False)


def test_a_fit_whose_row_is_gone_is_not_written(project, fit):
    result = compute_result(fit, Criterion(project), None, go_on, Stopwatch())
    Fit.objects.filter(pk=fit.pk).delete()
    with pytest.raises(LeaseLost):
        write_result(fit, result, go_on, Stopwatch(), lambda: NOW)
    assert not Fit.objects.exists()


def test_the_columns_of_a_result_are_columns_of_a_fit():
    empty = FitResult("BradleyTerry", {})
    assert set(empty.columns()) <= {field.attname for field in Fit._meta.concrete_fields}
