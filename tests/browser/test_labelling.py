"""Annotating in a real browser: by tap and by mouse, without JavaScript, with hostile texts, in every state."""

import re
from io import BytesIO

import pytest
from django.core.files.base import ContentFile
from django.urls import reverse
from PIL import Image
from playwright.sync_api import expect

from annotate.models import Annotator, Item, Presentation
from tests.browser.annotating import PHONE, WITHOUT, come_in, expect_done, labels, long_enough, look, sideways
from tests.conftest import answer_one, make_annotator


@pytest.fixture
def project(project):
    return long_enough(project, more_means="more convincing", instructions="Read **both** arguments before you choose.")


# --- By tap and by mouse ----------------------------------------------------------------------------------------------


def test_the_whole_way_by_tap_on_a_phone(live_site, open_page, project):
    page = open_page(**PHONE)
    page.goto(live_site + reverse("join", args=[project.join_token]))
    page.get_by_role("button", name="Start").tap()
    expect(page.locator("#answer")).to_be_visible()
    page.wait_for_load_state()
    annotator = Annotator.objects.get()
    assert not sideways(page)
    expect(page.locator("kbd:visible")).to_have_count(0)
    a, b = (page.locator(f"#option-{letter}").bounding_box() for letter in "ab")
    assert a["y"] + a["height"] <= b["y"]  # A stands over B
    for button in page.locator("#task button:visible").all():
        box = button.bounding_box()
        assert box["height"] >= 44, button.inner_text()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    page.get_by_role("button", name="B is more convincing").tap()
    expect_done(page, 1)
    page.get_by_role("button", name="Tie").tap()
    expect_done(page, 2)
    page.get_by_role("button", name="Undo").tap()
    expect_done(page, 1)
    page.get_by_role("button", name="Can't judge").tap()
    expect_done(page, 2)
    assert labels(annotator) == [("choice", 1), ("cant_judge", None)]


def test_long_texts_leave_the_answers_in_reach_and_both_in_sight(live_site, open_page, project):
    project.items.update(retired_at=project.created_at)
    Item.objects.create(project=project, key="long", body="A long argument. " * 600)
    Item.objects.create(project=project, key="short", body="A short one. " * 12)
    for options in (PHONE, {"viewport": {"width": 1280, "height": 800}}):
        page = open_page(**options)
        come_in(page, live_site, project, name=f"At {options['viewport']['width']}")
        page.mouse.move(200, 300)
        page.evaluate("window.scrollTo({top: 2000, behavior: 'instant'})")
        for name in ("A is more convincing", "B is more convincing", "Skip"):
            expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
        if options is not PHONE:
            expect(page.locator(".item-body").filter(has_text="A short one.")).to_be_in_viewport(ratio=0.99)
        page.get_by_role("button", name="A is more convincing").click()
        expect(page.get_by_role("heading", name="All done")).to_be_visible()
        assert page.evaluate("window.scrollY") == 0


def test_a_double_click_sends_one_label(live_site, page, project):
    annotator = come_in(page, live_site, project)
    for n, times in enumerate((2, 3), start=1):
        page.get_by_role("button", name="A is more convincing").click(click_count=times, delay=20)
        expect_done(page, n)
        page.wait_for_timeout(400)
        assert labels(annotator) == [("choice", 0)] * n


def test_a_second_click_counts_once_the_next_task_can_be_seen(live_site, page, project):
    annotator = come_in(page, live_site, project)
    for wait, expected in ((60, 1), (500, 3)):  # half of a double click, a quick person
        page.evaluate(
            """(wait) => document.addEventListener("task:shown", () => setTimeout(() => {
                 const second = new MouseEvent("click", { bubbles: true, cancelable: true, detail: 2 });
                 document.querySelector("#answer button[value=a]").dispatchEvent(second);
               }, wait), { once: true })""",
            wait,
        )
        page.get_by_role("button", name="A is more convincing").click()
        expect_done(page, expected)
        page.wait_for_timeout(400)
        assert labels(annotator) == [("choice", 0)] * expected


