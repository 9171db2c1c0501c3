"""What goes on after somebody was erased, and while: fits, pages of the history, exports, the weighted total."""

import logging
from datetime import timedelta

import pytest
from django.db import connection
from django.urls import reverse

from annotate.annotators.exclusion import exclude_annotator, readmit_annotator
from annotate.criteria import Criterion
from annotate.fitting.overall import compute_overall
from annotate.models import Annotator, Event, Label, Project
from annotate.privacy.erasure.actions import BY_OWNER, erase_annotator
from annotate.publishing.exports import labels as labels_export
from models_engine.models import Fit
from tests.conftest import NOW, make_annotator
from tests.site.factories import make_labels
from tests.site.fitting.test_run import fit_now
from tests.site.pages import signed_in

HOUR = timedelta(hours=1)


@pytest.fixture
def crowd(project) -> list[Annotator]:
    Project.objects.filter(pk=project.pk).update(estimator="BradleyTerry")
    people = [make_annotator(project, f"Otter {n}") for n in range(3)]
    make_labels(project, people, 30)
    return people


@pytest.mark.slow
def test_fits_and_the_history_go_on_after_somebody_excluded_was_erased(project, crowd, alice):
    exclude_annotator(annotator=crowd[0], actor=alice, reason="Quick", now=NOW)
    readmit_annotator(annotator=crowd[0], actor=alice, now=NOW)
    exclude_annotator(annotator=crowd[0], actor=alice, reason="Quick", now=NOW)
    versions = [event.details["version"] for event in Event.objects.filter(details__has_key="version").order_by("pk")]
    erase_annotator(annotator=crowd[0], by=BY_OWNER, actor=alice, now=NOW)
    events = Event.objects.filter(details__has_key="version").order_by("pk")
    assert [event.details["version"] for event in events] == versions
    assert events.first().details["reason"] == "(erased)"
    assert fit_now(project, NOW + HOUR).n_annotators == 2
    make_labels(project, crowd[1:], 10, seed=1, start=NOW + HOUR)
    fit = fit_now(project, NOW + 2 * HOUR)
    assert fit.diagnostics["settling"]["points"][-1]["n_labels"] == fit.n_labels
    client = signed_in(alice)
    for event in events:
        shown = client.get(reverse("compare", args=[project.pk]), {"event": event.pk})
        assert shown.status_code == 200


def test_an_export_goes_on_without_somebody_erased_meanwhile(project, crowd):
    others = set(Label.objects.exclude(annotator=crowd[0]).values_list("pk", flat=True))
    gone = []

    def erase_first(execute, sql, params, many, context):
        if not gone and sql.startswith('SELECT "annotate_presenteditem"'):  # the labels have been read
            gone.append(sql)
            erase_annotator(annotator=crowd[0], by=BY_OWNER, now=NOW)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(erase_first):
        rows = list(labels_export.rows(Criterion(project)))
    assert gone
    assert {row[0] for row in rows} == others


def test_a_total_whose_fit_was_deleted_meanwhile_is_no_error(project, crowd, caplog):
    project.criteria = [{"name": "Clear", "question": "?"}, {"name": "Right", "question": "?"}]
    project.save()
    fit_now(project, NOW + HOUR)
    fit = Fit.objects.get(project_id=project.pk, criterion=1, published=True)
    erase_annotator(annotator=crowd[0], by=BY_OWNER, now=NOW)
    with caplog.at_level(logging.ERROR):
        [row] = compute_overall(Project.objects.get(pk=project.pk), fit, NOW)
    assert not caplog.records
    assert (row.columns, row.details["why"]) == ({}, "missing")
