"""Misfit: items and annotators judged unlike the order are found by the fit, listed, flagged and exported."""

import csv
import io
from datetime import timedelta

import numpy as np
import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.fitting import misfit, scheduling
from annotate.fitting import run as fitting_run
from annotate.fitting.arrays import SITE, from_bytes, keep_utilities, restore_covariances
from annotate.fitting.stored_misfit import flagged_deviations, stored_misfit
from annotate.models import FitState, Label, Project
from models_engine.estimators.table import ESTIMATORS
from models_engine.models import Fit
from tests.conftest import make_annotator
from tests.site.api_client import Api
from tests.site.factories import estimate_annotator, make_labels, spread_fit
from tests.site.pages import page, signed_in

pytestmark = pytest.mark.embedded


def fitted(project: Project, *, odd: bool = True) -> Fit:
    """Eight annotators who nearly always prefer what was made first; `odd`: the last of them the other way round, and
    the third item wins by a coin alone."""
    Project.objects.filter(pk=project.pk).update(estimator="BradleyTerry")
    rng = np.random.default_rng(4)
    people = [make_annotator(project, f"Otter {i}") for i in range(8)]
    third = project.items.order_by("pk")[2].pk
    labels = make_labels(project, people, 480)
    for label in labels:
        shown = sorted(one.item_id for one in label.presentation.presented.all())
        wrong = rng.random() < 0.08
        if odd and label.annotator_id == people[-1].pk:
            wrong = True
        elif odd and third in shown:
            wrong = rng.random() < 0.5
        label.chosen_id = shown[int(wrong)]
    Label.objects.bulk_update(labels, ["chosen_id"])
    FitState.objects.get_or_create(project=project, defaults={"wanted": 1})
    claim = scheduling.claim_next(owner="test", now=timezone.now(), pause=timedelta(0))
    fitting_run.run(claim, progress=lambda *_: True)
    project.refresh_from_db()
    return Fit.objects.get(project_id=project.pk, published=True)


def table_of(client, project: Project, name: str) -> list[dict[str, str]]:
    response = client.get(reverse("export", args=[project.pk, name, "csv"]))
    text = b"".join(response.streaming_content).decode()
    return list(csv.DictReader(io.StringIO(text)))


def infit_by_hand(fit: Fit, project: Project) -> dict[int, float]:
    """Of each annotator: squared residuals of the choices over their variance under the published utilities, the
    variance being what the fit, which has followed these answers, left over."""
    arrays = restore_covariances(from_bytes(bytes(fit.arrays)))
    posterior = ESTIMATORS["BradleyTerry"].posterior.from_arrays(
        {name: one for name, one in arrays.items() if not name.startswith(SITE)}
    )
    place = {key: row for row, key in enumerate(arrays[SITE + "items"].tolist())}
    utility, covariance = posterior.utilities(), posterior.covariance()
    above: dict[int, float] = {}
    below: dict[int, float] = {}
    for label in Label.objects.filter(project=project).prefetch_related("presentation__presented"):
        a, b = (place[one.item_id] for one in label.presentation.presented.all())
        p = 1 / (1 + np.exp(utility[b] - utility[a]))
        x = float(place[label.chosen_id] == a)
        v = p * (1 - p)
        leverage = v * (covariance[a, a] + covariance[b, b] - 2 * covariance[a, b])
        above[label.annotator_id] = above.get(label.annotator_id, 0) + (x - p) ** 2
        below[label.annotator_id] = below.get(label.annotator_id, 0) + v * (1 - leverage)
    return {key: above[key] / below[key] for key in above}


@pytest.mark.slow
def test_infit_is_squared_residuals_over_their_variance(project):
    fit = fitted(project)
    by_hand = infit_by_hand(fit, project)
    stored = stored_misfit(fit, "annotators")
    assert {key: infit for key, (infit, _z) in stored.items()} == pytest.approx(by_hand, rel=1e-4)


