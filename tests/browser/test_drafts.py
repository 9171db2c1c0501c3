"""Half-made answers and comments: there again after a reload, sent with the answer, then forgotten."""

import pytest
from playwright.sync_api import expect

from tests.browser.annotating import PHONE, WITHOUT, come_in, expect_done, expect_label, long_enough, option, snap
from tests.site.task_types import set_task


@pytest.fixture
def project(project):
    return long_enough(project)


@pytest.mark.parametrize("options", [{}, PHONE, WITHOUT], ids=["keyboard", "touch", "without JavaScript"])
def test_a_comment_goes_with_the_answer(live_site, open_page, project, axe, options):
    project.comments = True
    project.save()
    page = open_page(**options)
    annotator = come_in(page, live_site, project)
    page.get_by_text("Add a comment").click()
    page.get_by_label("For the project's owner").fill("Both say 1 thing\nand t")
    page.keyboard.press("b")  # types; keys rest while a field has the focus
    snap(page, f"comment-{len(options)}")
    if "java_script_enabled" not in options:
        axe(page)
        page.keyboard.press("Escape")
        page.keyboard.press("2")
    else:
        page.get_by_role("button", name="B is better").click()
    expect_done(page, 1)
    expect_label(annotator, [1])
    assert annotator.labels.get().comment == "Both say 1 thing\nand tb"
    expect(page.locator("#comment")).to_have_value("")
    expect(page.locator("#comment")).to_be_hidden()


@pytest.mark.parametrize("closed", [False, True], ids=["reloaded", "closed and opened again"])
def test_a_half_made_answer_is_there_again(live_site, page, project, closed):
    def come_back() -> None:
        """The browser closes, or only loads the page again."""
        nonlocal page
        address, context = page.url, page.context
        if closed:
            page.close()
            page = context.new_page()
            page.goto(address)
        else:
            page.reload()
        page.wait_for_load_state()

    project.comments = True
    project.save()
    annotator = come_in(page, live_site, set_task(project, "top", 5, 3))
    page.keyboard.press("3")
    page.keyboard.press("1")
    page.get_by_text("Add a comment").click()
    page.get_by_label("For the project's owner").fill("Half a thou")
    come_back()
    expect(page.locator("[data-ranked] .option-name")).to_have_text(["Option C", "Option A"])
    expect(page.get_by_label("For the project's owner")).to_have_value("Half a thou")
    page.locator("#task").focus()
    page.keyboard.press("3")  # taken out again: that is remembered too
    come_back()
    expect(page.locator("[data-ranked] .option-name")).to_have_text(["Option A"])
    page.locator("#task").focus()
    for key in ("2", "5", "Enter"):
        page.keyboard.press(key)
    expect_done(page, 1)
    expect_label(annotator, [0, 1, 4])
    assert annotator.labels.get().comment == "Half a thou"
    expect(page.locator("[data-ranked] .option-name")).to_have_count(0)

    page.context.clear_cookies()
    annotator = come_in(page, live_site, set_task(project, "best_worst", 5), "Amber Heron")
    page.keyboard.press("2")
    come_back()
    expect(option(page, 1).get_by_label("Best")).to_be_checked()
    expect(page.locator("[data-count]")).to_have_text("1 of 2")
    page.keyboard.press("3")
    expect(page.locator("[data-count]")).to_have_text("2 of 2")
    page.keyboard.press("Enter")
    expect_done(page, 1)
    expect_label(annotator, [1, 2])
    assert not [name for name in page.evaluate("Object.keys(localStorage)") if name.startswith("crowdrank-draft")]
