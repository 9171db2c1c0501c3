"""Every page about a project of 1,200 items is small at first sight, and asks the database seldom."""

import random
import time

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotate.items.actions import add_items
from annotate.items.rows import NewItem
from annotate.models import Annotator, Item, Project, User
from tests.conftest import NOW, make_annotator
from tests.site.factories import estimate_annotator, make_labels, make_overall, spread_fit
from tests.site.pages import page, signed_in
from tests.site.replay import replay
from tests.site.test_access import RULES
from tests.site.test_query_counts import address

N_ITEMS, N_PEOPLE, N_LABELS = 1_200, 150, 3_000
MAX_BYTES, MAX_QUERIES = 60_000, 40
PAGES = sorted(name for name, (get, _) in RULES.items() if get)
TEXT = "A text of middling length, such as people write into a survey when they are asked for a reason. "


def make_large(project: Project, owner: User) -> None:
    """Fill the project with items of a hundred characters, people, the owner first, answers, a fit and a total."""
    project.grades = [{"name": "A", "limit": 60.0}, {"name": "B", "limit": 40.0}, {"name": "C", "limit": None}]
    project.save()
    project.items.all().delete()
    rows = [
        NewItem(n, f"item-{n:04}", f"{TEXT}Number {n}.", "text", title=f"Title of item {n}", tags=(f"tag {n % 12}",))
        for n in range(N_ITEMS)
    ]
    items = add_items(project, rows, NOW, random.Random(1))
    own = make_annotator(project, "Alice", user=owner, source=Annotator.Source.ACCOUNT)
    people = [own, *(make_annotator(project, f"Somebody with number {n}") for n in range(N_PEOPLE))]
    make_labels(project, people, N_LABELS)
    fit = spread_fit(project, items)
    for person in people:
        estimate_annotator(fit, person)
    make_overall(project, fit)


def make_more(project: Project, n: int) -> list[Item]:
    return Item.objects.bulk_create(Item(project=project, key=f"more-{i}", body=f"More {i}") for i in range(n))


def measured(client: Client, url: str) -> tuple[int, int, int] | None:
    """Bytes, queries and milliseconds of CPU of a page; None of what is none."""
    start = time.process_time()
    with CaptureQueriesContext(connection) as queries:
        response = client.get(url)
    if response.streaming or not response.get("Content-Type", "").startswith("text/html"):
        return None
    return len(response.content), len(queries), round(1000 * (time.process_time() - start))


def is_large(figures: tuple[int, int, int]) -> bool:
    return figures[0] > MAX_BYTES or figures[1] > MAX_QUERIES


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize(
    ("detail", "language"), [("simple", "en"), pytest.param("expert", "de", marks=pytest.mark.embedded)]
)
def test_pages_of_many_items_are_small_at_first_sight(project, alice, detail, language):
    """With -s it prints bytes, queries and milliseconds of CPU of the largest, which are not asserted."""
    replay("large", lambda: make_large(project, alice))
    own = Annotator.objects.get(project=project, user=alice)
    User.objects.filter(pk=alice.pk).update(is_expert=detail == "expert")
    client = signed_in(alice)
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = language
    found = {}
    for name in PAGES:
        url = address(name, project, own)
        figures = measured(client, url)
        if figures and is_large(figures):  # what is cached per process or per session is not the page's
            figures = measured(client, url)
        if figures:
            found[name] = figures
    print(*sorted(((*figures, name) for name, figures in found.items()), reverse=True)[:12], sep="\n")
    assert len(found) > 80
    assert {name: one for name, one in found.items() if is_large(one)} == {}


@pytest.mark.embedded
def test_the_report_lists_all_where_it_is_asked(project, alice):
    owner = signed_in(alice)
    spread_fit(project, make_more(project, 101))
    html = page(owner, project, "report")
    assert html.count('<th scope="row" dir="auto">') == 30
    assert "The first 30 of 101 items are listed" in html
    assert 'href="?all=1"' in html
    whole = page(owner, project, "report", "?all=1")
    assert whole.count('<th scope="row" dir="auto">') == 101
    assert "items are listed" not in whole
