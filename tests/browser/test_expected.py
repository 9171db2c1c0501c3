"""What to expect, on *Which questions*, in a real browser: accessible, narrow and wide, with and without scripts."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.test_trust import SIDEWAYS
from tests.conftest import make_items


@pytest.mark.parametrize(("width", "scripts"), [(320, True), (1280, False)])
def test_what_to_expect_is_shown_as_pictures_and_tables(
    live_site, open_page, sign_in, axe, alice, project, width, scripts
):
    project.items.all().delete()
    make_items(project, 40)
    project.policy, project.top_k, project.class_shares = "best", 5, [20, 60, 20]
    project.save()
    page = open_page(viewport={"width": width, "height": 844}, java_script_enabled=scripts)
    sign_in(alice, page)
    page.goto(live_site + reverse("policy", args=[project.pk]))
    part = page.get_by_role("region", name="What to expect", exact=True)
    expect(part.get_by_role("heading", level=3)).to_have_text(
        ["Best items found", "Right order of all items", "Items in their class"]
    )
    expect(part.get_by_role("img")).to_have_count(3)
    first = part.get_by_role("figure").first
    box = first.locator(".mark-area").last.bounding_box()
    assert box is not None
    assert box["height"] > 5  # a band, and not a line
    first.locator("summary").click()
    expect(first.get_by_role("row")).to_have_count(9)  # a head, eight numbers of answers
    expect(first.get_by_role("row").last).to_contain_text("720")
    if scripts:
        assert page.evaluate(SIDEWAYS) == 0
        axe(page, in_dark=True)