# --- Without JavaScript -----------------------------------------------------------------------------------------------


def test_the_whole_way_without_javascript(live_site, open_page, project):
    project.cap = 2
    project.save()
    page = open_page(**WITHOUT)
    annotator = come_in(page, live_site, project)
    expect(page.locator("kbd:visible")).to_have_count(0)
    page.get_by_role("button", name="Help").click()
    expect(page.get_by_text("Read both arguments")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="A is more convincing").click()
    expect(page.get_by_text("1 of 2")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("0 of 2")).to_be_visible()
    page.get_by_role("button", name="Both bad").click()
    page.get_by_role("button", name="B is more convincing").click()
    expect(page.get_by_role("heading", name="All done")).to_be_visible()
    assert labels(annotator) == [("both_bad", None), ("choice", 1)]
    page.go_back()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("1 of 2")).to_be_visible()


def test_back_and_another_answer_is_told_without_javascript(live_site, open_page, project):
    page = open_page(**WITHOUT)
    annotator = come_in(page, live_site, project)
    action = page.locator("#answer").get_attribute("action")
    page.get_by_role("button", name="A is more convincing").click()
    page.locator("#answer").evaluate("(form, action) => { form.action = action }", action)  # the old page, brought back
    page.get_by_role("button", name="B is more convincing").click()
    expect(page.get_by_text("had already answered that task (you chose A)")).to_be_visible()
    assert labels(annotator) == [("choice", 0)]


# --- Time -------------------------------------------------------------------------------------------------------------


def test_only_time_in_view_counts(live_site, page, project):
    annotator = come_in(page, live_site, project)
    hide = "Object.defineProperty(document, 'hidden', {configurable: true, get: () => %s});"
    tell = "document.dispatchEvent(new Event('visibilitychange'))"
    page.wait_for_timeout(200)
    page.evaluate(hide % "true" + tell)
    page.wait_for_timeout(1500)
    page.evaluate(hide % "false" + tell)
    page.wait_for_timeout(200)
    page.keyboard.press("1")
    expect_done(page, 1)
    assert 400 <= annotator.labels.get().response_ms < 1500


# --- Content ----------------------------------------------------------------------------------------------------------


def test_hostile_texts_stay_texts(live_site, page, axe, project):
    project.items.update(retired_at=project.created_at)
    project.name = project.question = "<script>document.title = 'run'</script>"
    project.instructions = "<img src=x onerror=alert(1)> [x](javascript:alert(1))"
    project.save()
    Item.objects.create(project=project, key="script", body="<script>alert(1)</script> \u202egnihton" + "w" * 10_000)
    Item.objects.create(
        project=project,
        key="md",
        kind="markdown",
        body="<img src=x onerror=alert(1)> [x](javascript:alert(1)) ![y](//z)",
    )
    page.on("dialog", lambda dialog: pytest.fail(f"a text ran: {dialog.message}"))
    come_in(page, live_site, project, name="<b>Ann</b>")
    assert not sideways(page)
    expect(page.get_by_text("<script>alert(1)</script>")).to_be_visible()
    expect(page.locator("#answer img, #answer script, #answer a")).to_have_count(0)
    assert "run" != page.title()
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="You are <b>Ann</b>")).to_be_visible()
    axe(page)


def picture(colour: str) -> bytes:
    out = BytesIO()
    Image.new("RGB", (640, 480), colour).save(out, "PNG")
    return out.getvalue()


