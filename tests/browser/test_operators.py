"""Pages beside the projects' own: the state of the site, and where a short address is typed."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.annotating import sideways


@pytest.mark.parametrize("name", ["operations", "short-address"])
def test_it_is_accessible_on_a_phone(live_site, open_page, sign_in, axe, project, alice, name):
    page = open_page(viewport={"width": 320, "height": 700})
    alice.is_staff = True
    alice.save()
    sign_in(alice, page)
    page.goto(live_site + reverse(name))
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert not sideways(page)
    axe(page, in_dark=True)
