"""Rankings whose items may share a place: keys, taps, arrows, dragging and no JavaScript say the same."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from tests.browser.annotating import PHONE, WITHOUT, come_in, expect_done, long_enough, option, sideways, snap
from tests.browser.test_task_types import large_enough
from tests.site.task_types import set_task


@pytest.fixture
def project(project):
    return set_task(long_enough(project), "ranking", 4, shared_places=True)


def expect_ranks(annotator, ranks: str) -> None:
    assert annotator.labels.get(voided_at=None).ranks == ranks


def places(page: Page) -> list[str]:
    return page.locator("[data-ranked] [data-place]").all_inner_texts()


def same(page: Page, place: int):
    return option(page, place).get_by_role("button", name="Same place as the one before")


def test_by_keyboard(live_site, page, project):
    annotator = come_in(page, live_site, project)
    for key in ("3", "1", "=", "2", "4", "="):
        page.keyboard.press(key)
    assert places(page) == ["1", "= 1", "2", "= 2"]
    expect(page.locator("#announcer")).to_have_text("D shares place 2.")
    page.keyboard.press("=")
    expect(same(page, 3)).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_contain_text("the same place as the one before")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    expect_done(page, 1)
    expect_ranks(annotator, "0102")
    expect(page.get_by_text("you ranked A = C, B, D")).to_be_visible()


def test_moving_keeps_those_that_share_together(live_site, page, project):
    """An item that leaves does not tie what follows to what came before; one that comes between them shares."""
    annotator = come_in(page, live_site, project)
    for key in ("1", "2", "3", "="):
        page.keyboard.press(key)
    page.keyboard.press("4")
    assert places(page) == ["1", "2", "= 2", "3"]
    option(page, 0).locator("[data-move='1']").focus()
    page.keyboard.press("ArrowDown")
    assert places(page) == ["1", "= 1", "= 1", "2"], "A stands between B and C"
    page.keyboard.press("ArrowDown")
    assert places(page) == ["1", "= 1", "2", "3"]
    page.keyboard.press("=")
    assert places(page) == ["1", "= 1", "= 1", "2"], "the focused item"
    option(page, 1).locator("[data-out]").click()
    assert places(page) == ["1", "= 1", "2"], "C leads what B led"
    page.keyboard.press("Enter")
    expect_done(page, 1)
    expect_ranks(annotator, "0201")


def test_by_touch(live_site, open_page, project, axe):
    page = open_page(**PHONE)
    annotator = come_in(page, live_site, project)
    for place in (1, 0, 3, 2):
        option(page, place).locator("[data-pick]").tap()
    same(page, 0).tap()
    expect(same(page, 0)).to_have_attribute("aria-pressed", "true")
    assert not same(page, 1).is_visible(), "nothing is before the first"
    assert not sideways(page)
    large_enough(page)
    axe(page, in_dark=True)
    snap(page, "shared-390")
    page.get_by_role("button", name="Done").tap()
    expect_done(page, 1)
    expect_ranks(annotator, "0021")


def test_by_dragging_between_two_that_share(live_site, open_page, project):
    page = open_page(viewport={"width": 1280, "height": 900})
    annotator = come_in(page, live_site, project)
    for key in ("1", "2", "=", "3", "4"):
        page.keyboard.press(key)
    handle = option(page, 3).locator("[data-handle]").bounding_box()
    onto = option(page, 1).bounding_box()
    page.mouse.move(handle["x"] + 10, handle["y"] + 10)
    page.mouse.down()
    page.mouse.move(onto["x"] + 100, onto["y"] + 8, steps=8)
    page.mouse.up()
    assert places(page) == ["1", "= 1", "= 1", "2"]
    snap(page, "shared-1280")
    page.get_by_role("button", name="Done").click()
    expect_done(page, 1)
    expect_ranks(annotator, "0010")


def test_without_javascript(live_site, open_page, project):
    page = open_page(**WITHOUT, viewport={"width": 390, "height": 844})
    annotator = come_in(page, live_site, project)
    for letter, place in zip("ABCD", "2141", strict=True):
        page.get_by_label(f"Place of {letter}").select_option(place)
    snap(page, "shared-390-without")
    page.get_by_role("button", name="Done").click()
    expect_done(page, 1)
    expect_ranks(annotator, "1020")


def test_the_option_is_offered_for_full_rankings_alone(live_site, page, project, alice, sign_in):
    sign_in(alice)
    page.goto(live_site + reverse("settings-answers", args=[project.pk]))
    box = page.locator("#id_shared_places")
    expect(box).to_be_visible()
    page.get_by_label("Better of two").first.check()
    expect(box).not_to_be_visible()
