"""Reliability: computed with a fit and its evaluation, told on the trust page, in the report and through the API."""

from datetime import timedelta

import numpy as np
import pytest
from django.utils import timezone

from annotate.criteria import Criterion
from annotate.dashboard.trust.reliability import Coefficient, Reliability
from annotate.fitting import reliability, scheduling
from annotate.fitting import run as fitting_run
from annotate.fitting.arrays import stored_posterior
from annotate.fitting.reading import read_labels
from annotate.models import Evaluation, FitState, Label, Project
from models_engine.errors import Cancelled
from models_engine.models import Fit
from tests.conftest import NOW, make_annotator
from tests.site.api_client import Api
from tests.site.factories import make_labels, spread_fit
from tests.site.pages import page, signed_in

SEPARATION = {"value": 0.91, "low": 0.88, "high": 0.94, "separation": 3.2, "strata": 4.6, "level": 0.9, "n_items": 6}
HALVES = {
    "half": 0.7,
    "half_low": 0.5,
    "half_high": 0.8,
    "full": 0.82,
    "low": 0.67,
    "high": 0.89,
    "n_splits": 20,
    "n_items": 6.0,
}


def fitted(project: Project, n_labels: int = 240, n_annotators: int = 6) -> Fit:
    """Labels by a crowd that mostly prefers the items made first, and a fit of them."""
    Project.objects.filter(pk=project.pk).update(estimator="BradleyTerry")
    rng = np.random.default_rng(1)
    people = [make_annotator(project, f"Otter {i}") for i in range(n_annotators)]
    labels = make_labels(project, people, n_labels)
    for label in labels:
        shown = sorted(one.item_id for one in label.presentation.presented.all())
        label.chosen_id = shown[int(rng.random() < 0.2)]
    Label.objects.bulk_update(labels, ["chosen_id"])
    FitState.objects.get_or_create(project=project, defaults={"wanted": 1})
    claim = scheduling.claim_next(owner="test", now=timezone.now(), pause=timedelta(0))
    fitting_run.run(claim, progress=lambda *_: True)
    project.refresh_from_db()
    return Fit.objects.get(project_id=project.pk, published=True)


def go_on(*_) -> bool:
    return True


def test_the_fit_keeps_the_share_of_true_variance(project):
    """By its definition, from the published utilities: var(m) / (var(m) + mean(sd^2)), sd at a known scale."""
    fit = fitted(project)
    utility, sd = np.array(fit.estimates.values_list("utility", "sd")).T
    n = len(utility)
    signal = sum((one - utility.mean()) ** 2 for one in utility) / n
    open_scale = stored_posterior(fit)[0].along_scale  # moves all alike
    noise = (sum(one**2 for one in sd) - sum(one**2 for one in open_scale)) / n
    kept = fit.diagnostics["reliability"]
    assert kept["value"] == pytest.approx(signal / (signal + noise), rel=1e-9)
    assert kept["separation"] == pytest.approx(np.sqrt(signal / noise), rel=1e-9)
    assert kept["strata"] == pytest.approx((4 * np.sqrt(signal / noise) + 1) / 3, rel=1e-9)
    assert kept["low"] < kept["value"] < kept["high"]
    assert kept["n_items"] == n == 6


def test_fewer_than_five_items_are_not_enough_data(project, alice):
    project.items.filter(pk__in=project.items.order_by("pk").values("pk")[4:]).delete()
    assert fitted(project).diagnostics["reliability"] is None
    assert "Not enough data: it takes a fit of 5 items" in page(signed_in(alice), project, "trust")


@pytest.mark.embedded
@pytest.mark.slow
def test_halves_of_the_answers_are_correlated_and_stepped_up(project):
    fitted(project)
    found = reliability.measure_halves(read_labels(Criterion(project)), go_on)
    for one in (found["annotators"], found["answers"]):
        assert one["half"] < one["full"] < 1
        assert one["low"] < one["full"] < one["high"]
        stepped = 2 * one["half_low"] / (1 + one["half_low"]) if one["half_low"] > 0 else one["half_low"]
        assert one["low"] == pytest.approx(stepped)


