"""The dashboard's pages: to whom they open, what they say in each state, what they ask of the database."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotate.models import IMPORTED_APP_VERSION, FitState, Item, Project, Tag
from tests.conftest import make_annotator
from tests.site.factories import engine_is_up, estimate_annotator, make_fit, make_labels, spread_fit
from tests.site.pages import BACKEND, HTMX, page, rows_shown, signed_in
from tests.site.replay import replay

pytestmark = pytest.mark.embedded

PAGES = ["ranking", "annotators", "progress", "engine", "exports"]


@pytest.fixture
def owner(alice) -> Client:
    return signed_in(alice)


@pytest.fixture
def items(project) -> list[Item]:
    return list(project.items.order_by("pk"))


# --- Who may look -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_strangers_sign_in_outsiders_find_nothing_annotators_are_refused(project, bob, charlie, name):
    spread_fit(project, list(project.items.all()))
    url = reverse(name, args=[project.pk])
    assert reverse("account_login") in Client().get(url)["Location"]
    for user, status in ((charlie, 404), (bob, 403)):
        client = Client()
        client.force_login(user, BACKEND)
        for headers in ({}, HTMX, {**HTMX, "HX-Target": "status"}):
            response = client.get(url, headers=headers)
            assert response.status_code == status
            assert project.name not in response.content.decode()


@pytest.mark.parametrize("name", PAGES)
def test_viewers_look_and_change_nothing(project, vera, items, name):
    client = Client()
    client.force_login(vera, BACKEND)
    make_annotator(project, "Quiet Otter")
    spread_fit(project, items)
    html = page(client, project, name)
    assert "Exclude" not in html
    assert reverse("project-settings", args=[project.pk]) not in html
    assert client.post(reverse(name, args=[project.pk])).status_code == 405


# --- States -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ranking", "tastes"])
def test_no_labels_yet_says_what_to_do(owner, project, vera, name):
    html = page(owner, project, name)
    assert "No answers yet." in html
    assert "Share the join link, or answer a few yourself." in html
    viewer = Client()
    viewer.force_login(vera, BACKEND)
    assert "Share the join link" not in page(viewer, project, name)


@pytest.mark.parametrize(
    ("state", "words"),
    [("draft", "not open yet"), ("paused", "takes no answers at present"), ("closed", "takes no answers at present")],
)
def test_a_project_that_is_not_open_says_so(owner, project, state, words):
    Project.objects.filter(pk=project.pk).update(state=state)
    assert words in page(owner, project)


@pytest.mark.parametrize(
    ("opens", "closes", "said"),
    [
        (None, None, ""),
        (None, "2999-01-01T10:00Z", "takes answers until 1 Jan 2999, 10:00 UTC"),
        (None, "2001-01-01T10:00Z", "took answers until 1 Jan 2001, 10:00 UTC"),
        ("2999-01-01T10:00Z", "2999-01-02T10:00Z", "takes answers from 1 Jan 2999, 10:00 UTC"),
        ("2001-01-01T10:00Z", None, ""),
    ],
)
def test_owners_read_when_answers_are_taken(owner, project, opens, closes, said):
    """An open project may be over by its hours: the pages say so, not annotators' pages alone."""
    Project.objects.filter(pk=project.pk).update(opens_at=opens, closes_at=closes)
    for name in ("progress", "share"):
        html = page(owner, project, name)
        assert said.casefold() in html.casefold()
        assert bool(said) == ("answers until" in html or "answers from" in html)
    Project.objects.filter(pk=project.pk).update(state="closed")
    assert "answers until" not in page(owner, project, "progress")


def test_a_draft_leads_on_to_its_next_step(owner, project):
    Project.objects.filter(pk=project.pk).update(state="draft")
    assert f'href="{reverse("setup", args=[project.pk])}">Continue setting up' in page(owner, project)


def test_labels_before_the_first_fit(owner, project):
    make_labels(project, [make_annotator(project, "Quiet Otter")], 3)
    FitState.objects.create(project=project, wanted=1234)
    html = page(owner, project)
    assert "3 answers so far, but no ranking yet." in html
    assert "1,234 answers or changes wait for it." in html
    assert "The engine is not running." in html
    engine_is_up(timezone.now())
    html = page(owner, project)
    assert "3 answers so far. The first ranking is being computed." in html
    assert "not running" not in html
    assert "newer" not in html  # than nothing
    FitState.objects.update(error="LinAlgError: singular", error_at=timezone.now())
    html = page(owner, project)
    assert "the first ranking could not be computed" in html
    assert "LinAlgError: singular" in html


def test_a_failed_fit_keeps_the_one_before(owner, project, items):
    engine_is_up(timezone.now())
    spread_fit(project, items)
    FitState.objects.filter(project=project).update(wanted=9, fitted=4, error="out of memory", error_at=timezone.now())
    html = page(owner, project)
    assert "You see fit 1, which does not include the last 5 answers or changes." in html
    assert len(rows_shown(html)) == 6


