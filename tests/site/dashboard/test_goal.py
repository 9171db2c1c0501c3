"""The goal: set by the owner, forecast by each fit, told on the Progress page and to webhooks; what labels cost."""

import json
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.criteria import Criterion
from annotate.dashboard.trust.coverage import heat_map
from annotate.fitting import run as fitting_run
from annotate.fitting import scheduling
from annotate.fitting.goal_measures import measured_error
from annotate.fitting.reading import read_labels
from annotate.models import IMPORTED_APP_VERSION, Event, FitState, ItemSet, Label, Project, Webhook, WebhookDelivery
from annotate.projects.actions import change_project
from annotate.quality.flags.notices import notify_new_flags
from models_engine.analysis.done import threshold
from models_engine.analysis.stopping_errors import stopping_error
from models_engine.data import Comparisons
from models_engine.models import Fit
from tests.conftest import NOW, make_annotator
from tests.site.api_client import Api
from tests.site.factories import make_labels, spread_fit
from tests.site.pages import page, signed_in


def answers(project: Project, n: int, seed: int = 0, start=NOW, right: float = 0.8) -> list[Label]:
    """Labels by five people who prefer the items made first."""
    people = list(project.annotators.all()) or [make_annotator(project, f"Otter {i}") for i in range(5)]
    rng = np.random.default_rng(seed)
    labels = make_labels(project, people, n, seed=seed, start=start)
    for label in labels:
        shown = sorted(one.item_id for one in label.presentation.presented.all())
        label.chosen_id = shown[int(rng.random() > right)]
    Label.objects.bulk_update(labels, ["chosen_id"])
    return labels


def fit_now(project: Project) -> Fit:
    state, _ = FitState.objects.get_or_create(project=project)
    FitState.objects.filter(pk=state.pk).update(wanted=state.wanted + 1, not_before=None)
    claim = scheduling.claim_next(owner="test", now=timezone.now(), pause=timedelta(0))
    return fitting_run.run(claim, progress=lambda *_: True)


@pytest.fixture
def plain(project) -> Project:
    project.estimator, project.top_k = "BradleyTerry", 2
    project.save()
    return project


def set_goal(project: Project, alice, **values) -> None:
    change_project(project=project, actor=alice, values=values, now=NOW)
    project.refresh_from_db()


def kept(fit: Fit) -> dict:
    return Fit.objects.get(pk=fit.pk).diagnostics["goal"]


@pytest.mark.embedded
@pytest.mark.slow
def test_a_width_is_too_early_then_forecast_then_met(plain, alice):
    Webhook.objects.create(project=plain, url="https://example.org/x", events=["goal.met"], created_at=NOW)
    set_goal(plain, alice, goal="width", goal_width=6, price=Decimal("0.1"), currency="EUR")
    answers(plain, 20)
    assert kept(fit_now(plain))["why"] == "early"
    assert "Too early to forecast" in page(signed_in(alice), plain, "progress")
    answers(plain, 20, seed=1)
    fit_now(plain)
    answers(plain, 20, seed=2, start=timezone.now() - timedelta(minutes=30))
    low, middle, high = kept(fit_now(plain))["needed"]
    assert 0 <= low <= middle <= high
    html = page(signed_in(alice), plain, "progress")
    assert f"About {middle} more answers are needed." in html
    assert "can't be forecast at present" in html.replace("&#x27;", "'")
    assert "<strong>6.00 EUR</strong>" in html
    assert f"<strong>{(60 + middle) / 10:.2f} EUR</strong>" in html
    answers(plain, 400, seed=3)
    assert not kept(fit_now(plain))["met"], "one ranking within the rule is not enough"
    html = page(signed_in(alice), plain, "progress")
    assert "This ranking has reached it. Rankings over 50 answers must agree: about 50 more answers." in html
    assert "said once the widest interval is" in html
    answers(plain, 30, seed=4)
    goal = kept(fit_now(plain))
    assert (goal["met"], goal["needed"]) == (False, [20, 20, 20])
    answers(plain, 20, seed=5)
    assert kept(fit_now(plain))["met"]
    assert "You can stop now." in page(signed_in(alice), plain, "progress")
    answers(plain, 5, seed=6)
    assert kept(fit_now(plain))["met"]
    told = [json.loads(body) for body in WebhookDelivery.objects.values_list("body", flat=True)]
    assert [one["type"] for one in told] == ["goal.met"]
    assert told[0]["data"]["goal"] == "width"
    assert told[0]["data"]["n_labels"] == 510


