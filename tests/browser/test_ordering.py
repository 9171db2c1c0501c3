"""Making an order in a real browser: by keys, buttons and dragging, and what the page says of a wrong one."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.annotating import PHONE, WITHOUT, come_in, expect_done, expect_label, long_enough, option
from tests.site.task_types import set_task


@pytest.fixture
def project(project):
    return long_enough(project)


def test_keys_take_marks_and_places_back(live_site, page, project):
    annotator = come_in(page, live_site, set_task(project, "best_worst", 3))
    for key in ("1", "2", "1", "3"):  # A best, B worst, A off, C best
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect_done(page, 1)
    expect_label(annotator, [2, 1])

    page.context.clear_cookies()
    annotator = come_in(page, live_site, set_task(project, "ranking", 3), "Amber Heron")
    for key in ("1", "2", "1", "2", "3", "2"):  # A and B are taken out again, then C and B go in
        page.keyboard.press(key)
    expect(page.locator("[data-count]")).to_have_text("2 of 3")  # "Done" puts what is left last
    page.keyboard.press("Enter")
    expect_done(page, 1)
    expect_label(annotator, [2, 1, 0])


def test_a_ranking_by_buttons_and_arrow_keys_alone(live_site, page, project):
    annotator = come_in(page, live_site, set_task(project, "ranking", 3))
    page.get_by_role("button", name="Rank B next").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Rank A next")).to_be_focused()
    expect(page.locator("#announcer")).to_have_text("B has place 1.")
    page.keyboard.press(" ")
    page.keyboard.press(" ")
    expect(page.locator("[data-done]")).to_be_focused()
    page.get_by_role("button", name="Move C up").focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#announcer")).to_have_text("C has place 2.")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("button", name="Move C up")).to_be_focused()
    page.get_by_role("button", name="Move B down").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Move B down")).to_be_focused()
    expect(page.locator("[data-ranked] .option-name")).to_have_text(["Option C", "Option A", "Option B"])
    page.get_by_role("button", name="Take A out").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Rank A next")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("[data-ranked] .option-name")).to_have_text(["Option C", "Option B", "Option A"])
    page.keyboard.press("Enter")
    expect_done(page, 1)
    expect_label(annotator, [2, 1, 0])


def test_what_is_best_is_not_worst(live_site, page, project):
    come_in(page, live_site, set_task(project, "best_worst", 3))
    option(page, 0).get_by_text("Best").click()
    option(page, 0).get_by_text("Worst").click()
    expect(option(page, 0).get_by_label("Best")).not_to_be_checked()
    expect(option(page, 0).get_by_label("Worst")).to_be_checked()
    expect(page.locator("[data-count]")).to_have_text("1 of 2")


def test_the_best_few_have_no_more_places(live_site, page, project):
    annotator = come_in(page, live_site, set_task(project, "top", 5, 2))
    for place in (4, 1):
        option(page, place).locator("[data-pick]").click()
    expect(option(page, 0).locator("[data-pick]")).to_be_hidden()
    option(page, 0).locator(".item-body").click()
    expect(page.locator("#announcer")).to_have_text("All 2 places are taken. To rank another, take one out.")
    expect(page.get_by_text("All 2 places are taken.").first).to_be_visible()
    expect(page.locator("[data-ranked] .option-name")).to_have_text(["Option E", "Option B"])
    page.get_by_role("button", name="Done").click()
    expect_done(page, 1)
    expect_label(annotator, [4, 1])


def test_an_unfinished_answer_is_not_taken_and_keeps_its_order(live_site, page, project):
    annotator = come_in(page, live_site, set_task(project, "ranking", 4))
    page.keyboard.press("3")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Places given: 2; needed: 4.")
    expect(page.locator("[data-ranked] .option-name")).to_have_text(["Option C", "Option A"])
    expect(page.locator("[data-count]")).to_have_text("2 of 4")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect_done(page, 1)
    expect_label(annotator, [2, 0, 1, 3])


def centre(target: Locator) -> tuple[float, float]:
    box = target.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Page, target: Locator, x: float, y: float) -> None:
    page.mouse.move(*centre(target))
    page.mouse.down()
    page.mouse.move(x, y, steps=12)
    page.mouse.up()


def test_dragging_puts_in_takes_out_and_moves(live_site, page, project):
    page.set_viewport_size({"width": 1440, "height": 1600})
    annotator = come_in(page, live_site, set_task(project, "ranking", 4))
    drag_to_an_answer(page)
    expect_done(page, 1)
    expect_label(annotator, [3, 2, 1, 0])
    page.set_viewport_size({"width": 390, "height": 1600})
    page.context.clear_cookies()
    annotator = come_in(page, live_site, project, "Amber Heron")
    drag_to_an_answer(page)
    expect_done(page, 1)
    expect_label(annotator, [3, 2, 1, 0])


def drag_to_an_answer(page: Page) -> None:
    """D, C, B, A: by ways that put items in, move them and take one out again."""
    names = page.locator("[data-ranked] .option-name")
    x, y = centre(page.locator("[data-ranked-empty]"))
    drag(page, option(page, 1).locator("[data-handle]"), x, y)
    expect(names).to_have_text(["Option B"])
    for place in (0, 2, 3):
        option(page, place).locator("[data-pick]").click()
    expect(names).to_have_text([f"Option {letter}" for letter in "BACD"])

    top = option(page, 1).bounding_box()
    drag(page, option(page, 3).locator("[data-handle]"), top["x"] + 40, top["y"] + 4)
    expect(names).to_have_text([f"Option {letter}" for letter in "DBAC"])
    bottom = option(page, 2).bounding_box()
    drag(page, option(page, 1).locator("[data-handle]"), bottom["x"] + 40, bottom["y"] + bottom["height"] - 4)
    expect(names).to_have_text([f"Option {letter}" for letter in "DACB"])

    x, y = centre(page.locator("[data-tray-empty]"))
    drag(page, option(page, 0).locator("[data-handle]"), x, y)
    expect(names).to_have_text([f"Option {letter}" for letter in "DCB"])
    option(page, 0).locator("[data-pick]").click()
    page.get_by_role("button", name="Done").click()


def test_dragging_by_touch(live_site, open_page, project):
    page = open_page(**PHONE | {"viewport": {"width": 390, "height": 1600}})
    annotator = come_in(page, live_site, set_task(project, "ranking", 3))
    for place in (0, 1, 2):
        option(page, place).locator("[data-pick]").tap()
    expect(page.locator("[data-ranked] .option-name")).to_have_text([f"Option {letter}" for letter in "ABC"])
    x, y = centre(option(page, 2).locator("[data-handle]"))
    end = option(page, 0).bounding_box()["y"] + 4
    fingers = page.context.new_cdp_session(page)
    fingers.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 13):
        at = {"x": x, "y": y + (end - y) * step / 12}
        fingers.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [at]})
    fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(page.locator("[data-ranked] .option-name")).to_have_text([f"Option {letter}" for letter in "CAB"])
    page.get_by_role("button", name="Done").tap()
    expect_done(page, 1)
    expect_label(annotator, [2, 0, 1])


def test_without_javascript_a_wrong_form_says_what_is_wrong_and_keeps_what_was_given(live_site, open_page, project):
    page = open_page(**WITHOUT)
    annotator = come_in(page, live_site, set_task(project, "ranking", 3))
    for letter, rank in (("A", "2"), ("B", "2"), ("C", "1")):
        page.get_by_label(f"Place of {letter}").select_option(rank)
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("alert")).to_contain_text("Two items have place 2. Give each place to one item.")
    assert [page.get_by_label(f"Place of {letter}").input_value() for letter in "ABC"] == ["2", "2", "1"]
    page.get_by_label("Place of B").select_option("3")
    page.get_by_role("button", name="Done").click()
    expect_done(page, 1)
    expect_label(annotator, [2, 0, 1])

    page.context.clear_cookies()
    annotator = come_in(page, live_site, set_task(project, "best_worst", 3), "Amber Heron")
    for name in ("Best: B", "Worst: B"):
        page.get_by_label(name).check()
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("alert")).to_contain_text("The answer names an item twice.")
    expect(page.get_by_label("Best: B")).to_be_checked()
    page.get_by_label("Worst: C").check()
    page.get_by_role("button", name="Done").click()
    expect_done(page, 1)
    expect_label(annotator, [1, 2])
