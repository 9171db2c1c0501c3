"""Every task type in a real browser: by keyboard, by touch, by mouse and without JavaScript, clean by axe."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.annotating import (
    PHONE,
    WITHOUT,
    come_in,
    expect_done,
    expect_label,
    long_enough,
    option,
    sideways,
    snap,
)
from tests.site.task_types import LETTERS, set_task

# (task type, k, m) and the places to name, best first.
TASKS = {
    "best of 4": (("best", 4, None), [2]),
    "best and worst of 5": (("best_worst", 5, None), [3, 0]),
    "ranking of 4": (("ranking", 4, None), [2, 0, 3, 1]),
    "best 2 of 5": (("top", 5, 2), [4, 1]),
}
everywhere = pytest.mark.parametrize(("task", "order"), TASKS.values(), ids=TASKS)


@pytest.fixture
def project(project):
    return long_enough(project)


@everywhere
def test_by_keyboard(live_site, page, project, task, order):
    set_task(project, *task)
    annotator = come_in(page, live_site, project)
    for place in order:
        page.keyboard.press(str(place + 1))
    if task[0] != "best":
        count = f"{len(order)} of {len(order)}"
        expect(page.locator("[data-count]")).to_have_text(count)
        page.keyboard.press("Enter")
    expect_done(page, 1)
    expect_label(annotator, order)
    page.keyboard.press("u")
    expect_done(page, 0)
    assert annotator.labels.get().void_reason == "undone"
    page.keyboard.press("c")
    expect_done(page, 1)
    assert annotator.labels.get(voided_at=None).outcome == "cant_judge"


def test_the_task_and_the_keys_are_told(live_site, page, project):
    come_in(page, live_site, set_task(project, "best_worst", 3))
    page.keyboard.press("1")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect_done(page, 1)
    bodies = page.locator(".option .item-body").all_inner_texts()
    told = " ".join(f"Option {letter}, {body}." for letter, body in zip("ABC", bodies, strict=True))
    expect(page.locator("#announcer")).to_have_text(f"Your answer is sent. Task 2 of 40. {told}")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_contain_text("first the best, then the worst")


def look(page: Page, axe: Callable[[Page], None], name: str) -> None:
    axe(page)
    snap(page, name)


@everywhere
def test_by_mouse(live_site, open_page, project, axe, task, order):
    """On a dark desk; on a light phone by touch."""
    page = open_page(viewport={"width": 1440, "height": 900}, color_scheme="dark")
    set_task(project, *task)
    annotator = come_in(page, live_site, project)
    look(page, axe, f"{task[0]}-1440")
    answer_by(page, task[0], order, lambda target: target.click())
    if task[0] != "best":
        look(page, axe, f"{task[0]}-1440-done")
        page.get_by_role("button", name="Done").click()
    expect_done(page, 1)
    expect_label(annotator, order)
    assert not sideways(page)


def answer_by(page: Page, task_type: str, order: list[int], press: Callable[[Locator], None]) -> None:
    """Presses what a pointer would; the answer to “best” is sent by that, the others wait for “Done”."""
    if task_type == "best":
        press(option(page, order[0]).get_by_role("button", name="Choose"))
    elif task_type == "best_worst":
        press(option(page, order[0]).get_by_text("Best"))
        press(option(page, order[1]).get_by_text("Worst"))
    else:
        press(option(page, order[0]).locator("[data-pick]"))
        for place in order[1:]:  # anywhere on the card
            press(option(page, place).locator(".item-body"))


def large_enough(page: Page) -> None:
    targets = page.locator("#answer :is(button, .mark, [data-handle]):visible")
    boxes = targets.evaluate_all("all => all.map((one) => [one.getBoundingClientRect(), one.outerHTML])")
    assert boxes
    assert [html for box, html in boxes if min(box["width"], box["height"]) < 44] == []


@everywhere
def test_by_touch(live_site, open_page, project, axe, task, order):
    page = open_page(**PHONE, color_scheme="light")
    set_task(project, *task)
    annotator = come_in(page, live_site, project)
    assert not sideways(page)
    large_enough(page)
    look(page, axe, f"{task[0]}-390")
    answer_by(page, task[0], order, lambda target: target.tap())
    if task[0] != "best":
        large_enough(page)
        look(page, axe, f"{task[0]}-390-done")
        page.get_by_role("button", name="Done").tap()
    expect_done(page, 1)
    expect_label(annotator, order)
    page.get_by_role("button", name="Skip").tap()
    expect_done(page, 2)


@everywhere
def test_without_javascript(live_site, open_page, project, axe, task, order):
    page = open_page(**WITHOUT, viewport={"width": 390, "height": 844})
    set_task(project, *task)
    annotator = come_in(page, live_site, project)
    fill(page, task[0], order)
    snap(page, f"{task[0]}-390-without")
    if task[0] != "best":
        page.get_by_role("button", name="Done").click()
    expect_done(page, 1)
    expect_label(annotator, order)
    page.get_by_role("button", name="Undo").click()
    expect_done(page, 0)
    page.get_by_role("button", name="Can't judge").click()
    expect_done(page, 1)
    assert not sideways(page)


def fill(page: Page, task_type: str, order: list[int]) -> None:
    if task_type == "best":
        page.get_by_role("button", name=f"Choose {LETTERS[order[0]].upper()}").click()
    elif task_type == "best_worst":
        for place, name in zip(order, ("Best", "Worst"), strict=True):
            page.get_by_label(f"{name}: {LETTERS[place].upper()}").check()
    else:
        for rank, place in enumerate(order, start=1):
            page.get_by_label(f"Place of {LETTERS[place].upper()}").select_option(str(rank))


@pytest.mark.parametrize(("inline_size", "scheme"), [(390, "light"), (1280, "dark")])
def test_the_owners_words_stand_on_the_marks(live_site, page, project, axe, inline_size, scheme):
    page.set_viewport_size({"width": inline_size, "height": 844})
    page.emulate_media(color_scheme=scheme)
    words = {"best_words": "Shows the most intense emotion", "worst_words": "Shows the least intense emotion"}
    annotator = come_in(page, live_site, set_task(project, "best_worst", 4, **words))
    axe(page)
    snap(page, f"own-words-{inline_size}-{scheme}")
    assert not sideways(page)
    page.get_by_text(words["best_words"] + ": C").click()
    page.get_by_text(words["worst_words"] + ": A").click()
    page.get_by_role("button", name="Done").click()
    expect_done(page, 1)
    expect_label(annotator, [2, 0])
    expect(page.locator(".labelling-undone")).to_contain_text(f"you marked C as “{words['best_words']}”")
