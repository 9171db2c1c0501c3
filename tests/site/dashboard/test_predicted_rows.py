"""Many predicted places take as many statements as few: on pages, through the API, in exports."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.models import Item, Project, ResultsLink
from models_engine.models import Estimate
from tests.conftest import NOW, make_items
from tests.site.api_client import Api
from tests.site.factories import make_fit
from tests.site.pages import signed_in

pytestmark = [pytest.mark.slow, pytest.mark.embedded]


def predict(project: Project, n: int) -> list[Item]:
    """A fit of forty items and n predicted ones, each by itself as fits have them."""
    project.items.all().delete()
    make_items(project, 40)
    old = list(project.items.order_by("pk"))
    new = [Item.objects.create(project=project, key=f"new {number}", body=f"Newcomer {number}") for number in range(n)]
    compared = [(item, 2.0 - place / 10, 0.4, 20) for place, item in enumerate(old)]
    fit = make_fit(project, [compared, *([(one, 0.5, 0.9, 0)] for one in new)])
    for place, one in enumerate(new):
        told = {"predicted_in": 0, "rank": 1 + place % 40, "rank_low": 1, "rank_high": 40, "part": 1}
        Estimate.objects.filter(fit=fit, item_id=one.pk).update(**told)
    return new


def statements(ask) -> int:
    ask()  # what is read once, such as a session's settings
    with CaptureQueriesContext(connection) as found:
        ask()
    return len(found)


@pytest.mark.parametrize("query", ["?q=Newcomer", "?q=Newcomer&sort=-score", "?view=plot", "?page=1"])
def test_the_ranking_page(project, alice, query):
    owner, found = signed_in(alice), []
    address = reverse("ranking", args=[project.pk]) + query
    for n in (2, 20):
        predict(project, n)
        assert ("Newcomer 0" in owner.get(address).content.decode()) == ("q=" in query)
        found.append(statements(lambda: owner.get(address)))
    assert found[0] == found[1]


def test_what_else_tells_of_them(project, alice):
    owner, api = signed_in(alice), Api(alice, project)
    link = ResultsLink.objects.create(project=project, made_at=NOW)
    found = []
    for n in (2, 45):
        first = predict(project, n)[0]
        asks = {
            "api": lambda: api("get", "ranking", page_size=100),
            "report": lambda: owner.get(reverse("report", args=[project.pk])),
            "export": lambda: b"".join(owner.get(reverse("export", args=[project.pk, "ranking", "csv"]))),
            "item": lambda pk=first.pk: owner.get(reverse("item", args=[project.pk, pk])),
            "published": lambda: owner.get(reverse("api-results", args=[link.token])),
        }
        assert len([one for one in asks["api"]().json()["results"] if one["predicted"]]) == n
        found.append({name: statements(ask) for name, ask in asks.items()})
    assert found[0] == found[1]