def test_images_are_told_in_words_shown_whole_and_open_in_full(live_site, page, axe, project, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    project.items.update(retired_at=project.created_at)
    for colour in ("teal", "salmon", "gold"):
        item = Item(project=project, key=colour, kind=Item.Kind.IMAGE, body=f"A plain {colour} picture")
        item.media.save(f"{colour}.png", ContentFile(picture(colour)), save=True)
    come_in(page, live_site, project)
    images = page.get_by_role("img", name=re.compile("A plain (teal|salmon|gold) picture"))
    expect(images).to_have_count(2)
    for image in images.all():
        expect(image).to_be_in_viewport(ratio=1)
        assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 640
    axe(page)
    page.get_by_role("link", name="Full size of A").click()
    closely = page.get_by_role("dialog", name="Enlarged image")
    expect(closely.get_by_role("img", name=re.compile("A plain .* picture"))).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(closely).to_be_hidden()
    page.keyboard.press("1")  # the focus came back to the task
    expect_done(page, 1)
    expect(page.locator("#announcer")).to_contain_text(re.compile("Option A, A plain .* picture"))


def test_titles_and_texts_under_images_are_told_once_on_a_phone(live_site, open_page, axe, project, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    project.items.update(retired_at=project.created_at)
    for colour in ("teal", "salmon", "gold"):
        item = Item(
            project=project, key=colour, name=f"Team {colour}", kind=Item.Kind.IMAGE, body=f"Our {colour} pitch."
        )
        item.media.save(f"{colour}.png", ContentFile(picture(colour)), save=True)
    type(project).objects.filter(pk=project.pk).update(media_captions="both")
    page = open_page(viewport=PHONE["viewport"])
    come_in(page, live_site, project)
    option = page.locator("#option-a")
    told = option.aria_snapshot()
    assert len(re.findall("Team (?:teal|salmon|gold)", told)) == 1, told
    assert len(re.findall("Our (?:teal|salmon|gold) pitch", told)) == 1, told
    look(page, axe)
    zoom, caption = option.get_by_role("link", name="Full size of A"), option.locator(".item-caption")
    assert zoom.bounding_box()["y"] + zoom.bounding_box()["height"] <= caption.bounding_box()["y"] + 1
    zoom.click()
    closely = page.get_by_role("dialog", name="Enlarged image")
    expect(closely.get_by_role("img", name=re.compile("Our .* pitch"))).to_be_in_viewport()
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    expect_done(page, 1)
    expect(page.locator("#announcer")).to_contain_text(re.compile("Option A, Team (teal|salmon|gold)"))


# --- Every state ------------------------------------------------------------------------------------------------------


def test_every_state_is_accessible(live_site, open_page, axe, project):
    """Each on a light phone and on a dark desk."""
    page = open_page(viewport=PHONE["viewport"])

    def look_again(**values) -> None:
        type(project).objects.filter(pk=project.pk).update(**values)
        page.goto(live_site + reverse("label", args=[project.pk]))
        look(page, axe)

    look_again()  # nobody knows this browser
    page.goto(live_site + reverse("join", args=[project.join_token]))
    look(page, axe)
    page.locator("summary", has_text="What is stored").click()
    look(page, axe)
    make_annotator(project, "Quiet Otter")
    page.get_by_label("Your name here").fill("Quiet Otter")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("“Quiet Otter” is already taken")).to_be_visible()
    look(page, axe)
    annotator = come_in(page, live_site, project, name="Brisk Heron")
    look(page, axe)
    page.locator("#task").get_by_role("button", name="Help").click()
    look(page, axe)
    page.keyboard.press("Escape")
    page.context.set_offline(True)
    page.get_by_role("button", name="A is more convincing").click()
    expect(page.get_by_text("Not sent yet – retrying.", exact=True)).to_be_visible()
    look(page, axe)
    page.context.set_offline(False)
    expect_done(page, 1)
    look(page, axe)
    Presentation.objects.filter(state="open").update(state="expired")
    look_again()
    expect(page.get_by_role("button", name="Continue")).to_be_visible()
    look_again(state="paused")
    look_again(state="closed")
    look_again(state="open", cap=1)
    expect(page.get_by_role("heading", name="All done")).to_be_visible()
    look_again(cap=None)
    page.goto(live_site + reverse("resume", args=[annotator.resume_token]))
    look(page, axe)
    answer_one(annotator)
    Annotator.objects.update(excluded_at=project.created_at)
    look_again()
    expect(page.get_by_role("heading", name="You can't answer here")).to_be_visible()
