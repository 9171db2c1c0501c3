"""Simple or expert results: chosen on a page or in the account menu, remembered with the account."""

import pytest
from django.urls import reverse

from annotate.models import User
from tests.site.factories import spread_fit
from tests.site.pages import signed_in

pytestmark = pytest.mark.django_db


def choose(client, detail: str, back: str = "/"):
    return client.post(reverse("detail"), {"detail": detail, "next": back})


def test_the_choice_is_kept_and_leads_back(alice, project):
    client, here = signed_in(alice), reverse("ranking", args=[project.pk]) + "?page=2"
    response = choose(client, "expert", here)
    assert (response.status_code, response["Location"]) == (302, here)
    assert User.objects.get(pk=alice.pk).is_expert
    choose(client, "expert")  # sent twice
    assert User.objects.get(pk=alice.pk).is_expert
    choose(client, "simple")
    assert not User.objects.get(pk=alice.pk).is_expert


@pytest.mark.parametrize("back", ["https://example.org/", "//example.org/", "javascript:alert(1)", ""])
def test_it_leads_nowhere_else(alice, back):
    assert choose(signed_in(alice), "expert", back)["Location"] == reverse("home")


def test_anything_but_expert_is_simple(alice):
    User.objects.update(is_expert=True)
    choose(signed_in(alice), "<b>")
    assert not User.objects.get(pk=alice.pk).is_expert


@pytest.mark.parametrize("name", ["ranking", "report"])
def test_each_page_shows_utilities_to_experts_only(alice, project, name):
    spread_fit(project, list(project.items.all()))
    client, address = signed_in(alice), reverse(name, args=[project.pk])
    assert "Utility" not in client.get(address).content.decode().partition("</h1>")[2].replace("Utility, ", "")
    User.objects.update(is_expert=True)
    assert "Utility" in client.get(address).content.decode().replace("Utility, ", "")


def test_an_items_page_shows_its_utility_to_experts_only(alice, project):
    items = list(project.items.all())
    spread_fit(project, items)
    client, address = signed_in(alice), reverse("item", args=[project.pk, items[0].pk])
    html = client.get(address).content.decode()
    assert "<dt>Score</dt>" in html
    assert "<dt>Utility</dt>" not in html
    User.objects.update(is_expert=True)
    assert "<dt>Utility</dt>" in client.get(address).content.decode()