@pytest.mark.embedded
def test_how_often_it_is_too_early_is_told_by_number_or_not_at_all(plain, alice):
    """What a fit keeps is what simulations showed of its estimator; other estimators' goals claim nothing."""
    set_goal(plain, alice, goal="reliability", goal_reliability=0.8)
    change_project(project=plain, actor=alice, values={"estimator": "GPPL"}, now=NOW)
    answers(plain, 60)
    fit = fit_now(plain)
    assert kept(fit)["error"] is None
    unknown = Api(alice, plain)("get", "goal").json()
    assert unknown["stopping_error"] is None
    assert "How often it is said too early was not measured for this goal with this estimator" in unknown["rule"]
    told = {"share": 0.05, "low": 0.03, "high": 0.08, "n_said": 1200}
    fit.diagnostics["goal"]["error"] = told
    fit.save(update_fields=["diagnostics"])
    words = "it was said of 1,200 projects, and too early of 5% of them (90% interval: 3% to 8%)"
    assert words in page(signed_in(alice), plain, "progress")
    assert Api(alice, plain)("get", "goal").json()["stopping_error"] == told


@pytest.mark.embedded
def test_sets_of_more_than_two_claim_no_measured_error(plain):
    answers(plain, 60)
    plain.goal, plain.estimator = "reliability", "BradleyTerry"
    labels = read_labels(Criterion(plain))
    known = stopping_error("reliability", "BradleyTerry", adaptive=False)
    assert measured_error(plain, "BradleyTerry", labels) == known
    of_three = Comparisons.from_rankings([[0, 1, 2], [2, 1, 0]], [0, 0], n_items=3)
    assert measured_error(plain, "BradleyTerry", replace(labels, data=of_three)) is None
    plain.goal = "comparisons"
    assert measured_error(plain, "BradleyTerry", labels) is None


@pytest.mark.embedded
def test_a_width_means_the_same_by_every_estimator(plain, alice):
    """GPPL's utilities are in probits, about 1.7 times as large as the same difference in logits."""
    set_goal(plain, alice, goal="width", goal_width=0.1)
    answers(plain, 200)
    widths, plainly = {}, {}
    for estimator in ("BradleyTerry", "GPPL"):
        change_project(project=plain, actor=alice, values={"estimator": estimator}, now=NOW)
        fit = fit_now(plain)
        widths[estimator] = kept(fit)["state"]
        plainly[estimator] = max(row.high - row.low for row in fit.estimates.all())
    assert plainly["BradleyTerry"] > 1.4 * plainly["GPPL"]
    assert widths["GPPL"] == pytest.approx(widths["BradleyTerry"], rel=0.25)


@pytest.mark.embedded
def test_only_labels_that_tell_something_bring_the_goal_nearer(plain, alice):
    set_goal(plain, alice, goal="comparisons", goal_comparisons=60)
    answers(plain, 30)
    people = list(plain.annotators.all())
    make_labels(plain, people, 25, seed=5, outcome="skip", chosen=None)
    middle = kept(fit_now(plain))["needed"][1]
    assert f"About {middle} more answers are needed." in page(signed_in(alice), plain, "progress")
    just_now = timezone.now() - timedelta(seconds=3)  # a label comes three seconds later
    make_labels(plain, people, 10, seed=6, start=just_now, every=timedelta(0), outcome="skip", chosen=None)
    make_labels(plain, people, 12, seed=7, start=just_now, every=timedelta(0))
    html = page(signed_in(alice), plain, "progress")
    assert f"About {middle - 12} more answers are needed." in html


@pytest.mark.embedded
@pytest.mark.slow
def test_the_top_is_met_where_it_is_probably_right_in_two_rankings(plain, alice):
    set_goal(plain, alice, goal="top")
    answers(plain, 30, right=0.6)
    goal = kept(fit_now(plain))
    assert (goal["met"], goal["looks"]) == (False, [])
    assert goal["wrong"] > goal["limit"] == threshold("top", 0.1, plain=True)
    answers(plain, 900, seed=1, right=0.9)
    goal = kept(fit_now(plain))
    assert (goal["met"], goal["looks"]) == (False, [[930, goal["wrong"]]])
    assert goal["wrong"] <= goal["limit"]
    answers(plain, 50, seed=2, right=0.9)
    assert kept(fit_now(plain))["met"]