@pytest.mark.slow
def test_whoever_answers_the_other_way_round_and_what_is_judged_by_a_coin_are_listed(project, alice):
    fit = fitted(project)
    client = signed_in(alice)
    third = project.items.order_by("pk")[2]
    assert third.pk in flagged_deviations(fit, "items")
    assert [*flagged_deviations(fit, "annotators")] == [project.annotators.get(pseudonym="Otter 7").pk]
    html = page(client, project, "trust")
    section = html[html.index('id="misfit"') :]
    assert "read it again" in section or "read them again" in section
    assert reverse("item", args=[project.pk, third.pk]) in section
    assert "1 annotator judges unlike the others: look at the answers." in section
    rows = page(client, project, "annotators")
    assert rows.count("Judges unlike the others: infit") == 1


@pytest.mark.slow
def test_answers_that_follow_one_order_flag_nobody(project, alice):
    fit = fitted(project, odd=False)
    assert fit.diagnostics["misfit"]["annotators"]["n_flagged"] == 0
    assert "follow one order" in page(signed_in(alice), project, "trust")


@pytest.mark.slow
def test_api_and_exports_give_the_figures(project, alice):
    fit = fitted(project)
    third = project.items.order_by("pk")[2]
    found = Api(alice, project)("get", "trust").json()["misfit"]
    assert third.key in [row["item"] for row in found["items"]]
    assert [row["annotator"] for row in found["annotators"]] == ["Otter 7"]
    assert found["annotators"][0]["infit"] > 1.2
    client = signed_in(alice)
    of_items, of_people = table_of(client, project, "ranking"), table_of(client, project, "annotators")
    assert [*of_items[0]][-9:-7] == [*of_people[0]][-5:-3] == ["infit", "infit_z"]
    stored = stored_misfit(fit, "items")
    keys = dict(project.items.values_list("key", "pk"))
    assert {row["item"]: float(row["infit"]) for row in of_items} == pytest.approx(
        {key: stored[pk][0] for key, pk in keys.items()}
    )


@pytest.mark.slow
def test_the_report_has_the_picture_and_a_table_of_annotators(project, alice):
    fit = fitted(project)
    html = page(signed_in(alice), project, "report")
    assert 'class="forest forest-wide"' in html
    table = html[html.index('id="report-annotators"') :]
    assert table.count("<bdi>Otter") == 8
    assert table.count("judges unlike the others") == 1
    infit = stored_misfit(fit, "annotators")[project.annotators.get(pseudonym="Otter 7").pk][0]
    assert f"{infit:.2f}" in table
    assert "No goal was set" in html
    assert "nobody answering now" not in html, "what is on now is not for paper"


def test_the_report_lists_flags_of_annotators(project, alice):
    fit = spread_fit(project, list(project.items.order_by("pk")))
    hasty = make_annotator(project, "Hasty")
    make_labels(project, [hasty], 15, response_ms=100)
    estimate_annotator(fit, hasty)
    table = page(signed_in(alice), project, "report").partition('id="report-annotators"')[2]
    assert 'class="report-flag">Too fast: 15 of 15' in table


def test_a_fit_without_misfit_lists_and_exports_nothing(project, alice):
    spread_fit(project, list(project.items.all()), diagnostics={})
    client = signed_in(alice)
    assert 'id="misfit"' not in page(client, project, "trust")
    assert {row["infit"] for row in table_of(client, project, "ranking")} == {""}
    assert Api(alice, project)("get", "trust").json()["misfit"] is None


@pytest.mark.slow
def test_a_fit_that_is_not_published_any_more_drops_its_misfit(project):
    fit = fitted(project)
    fit.arrays = keep_utilities(bytes(fit.arrays))
    assert stored_misfit(fit, "items") == {}


@pytest.mark.slow
def test_many_larger_sets_are_not_simulated(project, monkeypatch):
    monkeypatch.setattr(misfit, "count_simulated_pairs", lambda data: misfit.MAX_SIMULATED_PAIRS + 1)
    fit = fitted(project, odd=False)
    assert fit.diagnostics["misfit"] is None
    assert stored_misfit(fit, "items") == {}
