"""The first sight of a ranking: on a phone the first place shows without scrolling, 1,200 items stay light."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Item, User
from tests.site.factories import spread_fit


@pytest.fixture
def many(project) -> None:
    Item.objects.bulk_create(
        Item(project=project, key=f"many-{i}", body=f"Text {i}, long enough to fill a line or two on a phone")
        for i in range(194)
    )
    spread_fit(project, list(project.items.order_by("pk")))


@pytest.mark.parametrize(("width", "is_expert"), [(390, False), (1280, False), (1280, True)])
def test_the_first_place_is_seen_without_scrolling(
    live_site, open_page, sign_in, axe, project, alice, many, width, is_expert
):
    User.objects.update(is_expert=is_expert)
    page = open_page(viewport={"width": width, "height": 844})
    sign_in(alice, page=page)
    page.goto(live_site + reverse("ranking", args=[project.pk]))
    expect(page.locator(".rank-row")).to_have_count(20)
    box = page.locator(".rank-row").first.bounding_box()
    assert box["y"] + box["height"] <= 844
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.get_by_role("searchbox").is_visible() == (width == 1280)
    axe(page, in_dark=True)
