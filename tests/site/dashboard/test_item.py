"""An item's page: its figures against the labels counted one by one, its rivals against draws of the posterior."""

from collections import Counter
from datetime import timedelta

import numpy as np
import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.criteria import Criterion
from annotate.dashboard.item import item_page
from annotate.fitting import run as fitting_run
from annotate.fitting import scheduling
from annotate.fitting.arrays import from_bytes, keep_utilities
from annotate.fitting.reading import read_labels
from annotate.fitting.rivals import nearest_rivals
from annotate.models import FitState, Item, Label, Project
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.models import Estimate, Fit
from tests.conftest import NOW, make_annotator
from tests.site.factories import make_labels, spread_fit
from tests.site.pages import signed_in

pytestmark = pytest.mark.embedded


@pytest.fixture
def compared(project) -> Project:
    """Two people follow the items' order, Contra turns it round; some ties, some voided."""
    crowd = [make_annotator(project, name) for name in ("Otter", "Heron", "Contra")]
    labels = make_labels(project, crowd, 90)
    for label in labels:
        first, second = sorted(one.item_id for one in label.presentation.presented.all())
        label.chosen_id = second if label.annotator.pseudonym == "Contra" else first
    Label.objects.bulk_update(labels, ["chosen_id"])
    make_labels(project, crowd, 6, outcome="tie", seed=1)
    make_labels(project, crowd, 6, outcome="skip", seed=2)
    make_labels(project, crowd, 6, seed=3, voided_at=NOW, void_reason="excluded")
    return project


def fit_now(project: Project) -> Fit:
    state, _ = FitState.objects.get_or_create(project=project)
    FitState.objects.filter(pk=state.pk).update(wanted=state.wanted + 1, not_before=None, last_fit_at=None)
    claim = scheduling.claim_next(owner="test", now=timezone.now(), pause=timedelta(0))
    return fitting_run.run(claim, progress=lambda *_: True)


def test_comparisons_are_counted_as_given(compared):
    item, items = compared.items.order_by("pk")[2], list(compared.items.order_by("pk"))
    fit = spread_fit(compared, items)
    found = item_page(Criterion(compared), item, fit)
    won, lost, tied = Counter(), Counter(), Counter()
    for label in Label.objects.filter(project=compared, voided_at=None).exclude(outcome="skip"):
        shown = [one.item_id for one in label.presentation.presented.all()]
        if item.pk in shown:
            other = next(pk for pk in shown if pk != item.pk)
            kind = tied if label.chosen_id is None else won if label.chosen_id == item.pk else lost
            kind[other] += 1
    assert {one.item.pk: one.won for one in found.opponents if one.won} == won
    assert {one.item.pk: one.lost for one in found.opponents if one.lost} == lost
    assert {one.item.pk: one.tied for one in found.opponents if one.tied} == tied
    assert (found.outcomes["first"], found.outcomes["last"]) == (won.total(), lost.total())
    assert found.outcomes["tied"] == tied.total()
    assert [one.annotator.pseudonym for one in found.dissenters] == ["Contra"]
    assert found.dissenters[0].n_against == found.dissenters[0].n
    assert found.n_with_view == 3


def test_rivals_are_the_neighbours_with_the_posteriors_probabilities(compared):
    Item.objects.filter(project=compared, key="item-3").update(retired_at=NOW)
    alone = Item.objects.create(project=compared, key="alone", body="Alone")
    labels = read_labels(Criterion(compared))
    posterior = BradleyTerry().fit(labels.data)
    kept = nearest_rivals(posterior, labels)
    retired, single = (int(np.flatnonzero(~labels.ranked)[0]), labels.item_ids.tolist().index(alone.pk))
    assert (kept["rivals"][[retired, single]] == -1).all()
    assert retired not in kept["rivals"]
    ranked = [i for i in np.argsort(-posterior.utilities()) if i not in (retired, single)]
    middle = ranked[2]
    assert sorted(kept["rivals"][middle][kept["rivals"][middle] >= 0]) == sorted(i for i in ranked if i != middle)
    assert [i for i in kept["rivals"][ranked[0]].tolist() if i >= 0] == ranked[1:4]
    draws = posterior.sample(20_000, rng=np.random.default_rng(1))
    for row, column in zip(*np.nonzero(kept["rivals"] >= 0), strict=True):
        above = (draws[:, row] > draws[:, kept["rivals"][row, column]]).mean()
        assert kept["beats"][row, column] == pytest.approx(above, abs=0.02)  # five standard errors


def test_the_page_follows_the_item_over_the_fits(compared, alice, vera):
    Project.objects.filter(pk=compared.pk).update(estimator="BradleyTerry")
    item = compared.items.order_by("pk")[0]
    url = reverse("item", args=[compared.pk, item.pk])
    owner = signed_in(alice)
    assert "It is not in the published ranking" in owner.get(url).content.decode()
    first = fit_now(compared)
    make_labels(compared, [make_annotator(compared, "Lynx")], 12, seed=9)
    second = fit_now(compared)
    estimate = Estimate.objects.get(fit=second, item_id=item.pk)
    found = item_page(Criterion(compared), item, Fit.objects.get(pk=second.pk))
    assert [one.number for one in found.history] == [first.number, second.number]
    assert found.history[-1].utility == pytest.approx(estimate.utility, abs=1e-6)  # one part: the same zero
    assert found.history[-1].low == pytest.approx(estimate.low, abs=1e-3)
    assert len(found.rivals) == 3
    assert "rivals" not in "".join(from_bytes(keep_utilities(bytes(second.arrays))))
    html = " ".join(signed_in(vera).get(url).content.decode().split())
    assert f"Place {estimate.rank} of 6" in html
    assert "Closest rivals" in html
    assert "Contra" in html
    ranking = owner.get(reverse("ranking", args=[compared.pk])).content.decode()
    assert url in ranking


def test_another_projects_item_is_not_found(compared, alice):
    other = Project.objects.create(name="Other", question="?")
    item = Item.objects.create(project=other, key="x", body="Secret")
    assert signed_in(alice).get(reverse("item", args=[compared.pk, item.pk])).status_code == 404