def test_a_top_of_all_items_is_refused_and_never_met(plain, alice):
    """Bad input of an owner: as many best as there are items."""
    response = Api(alice, plain)("patch", "goal", {"goal": "top"})
    assert response.status_code == 200
    n = plain.items.count()
    plain.refresh_from_db()
    plain.top_k = n
    plain.save()
    told = Api(alice, plain)("patch", "goal", {"goal": "top"})
    assert told.status_code == 422
    assert f"The top is {n} of {n} items, so there is nothing to find." in str(told.json()["errors"]["goal"])
    answers(plain, 60)
    goal = kept(fit_now(plain))
    assert (goal["met"], goal["why"], goal["needed"]) == (False, "few", None)
    html = page(signed_in(alice), plain, "progress")
    assert "The top has as many items as there are" in html
    assert "You can stop" not in html.replace("“You can stop”", "")


@pytest.mark.embedded
def test_parts_that_nothing_connects_have_no_top(plain, alice):
    set_goal(plain, alice, goal="top")
    labels = answers(plain, 60)
    first = {item.pk for item in plain.items.order_by("pk")[:3]}
    across = [
        label.pk
        for label in labels
        if len({one.item_id in first for one in label.presentation.presented.all()}) == 2
    ]  # fmt: skip
    Label.objects.filter(pk__in=across).update(voided_at=NOW, void_reason="excluded")
    assert kept(fit_now(plain))["why"] == "parts"