@pytest.mark.embedded
def test_one_annotator_has_no_halves_but_the_answers_do(project):
    fitted(project, n_annotators=1)
    found = reliability.measure_halves(read_labels(Criterion(project)), go_on)
    assert found["annotators"] is None
    assert found["answers"]["n_splits"] == 20


@pytest.mark.embedded
def test_too_many_labels_are_not_halved(project, monkeypatch):
    monkeypatch.setattr(reliability, "MAX_SPLIT_LABELS", 100)
    fitted(project)
    assert reliability.measure_halves(read_labels(Criterion(project)), go_on) == {}


def test_halving_gives_up_when_told_to(project):
    fitted(project)
    with pytest.raises(Cancelled):
        reliability.measure_halves(read_labels(Criterion(project)), lambda *_: False)


@pytest.mark.embedded
def test_only_the_largest_part_is_halved(project):
    items = list(project.items.order_by("pk"))
    people = [make_annotator(project, f"Otter {i}") for i in range(4)]
    labels = make_labels(project, people, 120)
    across = [
        label.pk
        for label in labels
        if len({one.item_id == items[-1].pk for one in label.presentation.presented.all()}) == 2
    ]
    Label.objects.filter(pk__in=across).update(voided_at=NOW, void_reason="excluded")
    data = reliability.largest_part(read_labels(Criterion(project)))
    assert data.n_labels == 120 - len(across)
    assert data.n_comparisons()[-1] == 0


def coefficients(*values: float | None) -> Reliability:
    separation, panel = (None if value is None else Coefficient(value, value - 0.05, value + 0.04) for value in values)
    return Reliability(separation, 4.0, 6, panel, None, 1)


@pytest.mark.parametrize(
    ("separation", "panel", "state"),
    [
        (0.91, None, "good"),
        (0.91, 0.85, "good"),
        (0.91, 0.6, "warn"),
        (0.6, None, "warn"),
        (0.78, None, "unknown"),
        (0.91, 0.78, "unknown"),
        (None, None, "unknown"),
    ],
)
def test_a_reliability_is_good_from_eight_tenths_and_bad_where_its_interval_stays_below(separation, panel, state):
    assert coefficients(separation, panel).state == state


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.9, "almost the same"), (0.8, "much the same"), (0.7, "roughly the same"), (0.69, "rather different")],
)
def test_the_sentences_say_how_alike_another_ranking_would_be(value, words):
    first, second = coefficients(value, value).sentence.split(". Another group")
    assert words in first
    assert words in second


def test_page_report_and_api_say_the_same(project, alice):
    fit = spread_fit(project, list(project.items.all()), diagnostics={"reliability": SEPARATION})
    Evaluation.objects.create(
        project=project, fit_number=fit.number, estimator="CrowdBT", split_half={"annotators": HALVES, "answers": None}
    )
    sentence = (
        "As many answers again would give almost the same order: reliability 0.91 (90% interval 0.88 to 0.94). "
        "Another group of annotators like these would rank the items much the same: 0.82 (0.67 to 0.89)."
    )
    html = page(signed_in(alice), project, "trust")
    assert sentence in html
    assert "From halves of the annotators</dt>" in html
    assert "From halves of the answers</dt>" not in html
    assert sentence in page(signed_in(alice), project, "report")
    api = Api(alice, project)
    expected = {
        "separation": {"value": 0.91, "low": 0.88, "high": 0.94},
        "strata": 4.6,
        "n_items": 6,
        "annotators": {"value": 0.82, "low": 0.67, "high": 0.89},
        "answers": None,
        "split_at_fit": 1,
    }
    assert api("get", "report").json()["reliability"] == expected
    trust = api("get", "trust").json()
    assert trust["reliability"] == expected
    assert next(check["sentence"] for check in trust["checks"] if check["key"] == "reliable") == sentence


def test_a_fit_from_before_reliabilities_is_not_yet_known(project, alice):
    spread_fit(project, list(project.items.all()), diagnostics={})
    assert Api(alice, project)("get", "trust").json()["reliability"]["separation"] is None
