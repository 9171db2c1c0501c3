"""Tracks: the items of one tag ranked among themselves by the worker, on pages and in the API."""

import csv
import io

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from annotate.criteria import Criterion
from annotate.fitting.overall import load_criterion
from annotate.fitting.tracks import choose_tracks
from annotate.items.bulk_actions import tag_items
from annotate.models import OVERALL, DerivedRanking, FitState, Project, Tag
from models_engine.models import Estimate, Fit
from tests.conftest import NOW, make_annotator
from tests.site.api_client import Api
from tests.site.fitting.test_criteria import CRITERIA, answer_all, fit_now
from tests.site.pages import page, signed_in
from tests.site.replay import replay

EVEN = ["item-0", "item-2", "item-4"]


@pytest.fixture
def fitted(project) -> Project:
    """Six items by two criteria; three of them carry the tag “even”, one the tag “alone”."""

    def write() -> None:
        Project.objects.filter(pk=project.pk).update(criteria=CRITERIA, estimator="BradleyTerry", overlap=30, top_k=2)
        tagged = Project.objects.get(pk=project.pk)
        for name, keys in (("even", EVEN), ("alone", ["item-5"])):
            tagged.items.filter(key__in=keys)[0].tags.add(Tag.objects.create(project=tagged, name=name))
            for item in tagged.items.filter(key__in=keys)[1:]:
                item.tags.add(Tag.objects.get(name=name))
        answer_all(tagged, make_annotator(tagged, "Otter"), 15)
        fit_now(tagged)

    replay("tracks", write)
    project.refresh_from_db()
    return project


def test_places_within_a_track_are_those_of_the_posterior(fitted):
    """Against draws of the stored posterior, ranked among the track's items here."""
    row = DerivedRanking.objects.get(project=fitted, criterion=1, track="even")
    fit = Fit.objects.get(number=row.fit_number)
    own = load_criterion(Criterion(fitted), fit)
    place = {item: n for n, item in enumerate(own.item_ids.tolist())}
    chosen = [place[item] for item in row.columns["item_id"]]
    draws = own.posterior.utilities() + own.posterior.spread.sample(20_000, np.random.default_rng(3))
    ranks = (-draws[:, chosen]).argsort(axis=1).argsort(axis=1) + 1
    assert row.columns["rank"] == [1, 2, 3]
    assert row.columns["p_first"] == pytest.approx((ranks == 1).mean(axis=0), abs=0.04)
    assert row.columns["p_top"] == pytest.approx((ranks <= 2).mean(axis=0), abs=0.04)
    assert row.columns["rank_low"] == np.quantile(ranks, 0.05, axis=0, method="lower").tolist()
    scores = dict(Estimate.objects.filter(fit=fit).values_list("item_id", "score"))
    assert row.columns["score"] == [scores[item] for item in row.columns["item_id"]]
    assert set(DerivedRanking.objects.values_list("criterion", "track")) == {
        *((number, "even") for number in (OVERALL, 1, 2)),
        (OVERALL, ""),
    }


def test_a_tag_of_one_item_or_of_all_is_no_track():
    tags = {"all": {1, 2, 3}, "one": {1}, "two": {2, 3, 9}}
    assert {name: items.tolist() for name, items in choose_tracks(tags, {1, 2, 3}).items()} == {"two": [2, 3]}


def test_the_ranking_filtered_by_the_tag_shows_places_within_it(fitted, alice):
    client = signed_in(alice)
    html = page(client, fitted, "ranking", "?tag=even")
    assert [part.partition('"')[0] for part in html.split('data-rank="')[1:]] == ["1", "2", "3"]
    assert "Within <bdi>“even”</bdi>" in html
    assert "Chance to be first" in html
    alone = page(client, fitted, "ranking", "?tag=alone")
    assert 'data-rank="6"' in alone
    assert "Places are those among all items" in alone
    assert "Chance to be first" not in page(client, fitted, "ranking", "?tag=even&q=Text")
    assert 'data-rank="3"' in page(client, fitted, "ranking", "?tag=even&sort=-p_top_k&view=table")


def test_the_overall_ranking_has_tracks_too(fitted, alice):
    client = signed_in(alice)
    html = page(client, fitted, "overall", "?track=even")
    assert [part.partition('"')[0] for part in html.split('data-item="')[1:]][:1] in ([key] for key in EVEN)
    assert html.count("<tr data-item=") == 3
    assert 'aria-current="true">even</a>' in html
    assert "Nothing is ranked within “odd” yet" in page(client, fitted, "overall", "?track=odd")


def test_the_api_takes_a_track(fitted, alice):
    ask = Api(alice, fitted)
    told = ask("get", "ranking", track="even").json()["results"]
    assert [(one["item"], one["rank"]) for one in told] == list(zip(EVEN, (1, 2, 3), strict=True))
    assert sum(one["p_first"] for one in told) == pytest.approx(1)
    assert "Nothing is ranked within “odd”." in ask("get", "ranking", track="odd").content.decode()
    assert ask("get", "ranking", track="even", tag="even").status_code == 422
    overall = ask("get", "overall", track="even").json()
    assert (overall["tracks"], len(overall["results"])) == (["even"], 3)


def test_tagging_asks_for_a_fit_that_ranks_the_track(fitted, alice):
    wanted = FitState.objects.get(project=fitted).wanted
    items = list(fitted.items.filter(key__in=["item-1", "item-3"]).values_list("pk", flat=True))
    tag_items(project=fitted, actor=alice, items=items, names=["odd"], now=NOW)
    assert FitState.objects.get(project=fitted).wanted == wanted + 1
    FitState.objects.update(not_before=None)
    fit_now(fitted)
    assert DerivedRanking.objects.filter(project=fitted, criterion=1, track="odd").exists()


def test_export_and_link_show_a_track_and_nothing_else(fitted, alice):
    client = signed_in(alice)
    response = client.get(reverse("export", args=[fitted.pk, "tracks", "csv"]))
    lines = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode("utf-8-sig"))))
    assert [(line["track"], line["item"], line["rank"]) for line in lines] == [
        ("even", key, str(n)) for n, key in enumerate(EVEN, 1)
    ]
    for criterion in ("1", "0"):
        client.post(reverse("results-links", args=[fitted.pk]), {"criterion": criterion, "track": "even"})
        link = fitted.results_links.get(criterion=criterion)
        for name in ("results", "results-live", "api-results"):
            html = Client().get(reverse(name, args=[link.token])).content.decode()
            shown = {n for n in range(6) if f"Text number {n}" in html}
            assert shown == {0, 2, 4}, (criterion, name)
    refused = Api(alice, fitted)("post", "results-links", {"track": "odd"})
    assert "The project has no tag “odd”." in refused.content.decode()
    fitted.results_links.update(track="alone")
    other = fitted.results_links.get(criterion=1)
    assert "No ranking yet." in Client().get(reverse("results", args=[other.token])).content.decode()
