"""The overall ranking and the projector view in a real browser: axe, phone, dark, the whole of a wide screen."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotate.models import OVERALL, Project, ResultsLink, Tag
from annotate.publishing.results_links import stream
from tests.browser.layout import SIDEWAYS
from tests.conftest import NOW
from tests.site.competitions import example_total
from tests.site.factories import make_overall, spread_fit

CRITERIA = [
    {"name": "Idea", "question": "Which idea is better?"},
    {"name": "Craft", "question": "Which is better made?"},
]


@pytest.fixture
def jury(project) -> Project:
    Project.objects.filter(pk=project.pk).update(
        criteria=CRITERIA, weights=[3.0, 2.0], state="open", has_competitors=True
    )
    project.refresh_from_db()
    items = list(project.items.order_by("pk"))
    fit = spread_fit(project, items, sd=0.6)
    project.items.update(competitor="Orca")
    make_overall(project, fit, leaderboard=example_total())
    make_overall(project, fit, criterion=1, track="even")
    tag = Tag.objects.create(project=project, name="even")
    for item in items:
        item.tags.add(tag)
    return project


@pytest.fixture
def link(jury) -> ResultsLink:
    ends = timezone.now() + timedelta(hours=2)
    return ResultsLink.objects.create(
        project=jury, made_at=NOW, criterion=OVERALL, hides_names=True, shows_join=True, deadline=ends
    )


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (320, "light"), (1920, "light")])
def test_the_pages_are_accessible(live_site, open_page, sign_in, axe, alice, jury, link, width, scheme):
    page = open_page(viewport={"width": width, "height": 1080}, color_scheme=scheme)
    sign_in(alice, page)
    for path in (
        reverse("overall", args=[jury.pk]),
        reverse("ranking", args=[jury.pk]) + "?tag=even",
        reverse("settings-ranking", args=[jury.pk]),
        reverse("results-link-live", args=[jury.pk, link.pk]),
        reverse("results-live", args=[link.token]),
    ):
        page.goto(live_site + path)
        assert page.locator("#competitors").count() == (path == reverse("overall", args=[jury.pk])), path
        assert page.evaluate(SIDEWAYS) == 0, path
        axe(page)
    if width == 1920:  # the screen in the room: next to nothing at either side stays empty
        box = page.locator("#projector").bounding_box()
        assert box["width"] > 0.9 * width


@pytest.mark.parametrize("width", [390, 320])
def test_on_a_phone_long_names_have_room_and_intervals_stay(live_site, open_page, sign_in, alice, jury, link, width):
    name = "A festival of light in the old town that goes on until the last tram has left the station"
    jury.items.update(name=name)
    ResultsLink.objects.update(hides_names=False)
    page = open_page(viewport={"width": width, "height": 844})
    page.goto(live_site + reverse("results-live", args=[link.token]))
    row = page.get_by_role("row").nth(1)
    title = row.get_by_role("rowheader")
    expect(title).to_have_text(name)
    assert title.bounding_box()["width"] > 0.6 * width
    expect(row.locator("svg")).to_be_visible()
    head = page.get_by_role("columnheader", name="Score", exact=True)
    expect(head).to_be_visible()
    assert head.evaluate("head => getComputedStyle(head).textAlign") == "end", "it stands over the scores"
    assert page.evaluate(SIDEWAYS) == 0
    sign_in(alice, page)
    page.goto(live_site + reverse("overall", args=[jury.pk]))
    card = page.locator(".total-table tbody tr").last
    title, place = card.locator("th").bounding_box(), card.locator("td").first.bounding_box()
    assert title["y"] < place["y"], "the name heads the card"
    assert place["width"] < 0.5 * width, "two figures stand in a line"


@pytest.mark.parametrize("streams", [5000, 0])
def test_the_owner_reveals_and_the_screen_follows_by_itself(
    live_site, open_page, sign_in, page, alice, jury, link, monkeypatch, streams
):
    """Pushed to it, and, where the server has no streams left, because it asks."""
    monkeypatch.setattr(stream, "MAX_STREAMS", streams)
    screen, asked = open_page(), []
    screen.on("request", lambda request: asked.append(request.headers.get("hx-request")))
    screen.goto(live_site + reverse("results-live", args=[link.token]))
    expect(screen.get_by_text("Not revealed yet").first).to_be_visible()
    left = screen.locator(".projector-left")
    before = left.inner_text()
    sign_in(alice)
    page.goto(live_site + reverse("results-link-live", args=[jury.pk, link.pk]))
    page.get_by_role("button", name="Reveal").click()
    expect(page.get_by_role("button", name="Hide the names")).to_be_visible()
    expect(screen.locator(".podium-1")).to_contain_text("Text number 0", timeout=15_000)
    expect(left).to_contain_text("1:59:")
    expect(left).not_to_have_text(before)
    assert ("true" in asked) == (streams == 0)


def test_a_screen_whose_link_is_revoked_says_so(live_site, open_page, link):
    screen = open_page()
    screen.goto(live_site + reverse("results-live", args=[link.token]))
    expect(screen.get_by_text("Not revealed yet").first).to_be_visible()
    link.revoked_at = timezone.now()
    link.save()
    expect(screen.get_by_text("This link no longer works")).to_be_visible(timeout=15_000)


def test_without_javascript_the_page_comes_again_by_itself(live_site, open_page, link):
    page = open_page(java_script_enabled=False)
    page.goto(live_site + reverse("results-live", args=[link.token]))
    assert page.locator("meta[http-equiv=refresh]").get_attribute("content") == "15"
    expect(page.locator(".projector-left")).to_contain_text("1:59:")
