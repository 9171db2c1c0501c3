"""Items that nobody can decide and annotators who are undecided more often: found by the fit, listed, in the API."""

import csv
import html
import io
from datetime import timedelta

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.dashboard.trust.undecided import undecided_summary
from annotate.fitting import run as fitting_run
from annotate.fitting import scheduling
from annotate.fitting.stored_undecided import stored_undecided
from annotate.fitting.undecided import MIN_UNDECIDED
from annotate.models import FitState, Label, Project
from models_engine.models import Fit
from tests.conftest import make_annotator
from tests.site.api_client import Api
from tests.site.factories import make_labels
from tests.site.pages import page, signed_in

pytestmark = pytest.mark.embedded


def fitted(project: Project, *, hard: float = 0.7, often: float = 0.5, rest: float = 0.04) -> Fit:
    """Eight annotators. Answers about the third item are undecided with the chance `hard`, those of the last annotator
    with `often`, all others with `rest`; of these every other is a tie, the rest is skipped."""
    Project.objects.filter(pk=project.pk).update(estimator="BradleyTerry", outcomes=["tie", "skip"])
    rng = np.random.default_rng(4)
    people = [make_annotator(project, f"Otter {i}") for i in range(8)]
    third = project.items.order_by("pk")[2].pk
    labels = make_labels(project, people, 480)
    for label in labels:
        shown = sorted(one.item_id for one in label.presentation.presented.all())
        label.chosen_id = shown[0]
        chance = hard if third in shown else often if label.annotator_id == people[-1].pk else rest
        if rng.random() < chance:
            label.outcome = rng.choice([Label.Outcome.TIE, Label.Outcome.SKIP])
            label.chosen_id = None
    Label.objects.bulk_update(labels, ["chosen_id", "outcome"])
    FitState.objects.get_or_create(project=project, defaults={"wanted": 1})
    claim = scheduling.claim_next(owner="test", now=timezone.now(), pause=timedelta(0))
    fitting_run.run(claim, progress=lambda *_: True)
    return Fit.objects.get(project_id=project.pk, published=True)


def shown(client: Client, name: str, *args: object) -> str:
    return html.unescape(client.get(reverse(name, args=args)).content.decode())


def table_of(client: Client, project: Project, name: str) -> list[dict[str, str]]:
    response = client.get(reverse("export", args=[project.pk, name, "csv"]))
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))


@pytest.mark.slow
def test_what_is_hard_and_who_is_undecided_are_told_apart(project, alice):
    fit = fitted(project)
    third = project.items.order_by("pk")[2]
    found = undecided_summary(fit)
    assert [one.item for one in found.items] == [third]
    assert [one.annotator.pseudonym for one in found.annotators] == ["Otter 7"]
    times = found.items[0].times
    assert 1 < times.low < times.value < times.high
    about = Label.objects.filter(project=project, presentation__presented__item=third)
    assert times.n == about.count()
    assert times.n_undecided == about.filter(outcome__in=["tie", "skip"]).count()
    assert found.n_undecided == Label.objects.filter(project=project, outcome__in=["tie", "skip"]).count()
    text = page(signed_in(alice), project, "trust")
    assert "1 item is hard to judge, whoever sees it" in text
    assert "1 annotator is undecided more often than the items explain" in text
    told = Api(alice, project)("get", "trust").json()["undecided"]
    assert [row["item"] for row in told["items"]] == [third.key]
    assert told["annotators"][0]["annotator"] == "Otter 7"
    assert told["n_undecided"] == found.n_undecided


@pytest.mark.slow
def test_pages_exports_and_api_say_it_of_each(project, alice):
    fit, client, api = fitted(project), signed_in(alice), Api(alice, project)
    third = project.items.order_by("pk")[2]
    often = project.annotators.get(pseudonym="Otter 7")
    of_items, of_people = stored_undecided(fit, "items"), stored_undecided(fit, "annotators")
    assert set(of_items) == set(project.items.values_list("pk", flat=True))
    assert set(of_people) == set(project.annotators.values_list("pk", flat=True))
    assert max(of_items, key=lambda pk: of_items[pk].value) == third.pk
    assert max(of_people, key=lambda pk: of_people[pk].value) == often.pk
    assert all(0 < one.low < one.value < one.high for one in [*of_items.values(), *of_people.values()])

    assert of_items[third.pk].words in shown(client, "item", project.pk, third.pk)
    assert of_people[often.pk].words in shown(client, "annotator", project.pk, often.key)
    listed = page(client, project, "annotators")
    assert listed.count("Often undecided: ") == 2  # the flag, and what it means
    assert of_people[often.pk].words in listed

    exported = {row["item"]: row for row in table_of(client, project, "ranking")}
    assert float(exported[third.key]["undecided"]) == pytest.approx(of_items[third.pk].value)
    people = {row["annotator"]: row for row in table_of(client, project, "annotators")}
    assert float(people["Otter 7"]["undecided_low"]) == pytest.approx(of_people[often.pk].low)
    ranked = {row["item"]: row for row in api("get", "ranking").json()["results"]}
    assert ranked[third.key]["undecided_high"] == pytest.approx(of_items[third.pk].high)
    assert api("get", "annotator", args=[often.key]).json()["undecided"] == pytest.approx(of_people[often.pk].value)
    figures = api("get", "item-figures", args=[third.pk]).json()["undecided"]
    assert (figures["times"], figures["n"]) == (pytest.approx(of_items[third.pk].value), of_items[third.pk].n)


@pytest.mark.slow
def test_where_all_are_alike_nobody_is_listed(project):
    found = undecided_summary(fitted(project, hard=0.15, often=0.15, rest=0.15))
    assert found.items == []
    assert found.annotators == []
    assert "as chance would have it" in found.sentence


@pytest.mark.slow
def test_nothing_is_said_of_few_undecided_answers(project, alice):
    fit = fitted(project, hard=0.01, often=0.01, rest=0.01)
    assert Label.objects.filter(project=project, outcome__in=["tie", "skip"]).count() < MIN_UNDECIDED
    assert undecided_summary(fit) is None
    assert "Hard to decide" not in page(signed_in(alice), project, "trust")
    assert stored_undecided(fit, "items") == stored_undecided(fit, "annotators") == {}
    assert "as often as on average" not in shown(signed_in(alice), "item", project.pk, project.items.first().pk)
    assert {row["undecided"] for row in table_of(signed_in(alice), project, "ranking")} == {""}
