"""The picture beside a shared link: gone with the link, the names and the words that it shows."""

import pytest
from django.test import Client
from django.urls import reverse

from annotate.models import Project, ResultsLink
from tests.conftest import NOW
from tests.site.factories import spread_fit

pytestmark = pytest.mark.embedded


@pytest.fixture
def address(project) -> str:
    spread_fit(project, list(project.items.order_by("pk")))
    link = ResultsLink.objects.create(project=project, made_at=NOW)
    return reverse("results-card", args=[link.token])


def test_no_cache_on_the_way_keeps_it(address):
    kept = Client().get(address)["Cache-Control"]
    assert "no-store" in kept
    assert "public" not in kept


def test_a_withdrawn_name_is_not_drawn_again(project, address):
    before = Client().get(address).content
    assert Client().get(address).content == before
    Project.objects.filter(pk=project.pk).update(name="Renamed")
    renamed = Client().get(address).content
    assert renamed != before
    project.items.order_by("pk").update(name="Someone else")
    assert Client().get(address).content != renamed
