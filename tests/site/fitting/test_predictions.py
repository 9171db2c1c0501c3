"""Places predicted from what items look like: only where they help and are wanted, marked everywhere as predicted."""

import csv
import io
from collections import defaultdict
from datetime import timedelta

import numpy as np
import pytest
from django.urls import reverse
from scipy.special import expit

from annotate.criteria import Criterion
from annotate.fitting import predictions_queue
from annotate.fitting.published import published_fit
from annotate.items.features import add_features
from annotate.jobs.fit_requests import request_fit
from annotate.models import FitState, Item, Label, PredictionGain, PresentedItem, Project
from annotate.projects.actions import change_project
from annotate.publishing.run_records.job import write_run_record
from models_engine.io.reproduction import reproduce
from models_engine.models import Estimate
from tests.conftest import NOW, make_annotator, make_items
from tests.site.api_client import Api
from tests.site.factories import make_labels
from tests.site.fitting.test_run import fit_now, go_on
from tests.site.pages import page, signed_in

pytestmark = [pytest.mark.slow, pytest.mark.embedded]
N, N_NEW = 30, 3


@pytest.fixture
def project(project) -> Project:
    project.items.all().delete()
    make_items(project, N)
    project.estimator, project.top_k = "BradleyTerry", 3
    project.save()
    return project


def collect(project: Project, tells: bool) -> list[Item]:
    """900 answers about all items but the last three, by utilities that the first of two features tells, or not; the
    last three would be the best, the worst and one without features. Returns these."""
    rng = np.random.default_rng(0)
    utility = 1.5 * rng.standard_normal(N)
    looks = np.append(utility if tells else rng.standard_normal(N), [4.0, -4.0])
    worth = dict(zip(project.items.order_by("pk").values_list("pk", flat=True), utility, strict=True))
    labels = make_labels(project, [make_annotator(project, f"Otter {i}") for i in range(4)], 900)
    shown = defaultdict[int, list[int]](list)
    for presentation, item in PresentedItem.objects.values_list("presentation_id", "item_id"):
        shown[presentation].append(item)
    for label in labels:
        one, other = shown[label.presentation_id]
        label.chosen_id = one if rng.random() < expit(worth[one] - worth[other]) else other
    Label.objects.bulk_update(labels, ["chosen"])
    new = [Item.objects.create(project=project, key=f"new {n}", body=f"new {n}") for n in range(N_NEW)]
    items = list(project.items.order_by("pk"))
    rows = [(item.pk, [float(one), float(rng.standard_normal())]) for item, one in zip(items[:-1], looks, strict=False)]
    add_features(project, ["look", "noise"], rows)
    return new


def measure(project: Project, later: int = 1) -> PredictionGain | None:
    row = predictions_queue.QUEUE.claim_next(owner="test", now=NOW + timedelta(hours=later))
    if row:
        predictions_queue.QUEUE.work(row, progress=go_on)
        row.refresh_from_db()
    return row


def fit_anew(project: Project) -> dict[int, Estimate]:
    """Fits and returns the estimates by item."""
    request_fit(project)
    fit_now(project, NOW)
    return {one.item_id: one for one in Estimate.objects.filter(fit=published_fit(Criterion(project)))}


def test_items_never_compared_get_a_predicted_place_that_is_said_to_be_one(project, alice):
    best, worst, unknown = collect(project, tells=True)
    before = fit_anew(project)
    assert not any(one.is_predicted for one in before.values())
    row = measure(project)
    assert row is not None
    assert row.helps
    assert row.figures["n_items"] == N
    assert measure(project) is None, "until labels, features or the estimator change"

    wanted = FitState.objects.get(project=project).wanted
    change_project(project=project, actor=alice, values={"predict_unseen": True}, now=NOW)
    assert FitState.objects.get(project=project).wanted == wanted + 1
    project.refresh_from_db()
    after = fit_anew(project)
    told = {pk for pk, one in after.items() if one.is_predicted}
    assert told == {best.pk, worst.pk}
    assert (after[best.pk].rank, after[worst.pk].rank) == (1, N + 1)
    assert after[worst.pk].rank_low > after[best.pk].rank_high
    assert after[unknown.pk].part > after[best.pk].part == after[worst.pk].part > 0
    assert 0 < after[worst.pk].score_low < after[worst.pk].score < after[worst.pk].score_high < 50
    assert after[best.pk].n_comparisons == 0
    assert after[unknown.pk].score is None
    for pk in before.keys() - {best.pk, worst.pk}:  # what answers say stays as it is, but for where a search ends
        assert before[pk].rank == after[pk].rank
        assert before[pk].utility == pytest.approx(after[pk].utility, abs=1e-5)
    assert published_fit(Criterion(project)).diagnostics["predicted"]["n"] == 2

    owner, api = signed_in(alice), Api(alice, project)
    html = page(owner, project, query="?page=1")
    assert "2 items here have no comparison. Their places among those compared" in html
    assert "1 item here has no comparison, so it has no place" in html
    shown = owner.get(reverse("item", args=[project.pk, best.pk])).content.decode()
    assert "predicted from its features, not measured" in shown
    assert "Predicted from what they look like" in page(owner, project, "report")
    told_by_api = {one["item"]: one for one in api("get", "ranking").json()["results"]}
    assert told_by_api[best.key]["predicted"] is True
    assert told_by_api[best.key]["rank"] == 1
    assert told_by_api[best.key]["part"] == 0
    assert told_by_api[unknown.key]["predicted"] is False
    assert told_by_api[unknown.key]["rank"] is None
    assert sum(one["predicted"] for one in told_by_api.values()) == 2
    assert "Features help" in page(owner, project, "features-import")
    assert "Features help" in page(owner, project, "settings-ranking")
    found = api("get", "models").json()["predictions"]
    assert (found["enabled"], found["helps"], found["n_items"]) == (True, True, N)


