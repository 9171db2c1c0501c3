"""What a teacher sees of a learning platform's course: choosing projects in a window, on a phone, by axe."""

import pytest
from django.test import Client
from playwright.sync_api import expect

from tests.browser.annotating import sideways
from tests.site.participation.conftest import claims, platform, server  # noqa: F401  (fixtures)
from tests.site.participation.lti_platform import launch
from tests.site.participation.test_lti_teachers import choosing  # noqa: F401  (a fixture)


@pytest.mark.parametrize("chosen", [False, True])
def test_choosing_projects_for_a_course_is_accessible(
    live_site,
    open_page,
    sign_in,
    axe,
    project,
    alice,
    server,  # noqa: F811
    choosing,  # noqa: F811
    chosen,
):
    there = launch(Client(), server)["Location"]
    page = open_page(viewport={"width": 320, "height": 700})
    sign_in(alice, page)
    page.goto(f"{live_site}{there}?window=1")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    if chosen:
        page.get_by_label(project.name).check()
        page.locator("main form button").last.click()
        expect(page.get_by_text("Continue")).to_be_visible()
    assert not sideways(page)
    axe(page, in_dark=True)
