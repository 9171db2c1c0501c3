"""Excluding somebody in a real browser: the way to the ranking before and after, which comes by itself."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Annotator
from tests.site.annotators.test_before_and_after import careless, later_fit  # noqa: F401  (a fixture)


@pytest.mark.parametrize("options", [{}, {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}])
def test_the_owner_sees_what_it_changes(live_site, open_page, sign_in, axe, project, alice, careless, options):  # noqa: F811
    page = open_page(**options)
    sign_in(alice, page=page)
    page.goto(live_site + reverse("annotator", args=[project.pk, careless.key]))
    page.locator("summary").filter(has_text="Exclude").click()
    page.get_by_role("button", name="Exclude", exact=True).click()
    page.get_by_role("link", name="Ranking before and after", exact=True).click()
    expect(page.locator("main")).to_contain_text("The ranking after it is being computed.")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    axe(page)
    later_fit(project)
    expect(page.get_by_role("table")).to_contain_text("Text number 0")
    expect(page.locator("main")).to_contain_text("excluded Careless; 15 labels voided.")
    axe(page)
    assert Annotator.objects.get(pk=careless.pk).excluded_at