def test_the_export_says_what_is_predicted(project, alice):
    best, _worst, _unknown = collect(project, tells=True)
    PredictionGain.objects.create(project=project, figures={"gain": 0.1, "error": 0.01})
    Project.objects.filter(pk=project.pk).update(predict_unseen=True)
    project.refresh_from_db()
    fit_anew(project)
    response = signed_in(alice).get(reverse("export", args=[project.pk, "ranking", "csv"]))
    text = b"".join(response.streaming_content).decode("utf-8-sig")
    rows = {row["item"]: row for row in csv.DictReader(io.StringIO(text))}
    assert (rows[best.key]["predicted"], rows[best.key]["rank"], rows[best.key]["n_comparisons"]) == ("true", "1", "0")
    assert sum(row["predicted"] == "true" for row in rows.values()) == 2


def test_methods_and_run_record_tell_of_predictions_and_repeat_them(project, alice, tmp_path):
    best, worst, _unknown = collect(project, tells=True)
    figures = {"gain": 0.1234, "error": 0.0125, "n_items": 30, "n_pairs": 870}
    PredictionGain.objects.create(project=project, figures=figures)
    Project.objects.filter(pk=project.pk).update(predict_unseen=True, policy="best")
    project.refresh_from_db()
    fit_anew(project)
    html = page(signed_in(alice), project, "methods")
    assert "The places of 2 items that nobody compared were predicted from 2 features (“look”, “noise”)" in html
    assert "(30 items, 870 comparisons), the log loss of a comparison was 0.123 nats smaller" in html
    assert "Questions about them were chosen by these predictions until they had answers." in html
    assert "Estimates of income for small places" in html
    told = Api(alice, project)("get", "methods").json()
    assert len(told["predictions"]) == 3

    record = write_run_record(Criterion(project), tmp_path, progress=go_on, now=NOW)
    assert record["about"]["predictions"]["features"] == ["look", "noise"]
    assert (record["about"]["predictions"]["n"], record["about"]["predictions"]["gain"]) == (2, 0.1234)
    assert set(record["predicted"]) == {best.key, worst.key}
    with (tmp_path / "predicted.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["item"] for row in rows] == [best.key, worst.key]
    estimates = {one.item_id: one for one in Estimate.objects.filter(fit=published_fit(Criterion(project)))}
    published = [estimates[best.pk].utility, estimates[worst.pk].utility]
    assert [float(row["utility"]) for row in rows] == pytest.approx(published, abs=1e-5)
    assert "predicted.csv,utility" in (tmp_path / "codebook.csv").read_text()
    assert reproduce(tmp_path).how == "identical"


def test_nothing_is_predicted_where_features_tell_nothing(project, alice):
    """Also where it is switched on; new features have it measured anew, which asks for a fit where they help."""
    collect(project, tells=False)
    Project.objects.filter(pk=project.pk).update(predict_unseen=True)
    project.refresh_from_db()
    fit_anew(project)
    row = measure(project)
    assert row is not None
    assert not row.helps
    assert not any(one.is_predicted for one in fit_anew(project).values())
    assert "No gain was found" in page(signed_in(alice), project, "features-import")
    estimates = Estimate.objects.filter(fit=published_fit(Criterion(project)), n_comparisons__gt=0)
    add_features(project, ["look"], [(one.item_id, [one.utility]) for one in estimates])
    wanted = FitState.objects.get(project=project).wanted
    again = measure(project, later=2)
    assert again is not None
    assert again.helps
    assert FitState.objects.get(project=project).wanted == wanted + 1


def test_too_few_items_are_not_measured(project, alice):
    collect(project, tells=True)
    fit_anew(project)
    known = list(project.items.order_by("pk").values_list("pk", flat=True)[:19])
    Item.objects.exclude(pk__in=known).filter(project=project).update(body="no features")
    from_items = project.items.exclude(pk__in=known)
    for item in from_items:
        if hasattr(item, "features"):
            item.features.delete()
    row = measure(project)
    assert row is not None
    assert row.figures == {}
    assert "Too early to say" in page(signed_in(alice), project, "features-import")