def test_an_engine_not_heard_of_within_its_lease_counts_as_down(owner, project, items, settings):
    spread_fit(project, items)
    process = engine_is_up(timezone.now())
    assert "not running" not in page(owner, project)
    process.seen_at = timezone.now() - timedelta(seconds=settings.WORKER_LEASE_SECONDS + 1)
    process.save()
    assert "The engine is not running." in page(owner, project)


def test_a_running_fit_tells_its_step(owner, project, items):
    engine_is_up(timezone.now())
    spread_fit(project, items)
    later = timezone.now() + timedelta(seconds=30)
    FitState.objects.filter(project=project).update(wanted=9, owner="e#1", lease_until=later, step=3, steps=20)
    assert "updating, step 3 of 20" in page(owner, project)
    FitState.objects.filter(project=project).update(owner="", lease_until=None)
    assert "newer answers or changes on their way" in page(owner, project)


def test_a_fit_of_nothing_is_shown_as_nothing(owner, project):
    project.items.all().delete()
    make_fit(project, [], n_items=0, message="There are no items yet.")
    assert "No answers yet." in page(owner, project)


@pytest.mark.parametrize("name", PAGES)
def test_simulated_labels_are_called_so_on_every_page(owner, project, items, name):
    spread_fit(project, items)
    assert "badge-simulated" not in page(owner, project, name)
    Project.objects.filter(pk=project.pk).update(simulated=True)
    assert "badge-simulated" in page(owner, project, name)


def test_who_annotates_now(owner, project):
    now = timezone.now()
    people = [make_annotator(project, f"P{i}") for i in range(3)]
    make_labels(project, people[:2], 4, start=now - timedelta(seconds=60), every=timedelta(seconds=1))
    make_labels(project, people[2:], 1, start=now - timedelta(seconds=200))
    filed = [make_annotator(project, "From a file")]
    make_labels(project, filed, 2, start=now - timedelta(seconds=30), app_version=IMPORTED_APP_VERSION)
    html = page(owner, project)
    assert '<strong class="figures">2</strong> answering now' in html
    assert '<strong class="figures">7</strong> answers' in html


# --- Fragments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ranking", "annotators", "progress", "engine"])
def test_htmx_gets_the_part_alone_and_caches_can_tell(owner, project, items, name):
    spread_fit(project, items)
    url = reverse(name, args=[project.pk])
    fragment = owner.get(url, headers=HTMX)
    assert "<html" not in fragment.content.decode()
    assert f'id="{name}"' in fragment.content.decode()
    assert "HX-Request" in fragment["Vary"]
    history = owner.get(url, headers={**HTMX, "HX-History-Restore-Request": "true"})
    assert "<html" in history.content.decode()


def test_the_status_line_alone(owner, project, items):
    spread_fit(project, items)
    html = page(owner, project, "engine", headers={**HTMX, "HX-Target": "status"})
    assert html.startswith("<div")
    assert 'id="status"' in html
    assert 'data-fit="1"' in html
    assert "Latest fits" not in html


# --- Size -------------------------------------------------------------------------------------------------------------


def n_queries(client: Client, url: str, **headers) -> int:
    client.get(url, **headers)
    cache.clear()
    with CaptureQueriesContext(connection) as queries:
        assert client.get(url, **headers).status_code == 200
    return len(queries)


@pytest.mark.slow
@pytest.mark.parametrize(
    "address",
    [
        "ranking",
        "ranking?view=plot",
        "ranking?tag=all&q=e&sort=-item",
        "annotators",
        "annotators?sort=time",
        "progress",
        "engine",
        "exports",
    ],
)
def test_pages_ask_the_database_as_often_for_500_as_for_10(owner, project, address):
    def grow(n: int) -> None:
        items = Item.objects.bulk_create(Item(project=project, key=f"k{n}-{i}", body=f"e {i}") for i in range(n))
        tag, _ = Tag.objects.get_or_create(project=project, name="all")
        tag.items.add(*items)
        people = [make_annotator(project, f"P{n}-{i}") for i in range(n // 5)]
        make_labels(project, people, n)
        half = n // 2
        parts = [[(item, -0.01 * i, 0.3, 9) for i, item in enumerate(items[:half])]]
        parts += [[(item, -0.01 * i, 0.3, 9) for i, item in enumerate(items[half:-3])]]
        parts += [[(item, 0.0, 1.0, 0)] for item in items[-3:]]
        fit = make_fit(project, parts)
        for person in people:
            estimate_annotator(fit, person)

    name, _, query = address.partition("?")
    url = reverse(name, args=[project.pk]) + (f"?{query}" if query else "")
    replay("10", lambda: grow(10))
    small = n_queries(owner, url)
    replay("500", lambda: grow(500))
    assert n_queries(owner, url) == small
    assert n_queries(owner, url, headers=HTMX) <= small
