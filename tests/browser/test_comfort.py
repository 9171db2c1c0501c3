"""Own keys, own answers, pace, swiping and right-to-left pages in a real browser, clean by axe in light and dark."""

import re

import pytest
from django.urls import reverse
from django.utils import translation
from playwright.sync_api import Page, expect

from annotate.models import Annotator, Item
from tests.browser.annotating import PHONE, come_in, expect_done, labels, sideways
from tests.conftest import answer_one
from tests.site.task_types import set_task


@pytest.fixture
def project(project):
    project.cap, project.more_means, project.overlap = 40, "more convincing", 9
    project.save()
    return project


def test_own_keys_own_answers_and_pace(live_site, page, axe, project):
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    annotator = come_in(page, live_site, project)
    page.keyboard.press("?")
    page.get_by_role("link", name="Choose your own keys").click()
    page.wait_for_load_state()
    page.get_by_label("Choose A").press_sequentially("qf")  # the second replaces the first
    page.get_by_label("Choose B").press_sequentially("f")
    page.get_by_role("button", name="Save the keys").click()
    expect(page.get_by_text("“f” is also the key for “Choose B”.")).to_be_visible()
    page.wait_for_load_state()
    axe(page)
    page.get_by_label("Choose B").press_sequentially("j")
    page.get_by_label("Undo the last answer").fill("")
    page.get_by_role("button", name="Save the keys").click()
    expect(page.get_by_text("Your keys are saved.")).to_be_visible()
    page.wait_for_load_state()
    expect(page.get_by_role("button", name="A is more convincing").locator("kbd")).to_have_text("f")
    axe(page)
    page.keyboard.press("1")  # means nothing any more
    page.keyboard.press("u")
    page.keyboard.press("Shift+Numpad4")  # a 4 of the number pad: the chosen key takes its meaning too
    page.keyboard.press("Shift+F")  # Shift makes it another shortcut
    for n, key in enumerate(["f", "j", "ArrowRight", "t", "ArrowLeft", "0", "f", "f"], start=1):
        page.keyboard.press(key)
        expect_done(page, n)
    said = [("choice", 0), ("choice", 1), ("choice", 1), ("tie", None), ("choice", 0), ("tie", None)]
    assert labels(annotator) == [*said, ("choice", 0), ("choice", 0)]
    expect(page.get_by_text(re.compile("less than a minute left|about [0-9]+ minutes? left"))).to_be_visible()
    page.keyboard.press("Control+z")
    expect_done(page, 7)

    page.locator("#task").get_by_role("button", name="Help").click()
    page.get_by_role("link", name="View your answers so far").click()
    expect(page.locator(".own-answer")).to_have_count(8)
    expect(page.get_by_text("You undid this answer; it does not count.")).to_have_count(1)
    axe(page)
    page.emulate_media(color_scheme="light")
    axe(page)
    page.get_by_role("button", name="Undo, and answer again").click()
    expect_done(page, 6)
    assert labels(annotator) == said


def swipe(page: Page, selector: str, dx: float, dy: float = 0) -> None:
    box = page.locator(selector).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    fingers = page.context.new_cdp_session(page)
    fingers.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 9):
        at = {"x": x + dx * step / 8, "y": y + dy * step / 8}
        fingers.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [at]})
    fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_swipe_to_the_side_chooses_and_every_other_one_does_not(live_site, open_page, project, motion):
    project.items.update(retired_at=project.created_at)
    wide = "| " + " | ".join(f"column {i}" for i in range(20)) + " |\n|" + "---|" * 20
    for number, body in enumerate(["Plain. " * 60, "Short.", "Other. " * 50]):
        Item.objects.create(project=project, key=f"s{number}", kind="markdown", body=f"{body}\n\n{wide}")
    page = open_page(**PHONE, reduced_motion=motion)
    annotator = come_in(page, live_site, project)
    expect(page.get_by_text("Swipe the better one to the side")).to_be_visible()
    swipe(page, "#option-a .option-name", 20)  # too short
    swipe(page, "#option-a .option-name", 0, -200)  # scrolls
    page.evaluate("window.scrollTo({top: 0, behavior: 'instant'})")
    swipe(page, "#option-a table", -150)  # moves the table
    page.evaluate("window.scrollTo({top: 0, behavior: 'instant'})")
    page.wait_for_timeout(400)
    assert labels(annotator) == []
    assert page.locator("#option-a").evaluate("card => card.style.translate") == ""
    swipe(page, "#option-a .option-name", 220)
    expect_done(page, 1)
    page.locator("#option-b .option-name").scroll_into_view_if_needed()
    swipe(page, "#option-b .option-name", 250)
    expect_done(page, 2)
    assert labels(annotator) == [("choice", 0), ("choice", 1)]


