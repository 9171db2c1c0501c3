"""The projector view: first places, countdown, how to take part; names stay on the server until they are revealed."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotate.items.actions import set_title
from annotate.models import Event, EventVerb, Item, Project, ResultsLink
from annotate.participation.actions import replace_join_link
from annotate.publishing.results_links.live import format_left
from tests.conftest import NOW
from tests.site.api_client import Api
from tests.site.factories import spread_fit
from tests.site.pages import HTMX, signed_in

NAMES = [f"Text number {n}" for n in range(6)]


@pytest.fixture
def link(project) -> ResultsLink:
    spread_fit(project, list(project.items.order_by("pk")), sd=0.3)
    return ResultsLink.objects.create(project=project, made_at=NOW)


def live(link: ResultsLink, query: str = "", **headers):
    return Client().get(reverse("results-live", args=[link.token]) + query, headers=headers)


def html_of(response) -> str:
    return " ".join(response.content.decode().split())


def hide(link: ResultsLink) -> None:
    link.hides_names = True
    link.save()


def test_anybody_sees_the_podium_and_the_first_places(link):
    response = live(link)
    html = html_of(response)
    assert all(name in html for name in NAMES)
    assert html.count('class="podium-step') == 3
    assert "leads" in html
    assert '<noscript><meta http-equiv="refresh" content="15"></noscript>' in html
    assert "Reveal" not in html
    assert response["Referrer-Policy"] == "no-referrer"
    assert not response.cookies


def test_names_are_shown_whole(link):
    long = "A square with trees, benches, water and shade for everybody who lives around it and all who come to visit"
    link.project.items.filter(body=NAMES[0]).update(name=long)
    html = html_of(live(link))
    assert html.count(f">{long}<") == 2, "on the podium and in the table"


def test_a_page_that_asks_again_gets_only_what_changed(link):
    first = html_of(live(link, **HTMX))
    assert "<html" not in first
    query = first.partition('hx-get="')[2].partition('"')[0].partition("?")[2]
    assert live(link, f"?{query}", **HTMX).status_code == 204
    spread_fit(link.project, list(link.project.items.order_by("-pk")))
    assert live(link, f"?{query}", **HTMX).status_code == 200


def test_of_two_titles_changed_at_once_the_second_stored_is_seen_too(link):
    """The first took its place in the log, waited, and was stored after the other."""
    places = [item.pk for item in link.project.items.order_by("pk")[:2]]
    newest = Event.objects.order_by("-pk").values_list("pk", flat=True).first() or 0

    def is_stored(place: int, title: str, number: int) -> None:
        Item.objects.filter(pk=places[place]).update(name=title)
        verb, now = EventVerb.ITEM_TITLE_CHANGED, timezone.now()
        Event.objects.create(pk=newest + number, project=link.project, verb=verb, at=now)

    is_stored(0, "Ada of Newt", 2)
    shown = html_of(live(link, **HTMX))
    query = shown.partition('hx-get="')[2].partition('"')[0].partition("?")[2]
    assert live(link, f"?{query}", **HTMX).status_code == 204
    is_stored(1, "Ben of Heron", 1)
    assert "Ben of Heron" in html_of(live(link, f"?{query}", **HTMX))


def test_a_title_taken_away_and_a_join_link_replaced_are_changes(link, alice):
    ResultsLink.objects.update(shows_join=True)
    first = link.project.items.order_by("pk").first()
    set_title(item=first, actor=alice, title="Ada of Newt", now=timezone.now())
    shown = html_of(live(link, **HTMX))
    assert "Ada of Newt" in shown

    def is_new(shown: str) -> str:
        query = shown.partition('hx-get="')[2].partition('"')[0].partition("?")[2]
        assert link.project.join_token not in query
        found = live(link, f"?{query}", **HTMX)
        return html_of(found) if found.status_code == 200 else ""

    assert not is_new(shown)
    set_title(item=first, actor=alice, title="", now=timezone.now())
    shown = is_new(shown)
    assert shown
    assert "Ada of Newt" not in shown
    replace_join_link(project=link.project, actor=alice, now=timezone.now())
    shown = is_new(shown)
    link.project.refresh_from_db()
    assert reverse("join", args=[link.project.join_token]) in shown
    assert not is_new(shown)


def test_hidden_names_are_nowhere_before_they_are_revealed(link, alice):
    hide(link)
    token = link.token
    pages = [live(link), live(link, **HTMX), Client().get(reverse("results", args=[token]), follow=True)]
    texts = [html_of(page) for page in pages] + [Client().get(reverse("api-results", args=[token])).content.decode()]
    for text in texts:
        assert not any(name in text or f"item-{n}" in text for n, name in enumerate(NAMES))
    assert "Not revealed yet" in texts[0]
    assert "The first place is still open" in texts[0] or "clearly first" in texts[0]
    owner = signed_in(alice)
    address = reverse("results-link-live", args=[link.project_id, link.pk])
    assert ">Reveal</button>" in html_of(owner.get(address))
    assert not any(name in html_of(owner.get(address)) for name in NAMES)
    owner.post(address, {"action": "reveal"})
    assert all(name in html_of(live(link)) for name in NAMES)
    assert Client().get(reverse("results", args=[token])).status_code == 200
    owner.post(address, {"action": "hide"})
    assert not any(name in html_of(live(link)) for name in NAMES)
    assert list(
        Event.objects.filter(verb__startswith="results names").order_by("pk").values_list("verb", flat=True)
    ) == [
        "results names revealed",
        "results names hidden",
    ]


def test_the_time_left_is_written_by_the_server(link, alice):
    assert format_left(timedelta(hours=1, minutes=2, seconds=5.9)) == "1:02:05"
    assert format_left(timedelta(seconds=-5)) == "0:00:00"
    assert "data-deadline" not in html_of(live(link))
    Project.objects.filter(pk=link.project_id).update(closes_at=timezone.now() + timedelta(hours=30, seconds=30))
    assert ">30:00:" in html_of(live(link))
    address = reverse("results-link-live", args=[link.project_id, link.pk])
    owner = signed_in(alice)
    refused = owner.post(address, {"action": "deadline", "deadline": "tomorrow"})
    assert refused.status_code == 400
    assert "Enter a valid date/time." in html_of(refused)
    owner.post(address, {"action": "deadline", "deadline": "2020-01-01T10:00"})
    assert "Time is up" in html_of(live(link)).partition('class="projector-left"')[2][:100]
    assert Event.objects.filter(verb="results deadline set").exists()


def test_the_code_is_shown_where_the_owner_wants_it_and_people_can_answer(link):
    join = reverse("join", args=[link.project.join_token])
    assert join not in html_of(live(link))
    ResultsLink.objects.update(shows_join=True)
    html = html_of(live(link))
    assert f"testserver{join}" in html
    assert '<svg xmlns="http://www.w3.org/2000/svg"' in html
    Project.objects.update(state="closed")
    assert join not in html_of(live(link))


def test_a_link_that_ended_shows_nothing(link, alice):
    ResultsLink.objects.update(revoked_at=NOW)
    assert live(link).status_code == 410
    owner = signed_in(alice).get(reverse("results-link-live", args=[link.project_id, link.pk]))
    assert owner.status_code == 404


def test_before_the_first_fit_and_with_few_comparisons_it_says_so(project):
    link = ResultsLink.objects.create(project=project, made_at=NOW)
    assert "No ranking yet." in html_of(live(link))
    spread_fit(project, list(project.items.order_by("pk")), n=2)
    assert "Too early to say" in html_of(live(link))


def test_more_items_take_no_more_queries(link):
    def count() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            live(link)
        return len(queries)

    few = count()
    spread_fit(link.project, list(link.project.items.order_by("pk"))[:3])
    assert count() == few <= 8


def test_the_owner_sets_it_up_on_the_page_and_by_the_api(project, alice):
    owner = signed_in(alice)
    values = {"lifetime": "", "hides_names": "on", "shows_join": "on", "deadline": "2030-01-01T10:00"}
    owner.post(reverse("results-links", args=[project.pk]), values)
    made = ResultsLink.objects.get()
    assert (made.hides_names, made.shows_join, made.deadline.year) == (True, True, 2030)
    ask = Api(alice, project)
    told = ask("patch", "results-link", {"revealed": True, "deadline": None}, args=[made.pk]).json()
    assert (told["revealed_at"] is None, told["deadline"]) == (False, None)
    assert told["live_url"].endswith(f"/results/{made.token}/live/")
    told = ask("post", "results-links", {"hides_names": True}).json()
    assert told["hides_names"]