def test_comparisons_are_counted_from_the_first_fit(plain, alice):
    set_goal(plain, alice, goal="comparisons", goal_comparisons=30)
    answers(plain, 30)
    goal = kept(fit_now(plain))
    compared = sorted(fit_row.n_comparisons for fit_row in Fit.objects.get().estimates.all())
    assert goal["state"] == compared[0]
    assert goal["needed"][1] == -(-sum(30 - n for n in compared) // 2)


def test_a_plan_is_done_when_every_set_has_its_annotators(plain, alice):
    set_goal(plain, alice, goal="plan", n_sets=15, overlap=2)
    answers(plain, 40)
    sets = list(ItemSet.objects.filter(project=plain, place__isnull=False))
    assert len(sets) == 15
    ItemSet.objects.filter(project=plain).update(n_taken=1)
    goal = kept(fit_now(plain))
    assert (goal["met"], goal["needed"]) == (False, [15, 15, 15])
    assert "0 of 15 have been answered by 2 annotators; 15 answers still needed" in page(
        signed_in(alice), plain, "progress"
    )
    ItemSet.objects.filter(project=plain).update(n_taken=3)
    assert kept(fit_now(plain))["met"]


def test_the_owner_sets_goal_and_price(project, alice, vera):
    client, url = signed_in(alice), reverse("goal", args=[project.pk])
    values = {"goal": "width", "goal_width": "", "price": "12", "price_per": "hour", "currency": "euros"}
    response = client.post(url, values)
    assert response.status_code == 400
    html = response.content.decode()
    assert "Enter the widest interval allowed" in html
    assert "Write the currency as three letters" in html
    assert "no planned sets" in client.post(url, values | {"goal": "plan", "currency": "usd"}).content.decode()
    assert client.post(url, values | {"goal_width": "0.8", "currency": "usd"}).status_code == 302
    project.refresh_from_db()
    assert (project.goal, project.goal_width, project.price, project.currency) == ("width", 0.8, 12, "USD")
    assert Event.objects.get(verb="settings changed").details["price"] == [None, "12"]
    make_labels(project, [make_annotator(project, "Otter")], 20, response_ms=36_000, active_ms=18_000)
    make_labels(project, [make_annotator(project, "Mink")], 3, voided_at=NOW, void_reason="undone", active_ms=10**6)
    make_labels(project, [make_annotator(project, "Stoat")], 4, app_version=IMPORTED_APP_VERSION, active_ms=10**6)
    html = page(client, project, "progress")
    assert "<strong>1.20 USD</strong>" in html  # 20 answers of 18 s at 12 an hour; none taken back or imported
    assert "12.00 USD per hour of active time, 20 answers given" in html
    assert "6 min" in html
    assert ">200<" in html  # labels in an active hour
    assert url not in page(signed_in(vera), project, "progress")


def test_the_heat_map_counts_each_pair_once(plain, alice):
    labels = answers(plain, 50)
    fit = fit_now(plain)
    found = Fit.objects.get(pk=fit.pk).diagnostics["compared"]
    assert found["sizes"] == [1] * 6
    assert sum(map(sum, found["pairs"])) == 50
    first, second = fit.estimates.filter(rank__in=[1, 2]).order_by("-utility").values_list("item_id", flat=True)
    together = sum(
        {one.item_id for one in label.presentation.presented.all()} == {first, second} for label in labels
    )  # fmt: skip
    assert found["pairs"][1][0] == together
    html = page(signed_in(alice), plain, "progress")
    assert f"Places 1 and 2: {together} comparisons" in html
    assert 'class="heat-0"' in html


def test_many_items_are_shown_in_blocks(project, alice):
    sizes = [6] * 10 + [5] * 10
    pairs = [[5] * (row + 1) for row in range(20)]
    pairs[0][0] = 30
    spread_fit(project, list(project.items.all()), diagnostics={"compared": {"sizes": sizes, "pairs": pairs}})
    make_labels(project, [make_annotator(project, "Otter")], 5)
    html = page(signed_in(alice), project, "progress")
    assert "in blocks of neighbours" in html
    assert "Places 1–6 and 1–6: 30 comparisons, 2.0 of each pair" in html
    assert "Places 1–6 and 106–110: 5 comparisons, 0.17 of each pair" in html


def test_webhooks_are_told_of_a_flag_once(project):
    hook = Webhook.objects.create(
        project=project, url="https://example.org/x", events=["fit.published"], created_at=NOW
    )
    hasty, calm = make_annotator(project, "Hasty"), make_annotator(project, "Calm")
    make_labels(project, [hasty], 20, response_ms=300)
    make_labels(project, [calm], 20, response_ms=5_000)
    assert notify_new_flags(project=project, since=None, now=NOW) == 0
    hook.events = ["annotator.flagged"]
    hook.save()
    assert notify_new_flags(project=project, since=None, now=NOW) == 1
    data = json.loads(WebhookDelivery.objects.get().body)["data"]
    assert (data["annotator"], data["flag"]) == (str(hasty.key), "too_fast")
    assert "under 1.0 s" in data["why"]
    assert notify_new_flags(project=project, since=None, now=NOW) == 0
    assert notify_new_flags(project=project, since=NOW + timedelta(days=1), now=NOW) == 0
    hasty.refresh_from_db()
    assert hasty.flagged == ["too_fast"]


def test_rare_comparisons_keep_two_digits_in_the_legend():
    """A map of 1,200 items, where no pair of blocks was compared often enough for one decimal."""
    fit = Fit(diagnostics={"compared": {"sizes": [600, 600], "pairs": [[100], [3600, 50]]}})
    assert [shade.words for shade in heat_map(fit).shades] == [
        "none", "up to 0.0020", "up to 0.0040", "up to 0.0060", "up to 0.0080", "up to 0.010",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sizes", "pairs", "words"),
    [
        ([1, 1, 1], [[0], [3, 0], [7, 1, 0]], ["none", "up to 2", "up to 4", "up to 6", "up to 8"]),
        ([1, 1, 1], [[0], [1, 0], [2, 1, 0]], ["none", "up to 1", "up to 2"]),
        ([2, 2], [[7], [12, 3]], ["none", "up to 2", "up to 4", "up to 6", "up to 8"]),
        ([1, 1], [[0], [0, 0]], ["none"]),
    ],
)
def test_the_legend_has_round_numbers_and_no_shade_that_is_not_drawn(sizes, pairs, words):
    heat = heat_map(Fit(diagnostics={"compared": {"sizes": sizes, "pairs": pairs}}))
    assert [shade.words for shade in heat.shades] == words
    assert max(cell.level for line in heat.lines for cell in line.cells) == len(words) - 1