def test_focus_is_never_under_the_bar_and_a_scale_is_not_swiped(live_site, open_page, project):
    page = open_page(**PHONE)
    annotator = come_in(page, live_site, set_task(project, "graded", 2))
    expect(page.get_by_text("Swipe the better one")).to_have_count(0)
    swipe(page, "#option-a", 250)
    page.context.clear_cookies()
    come_in(page, live_site, set_task(project, "ranking", 6), "Brisk Heron")
    bar = page.locator(".answer-bar").bounding_box()["y"]
    for button in page.locator("[data-tray] [data-pick]").all():
        button.focus()
        box = button.bounding_box()
        assert box["y"] + box["height"] <= bar
    page.set_viewport_size({"width": 844, "height": 390})  # a phone on its side
    assert page.locator(".answer-bar").evaluate("bar => getComputedStyle(bar).position") == "static"
    assert labels(annotator) == []


# --- Right to left ----------------------------------------------------------------------------------------------------

LEAKS = """() => {
  const isolating = ["isolate", "isolate-override", "plaintext"];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const leaks = [];
  while (walker.nextNode()) {
    if (!walker.currentNode.data.includes("\\u202e")) continue;
    let one = walker.currentNode.parentElement;
    while (one && !isolating.includes(getComputedStyle(one).unicodeBidi)) {
      one = getComputedStyle(one).display.startsWith("inline") ? one.parentElement : null;
    }
    const parent = walker.currentNode.parentElement;
    if (!one && parent.childNodes.length > 1) leaks.push(parent.outerHTML);
  }
  return leaks;
}"""


@pytest.mark.parametrize("size", [PHONE, {"viewport": {"width": 1280, "height": 800}}], ids=["phone", "desktop"])
def test_right_to_left_pages_stay_in_their_width_and_keep_hostile_texts_in(
    live_site, open_page, axe, project, settings, size
):
    settings.LANGUAGES, settings.LANGUAGE_CODE = [("ar", "Arabic")], "ar"
    project.name = project.question = project.more_means = "\u202eevil " + "w" * 60
    project.question_ahead = False  # what is open is taken back below, which a question on its way would undo
    project.instructions = "\u202eread this"
    project.save()
    project.items.update(body="\u202etxet edis gnorw " + "long" * 30)
    page = open_page(**size)
    page.goto(live_site + reverse("join", args=[project.join_token]))
    page.locator("[name=pseudonym]").fill("\u202eyllib")
    page.locator("form .button-primary").click()
    expect(page.locator("#answer")).to_be_visible()
    page.wait_for_load_state()
    annotator = Annotator.objects.get()

    def check() -> None:
        assert page.evaluate("document.documentElement.dir") == "rtl"
        assert not sideways(page)
        assert page.evaluate(LEAKS) == []

    check()
    axe(page)
    if size is not PHONE:
        a, b = (page.locator(f"#option-{letter}").bounding_box()["x"] for letter in "ab")
        assert a > b  # A is at the start of the line: on the right
    page.keyboard.press("ArrowRight")
    expect(page.locator(".progress")).to_contain_text("1")
    expect(page.locator(".is-chosen")).to_have_count(0)
    assert labels(annotator) == [("choice", 0)]
    page.keyboard.press("?")
    check()
    for number, task in enumerate([("graded", 2), ("best", 3), ("best_worst", 4), ("ranking", 4)]):
        annotator.presentations.filter(state="open").update(state="expired")
        set_task(project, *task)
        page.goto(live_site + reverse("label", args=[project.pk]))
        page.locator("#task .button-primary").click()
        expect(page.locator("#answer")).to_be_visible()
        check()
        with translation.override("en"):
            if number == 0:
                set_task(project, "pair", 2)
                answer_one(annotator)
    for name in ("keys", "own-answers"):
        page.goto(live_site + reverse(name, args=[project.pk]))
        check()
