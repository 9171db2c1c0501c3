"""How much better, on a scale, in a real browser: by keyboard, mouse, touch and without JavaScript."""

import pytest
from playwright.sync_api import expect

from annotate.models import Annotator
from tests.browser.annotating import PHONE, WITHOUT, come_in, expect_done, long_enough, sideways, snap
from tests.site.task_types import set_task

SCALE = {
    "A clearly": ("choice", 0, "clearly"),
    "A slightly": ("choice", 0, "slightly"),
    "Tie": ("tie", None, ""),
    "B slightly": ("choice", 1, "slightly"),
    "B clearly": ("choice", 1, "clearly"),
}


@pytest.fixture
def graded(project):
    return set_task(long_enough(project), "graded", 2)


def expect_grades(annotator: Annotator, expected: list[tuple[str, int | None, str]]) -> None:
    found = []
    for label in annotator.labels.filter(voided_at=None).order_by("pk"):
        places = list(label.presentation.presented.order_by("position").values_list("item", flat=True))
        found.append((label.outcome, places.index(label.chosen_id) if label.chosen_id else None, label.grade))
    assert found == expected


def test_the_scale_by_keyboard(live_site, page, graded, axe):
    annotator = come_in(page, live_site, graded)
    axe(page)
    for n, key in enumerate("12345t", start=1):
        page.keyboard.press(key)
        expect_done(page, n)
    expect_grades(annotator, [*SCALE.values(), SCALE["Tie"]])
    page.keyboard.press("ArrowLeft")  # says no grade, so it means nothing here
    page.keyboard.press("u")
    expect_done(page, 5)
    page.keyboard.press("?")
    expect(page.locator("#help")).to_contain_text("B clearly")


def test_the_scale_has_no_middle_where_ties_are_not_allowed(live_site, page, graded):
    graded.outcomes = ["skip"]
    graded.save()
    annotator = come_in(page, live_site, graded)
    page.keyboard.press("3")
    expect_done(page, 1)
    page.keyboard.press("5")
    page.keyboard.press("4")
    expect_done(page, 2)
    expect_grades(annotator, [SCALE["B slightly"], SCALE["B clearly"]])


@pytest.mark.parametrize(
    ("options", "press"),
    [
        ({"viewport": {"width": 1440, "height": 900}}, "click"),
        ({**PHONE, "color_scheme": "dark"}, "tap"),
        ({**WITHOUT, "viewport": {"width": 390, "height": 844}}, "click"),
    ],
    ids=["mouse", "touch", "without JavaScript"],
)
def test_the_scale_by_pointer(live_site, open_page, graded, axe, options, press):
    page = open_page(**options)
    annotator = come_in(page, live_site, graded)
    snap(page, f"graded-{press}-{len(options)}")
    assert not sideways(page)
    if "java_script_enabled" not in options:
        axe(page)
    for n, words in enumerate(SCALE, start=1):
        button = page.get_by_role("button", name=words, exact=True)
        page.wait_for_load_state()  # its size is that of the stylesheet
        assert button.bounding_box()["height"] >= 44
        getattr(button, press)()
        expect_done(page, n)
    expect_grades(annotator, list(SCALE.values()))
