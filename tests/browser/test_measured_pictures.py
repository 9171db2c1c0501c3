"""The features page offers to measure pictures: on a phone, by axe, light and dark."""

from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Item
from tests.browser.annotating import sideways


def test_measuring_is_offered_on_a_phone(live_site, open_page, sign_in, axe, project, alice):
    Item.objects.create(project=project, key="one", kind="image", media="items/one.png", body="")
    page = open_page(viewport={"width": 320, "height": 700})
    sign_in(alice, page)
    page.goto(live_site + reverse("features-import", args=[project.pk]))
    assert not sideways(page)
    axe(page, in_dark=True)
    page.get_by_role("button", name="Measure 1 picture").click()
    expect(page.get_by_role("heading", name="Waiting to be checked")).to_be_visible()
