"""Answering by keyboard in a real browser: what keys mean, where they keep away, how they are switched off."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotate.models import Annotator, Presentation
from tests.browser.annotating import come_in, expect_done, labels, long_enough

ANNOUNCER = "#announcer"
ALL_OTHERS = {"t": "tie", "g": "both_good", "b": "both_bad", "c": "cant_judge", "s": "skip", " ": "skip"}


@pytest.fixture
def project(project):
    return long_enough(project, more_means="more convincing", instructions="Read **both** arguments before you choose.")


def test_the_whole_way_by_keyboard_alone(live_site, page, project):
    page.goto(live_site + reverse("join", args=[project.join_token]))
    page.get_by_label("Your name here").focus()
    suggested = page.get_by_label("Your name here").input_value()
    page.keyboard.press("Enter")
    expect(page.locator("#answer")).to_be_visible()
    page.wait_for_load_state()
    annotator = Annotator.objects.get()
    assert annotator.pseudonym == suggested

    given = []
    for key, said in {
        "1": ("choice", 0),
        "2": ("choice", 1),
        "ArrowLeft": ("choice", 0),
        "ArrowRight": ("choice", 1),
    }.items():
        page.keyboard.press(key)
        given.append(said)
        expect_done(page, len(given))
    for key, outcome in ALL_OTHERS.items():
        page.keyboard.press(key)
        given.append((outcome, None))
        expect_done(page, len(given))
    assert labels(annotator) == given

    expect(page.get_by_role("button", name="Undo")).to_contain_text("you skipped")
    for key in ("u", "Backspace"):
        page.keyboard.press(key)
        given.pop()
        expect_done(page, len(given))
    assert labels(annotator) == given

    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("1")
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    page.keyboard.press("1")
    expect_done(page, len(given) + 1)
    assert labels(annotator) == [*given, ("choice", 0)]


def test_a_key_pressed_the_moment_a_task_shows_counts_in_place(live_site, page, project):
    annotator = come_in(page, live_site, project)
    page.evaluate("""() => {
        window.stayed = true;
        document.addEventListener("task:shown", () => setTimeout(
            () => document.dispatchEvent(new KeyboardEvent("keydown", { key: "2", bubbles: true }))
        ), { once: true });
    }""")
    page.keyboard.press("1")
    expect_done(page, 2)
    assert labels(annotator) == [("choice", 0), ("choice", 1)]
    assert page.evaluate("window.stayed")  # the second was not sent by a whole new page


def test_the_next_task_has_the_focus_and_is_told(live_site, page, project):
    come_in(page, live_site, project)
    page.keyboard.press("2")
    expect_done(page, 1)
    expect(page.locator("#task")).to_be_focused()
    shown = Presentation.objects.get(state="open", ahead=False).presented.select_related("item")
    first, second = (one.item.body for one in shown)
    expect(page.locator("#announcer")).to_have_text(
        f"You chose B. Task 2 of 40. Option A, {first}. Option B, {second}."
    )


def test_a_text_that_ends_a_sentence_is_told_without_a_second_full_stop(live_site, page, project):
    for item in project.items.all():
        item.body += "."
        item.save()
    come_in(page, live_site, project)
    page.keyboard.press("2")
    expect_done(page, 1)
    shown = Presentation.objects.get(state="open", ahead=False).presented.select_related("item")
    first, second = (one.item.body for one in shown)
    expect(page.locator("#announcer")).to_have_text(f"You chose B. Task 2 of 40. Option A, {first} Option B, {second}")


def test_keys_keep_away_from_controls_fields_modifiers_and_repeats(live_site, page, project):
    annotator = come_in(page, live_site, project)
    help_button = page.locator("#task").get_by_role("button", name="Help")
    help_button.focus()
    for key in ("1", "t", "s", "u"):
        page.keyboard.press(key)
    page.keyboard.press(" ")  # presses the focused button, does not skip
    expect(page.locator("#help")).to_be_visible()
    page.get_by_label("Your personal link").focus()
    for key in ("1", "ArrowRight", "s", "Backspace"):
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    help_button.focus()
    page.keyboard.press("Escape")  # leaves the control
    expect(page.locator("#task")).to_be_focused()
    for combination in ("Control+1", "Alt+t", "Shift+S", "Meta+b", "Control+Backspace"):
        page.keyboard.press(combination)
    page.wait_for_timeout(400)
    assert labels(annotator) == []

    page.keyboard.down("1")
    for _ in range(5):
        page.keyboard.down("1")  # the key is held: the browser repeats it
    expect_done(page, 1)
    for _ in range(5):
        page.keyboard.down("1")
    page.keyboard.up("1")
    page.wait_for_timeout(400)
    assert labels(annotator) == [("choice", 0)]


def test_keys_without_a_meaning_here_are_not_captured(live_site, page, project):
    project.outcomes = ["tie"]
    project.save()
    annotator = come_in(page, live_site, project)
    page.evaluate(
        "window.captured = []; addEventListener('keydown', (e) => { if (e.defaultPrevented) captured.push(e.key) })"
    )
    for key in (
        "g",
        "b",
        "c",
        "s",
        " ",
        "u",
        "Backspace",
        "x",
        "3",
        "9",
        "Enter",
        "Tab",
        "Home",
        "ArrowDown",
        "PageDown",
    ):
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press(key)
    assert page.evaluate("captured") == []
    page.keyboard.press("t")
    expect_done(page, 1)
    assert page.evaluate("captured") == ["t"]
    assert labels(annotator) == [("tie", None)]


def test_keys_switched_off_stay_off(live_site, page, project):
    annotator = come_in(page, live_site, project)
    page.keyboard.press("?")
    page.get_by_role("button", name="Switch the keys off").click()
    expect(page.get_by_text("The keys are off.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#answer kbd:visible")).to_have_count(0)
    for _ in range(2):
        for key in ("1", "t", " ", "?"):
            page.keyboard.press(key)
        page.wait_for_timeout(300)
        assert labels(annotator) == []
        expect(page.locator("#help")).to_be_hidden()
        page.reload()
    page.locator("#task").get_by_role("button", name="Help").click()
    page.get_by_role("button", name="Switch the keys on").click()
    expect(page.get_by_text("The keys are on.")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    expect_done(page, 1)


def test_undoing_is_told_and_what_is_refused_is_not_told_as_done(live_site, page, project):
    annotator = come_in(page, live_site, project)
    page.keyboard.press("1")
    expect_done(page, 1)
    page.keyboard.press("u")
    expect_done(page, 0)
    expect(page.locator(ANNOUNCER)).to_contain_text("Your last answer is undone. Task 1 of 40.")
    page.keyboard.press("2")
    expect_done(page, 1)
    annotator.labels.filter(voided_at=None).update(voided_at=timezone.now(), void_reason="undone")
    page.keyboard.press("u")
    expect(page.get_by_role("alert")).to_contain_text("Nothing was undone.")
    expect(page.locator(ANNOUNCER)).to_contain_text("Option A")
    expect(page.locator(ANNOUNCER)).not_to_contain_text("is undone")


def test_help_closes_as_the_focus_leaves_it_for_what_it_covers(live_site, page, project):
    come_in(page, live_site, project)
    page.get_by_role("button", name="Help").focus()
    page.keyboard.press("Enter")
    panel = page.locator("#help")
    expect(panel).to_be_visible()
    n_inside = panel.locator("a:visible, button:visible, input:visible").count()
    for _step in range(n_inside):
        page.keyboard.press("Tab")
        expect(panel.locator(":focus")).to_have_count(1)
    page.keyboard.press("Tab")
    expect(panel).to_be_hidden()
    expect(page.locator("#task :focus")).to_be_visible()
