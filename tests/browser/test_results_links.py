"""Publishing the ranking in a real browser: the owner makes a link, a stranger looks without scripts or cookies."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import ResultsLink
from tests.conftest import NOW
from tests.site.factories import spread_fit


def test_a_link_is_made_looked_at_and_revoked(live_site, open_page, sign_in, axe, project, alice):
    spread_fit(project, list(project.items.order_by("pk")))
    owner = open_page(viewport={"width": 390, "height": 844})
    sign_in(alice, page=owner)
    owner.goto(live_site + reverse("results-links", args=[project.pk]))
    expect(owner.locator(".lead")).to_have_text("Only members of the project can see the ranking.")
    owner.get_by_role("button", name="Publish the ranking").click()
    address = owner.get_by_label("Link to the results", exact=True).input_value()
    axe(owner)
    stranger = open_page(java_script_enabled=False, locale="de-DE")
    stranger.goto(address)
    expect(stranger.get_by_role("listitem").filter(has_text="Text number 0")).to_contain_text("88")
    expect(stranger.get_by_role("link", name="Kurz")).to_have_attribute("aria-current", "true")
    stranger.get_by_role("link", name="Tabelle").click()
    expect(stranger.get_by_role("row").filter(has_text="Text number 0")).to_contain_text("88")
    stranger.get_by_role("link", name="Diagramm").click()
    expect(stranger.locator("svg.forest:visible")).to_be_visible()
    assert not stranger.context.cookies()
    owner.get_by_role("button", name="Revoke").click()
    expect(owner.get_by_role("status").filter(has_text="revoked")).to_be_visible()
    stranger.reload()
    expect(stranger.locator("main")).to_contain_text("Dieser Link gilt nicht mehr")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_is_accessible(live_site, open_page, axe, project, width):
    spread_fit(project, list(project.items.order_by("pk")))
    link = ResultsLink.objects.create(project=project, made_at=NOW)
    page = open_page(viewport={"width": width, "height": 900})
    for query in ("", "?view=details", "?view=plot"):
        page.goto(live_site + reverse("results", args=[link.token]) + query)
        expect(page.get_by_role("heading", level=1)).to_have_text("Convincing arguments")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if not query:
            first = page.locator(".public-row").first.bounding_box()
            assert first["y"] + first["height"] < 844, "the first item is seen on a phone without scrolling"
            tops = page.locator(".languages a").evaluate_all("links => links.map(link => link.offsetTop)")
            assert len(tops) == 4
            assert len(set(tops)) == 1, "the languages stand in one line"
        axe(page, in_dark=True)
