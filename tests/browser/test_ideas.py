"""Ideas and the end of a sitting in a real browser: a phone without JavaScript, the dark, a narrow window, axe."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Idea, Item, Project
from tests.browser.annotating import PHONE, WITHOUT, come_in, sideways
from tests.site.factories import spread_fit


@pytest.fixture
def project(project) -> Project:
    """A poll without an end, whose items have been compared."""
    values = {"ideas_open": True, "show_result": "after", "show_result_after": 1, "overlap": 1000}
    Project.objects.filter(pk=project.pk).update(**values)
    project.items.update(n_taken=5)
    Item.objects.filter(project=project, key="item-3").update(body="Plant more trees along the streets")
    spread_fit(project, list(project.items.order_by("pk")))
    project.refresh_from_db()
    return project


def test_an_idea_is_sent_approved_and_seen_and_the_end_shows_the_result(
    live_site, open_page, sign_in, axe, alice, project
):
    page = open_page(**(PHONE | WITHOUT))
    come_in(page, live_site, project)
    page.get_by_role("link", name="Add your idea").click()
    page.get_by_label("Add your idea").fill("More trees along our streets")
    page.get_by_role("button", name="Send the idea").click()
    expect(page.get_by_role("heading", name="Similar: is it one of these?")).to_be_visible()
    assert not sideways(page)
    page.get_by_role("button", name="No, send mine").click()
    expect(page.get_by_text("Waiting for the organisers.")).to_be_visible()
    owner = open_page(viewport={"width": 320, "height": 800})
    sign_in(alice, owner)
    owner.goto(live_site + reverse("ideas", args=[project.pk]))
    for details in owner.locator("main details").all():
        details.evaluate("details => { details.open = true; }")
    assert not sideways(owner)
    axe(owner, in_dark=True)
    owner.get_by_role("button", name="Approve More trees").click()
    expect(owner.get_by_text("No idea waits for you.")).to_be_visible()
    assert Idea.objects.get().state == "approved"
    page.get_by_role("link", name="Continue answering").click()
    page.locator("button[value=a]").click()
    expect(page.locator("#option-a, #option-b").filter(has_text="More trees along our streets")).to_have_count(1)
    page.locator("button[value=a]").click()
    page.set_viewport_size({"width": 1440, "height": 900})
    first, last = (link.bounding_box() for link in page.locator(".labelling-ways > a").all())
    assert abs((first["x"] + last["x"] + last["width"]) / 2 - 720) < 2  # in the middle, as the answers above them
    page.get_by_role("link", name="Enough for now").click()
    expect(page.get_by_role("heading", name="What others think")).to_be_visible()
    assert not sideways(page)
    page.get_by_role("button", name="Give more answers").click()
    expect(page.locator("#answer")).to_be_visible()


@pytest.mark.parametrize("name", ["own-ideas", "enough"])
def test_pages_of_participants_are_accessible(live_site, open_page, axe, project, name):
    page = open_page(viewport={"width": 320, "height": 800})
    come_in(page, live_site, project)
    page.locator("button[value=a]").click()
    expect(page.get_by_text("1 answered")).to_be_visible()
    Idea.objects.create(
        project=project, annotator=project.annotators.get(), text="X" * 200, created_at=project.created_at
    )
    page.goto(live_site + reverse(name, args=[project.pk]))
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert not sideways(page)
    axe(page, in_dark=True)
    axe(page)
