"""The first page: a duel between items of a real project, which stores nothing; and what a site without one shows."""

import re

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from annotate.models import Annotator, Label, Presentation
from models_engine.models import Estimate
from tests.site.factories import spread_fit

HOME = reverse("home")


@pytest.fixture
def landing(project, settings):
    """The project, with a ranking whose first item is surely first, on the first page."""
    settings.LANDING_PROJECT = project.pk
    spread_fit(project, list(project.items.all()), sd=0.31)
    cache.clear()
    return project


def read(query: str = "") -> str:
    return Client().get(HOME + query).content.decode()


def test_two_items_and_the_first_places_are_shown(landing):
    page = read()
    assert landing.question in page
    assert len(re.findall(r'class="duel-choice"', page)) == 2
    first = Estimate.objects.get(fit__project_id=landing.pk, rank=1)
    leaders = page.partition('class="leaders"')[2]
    assert landing.items.get(pk=first.item_id).body in leaders.partition("</li>")[0]


def test_a_choice_is_set_beside_what_the_ranking_says_and_stores_nothing(landing):
    ordered = list(
        Estimate.objects.filter(fit__project_id=landing.pk).order_by("rank").values_list("item_id", flat=True)
    )
    pair = f"?left={ordered[0]}&right={ordered[-1]}"
    assert "Most people would agree with you." in read(pair + "&chosen=left")
    page = read(pair + "&chosen=right")
    assert "Most people would choose the other one." in page
    assert reverse("join", args=[landing.join_token]) in page
    for model in (Annotator, Presentation, Label):
        assert not model.objects.exists()


def test_scores_that_do_not_fall_from_place_to_place_are_explained(landing):
    said = "can therefore have a lower score than one just below it"
    assert said not in read()
    Estimate.objects.filter(fit__project_id=landing.pk, rank=2).update(score=5)
    cache.clear()
    assert said in read()


def test_places_are_counted_among_all_ranked_items_also_those_too_long_to_show(landing):
    ordered = list(
        Estimate.objects.filter(fit__project_id=landing.pk).order_by("rank").values_list("item_id", flat=True)
    )
    landing.items.filter(pk=ordered[1]).update(body="long " * 60)
    page = read(f"?left={ordered[0]}&right={ordered[-1]}&chosen=left")
    assert "Place 1 of 6" in page
    assert "of 5" not in page


@pytest.mark.parametrize(
    "query", ["?left=1&right=1", "?left=x&right=%00", "?left=999999&right=2&chosen=left", "?chosen=left"]
)
def test_any_other_query_gives_a_fresh_duel(landing, query):
    assert len(re.findall(r'class="duel-choice"', read(query))) == 2


@pytest.mark.parametrize("change", [{"state": "closed"}, {"state": "draft"}])
def test_a_project_that_is_not_open_is_not_shown(landing, change):
    type(landing).objects.update(**change)
    assert "duel-choice" not in read()


def test_without_a_project_the_page_says_what_it_is_for(db):
    page = read()
    assert "duel" not in page
    assert "Best-worst scaling" in page


def test_the_ranking_is_read_once_for_many_visitors(landing, django_assert_num_queries):
    read()
    with django_assert_num_queries(0):
        read()
