"""The next question is there before the answer has arrived: over a slow network and server, a lost one, in two tabs."""

import statistics
import time

import pytest
from playwright.sync_api import Page, expect

from annotate.labelling import views
from annotate.labelling.actions import record_and_assign_next
from tests.browser.annotating import come_in_prepared, expect_done, labels, long_enough, stop_at_will

# When a key was pressed, when the next question had been painted, when the reply to the answer came.
WATCH = """
window.turns = [];
document.addEventListener("keydown", (event) => {
    const before = document.getElementById("task")?.dataset.token;
    const turn = { pressed: event.timeStamp };
    window.turns.push(turn);
    const look = () => {
        if (document.getElementById("task")?.dataset.token === before) return requestAnimationFrame(look);
        setTimeout(() => { turn.shown = performance.now(); });
    };
    requestAnimationFrame(look);
}, { capture: true });
document.addEventListener("htmx:beforeSwap", () => {
    const waiting = window.turns.find((turn) => !turn.replied);
    if (waiting) waiting.replied = performance.now();
});
"""


@pytest.fixture
def project(project):
    return long_enough(project)


def slow(page: Page, ms: int, monkeypatch) -> None:
    """A network with this delay, by the browser's own tools, before a server that takes a second."""

    def after_a_second(**what):
        time.sleep(1)
        return record_and_assign_next(**what)

    monkeypatch.setattr(views, "record_and_assign_next", after_a_second)
    tools = page.context.new_cdp_session(page)
    tools.send("Network.enable")
    limits = {"offline": False, "latency": ms, "downloadThroughput": -1, "uploadThroughput": -1}
    tools.send("Network.emulateNetworkConditions", limits)


def token(page: Page) -> str:
    return page.locator("#task").get_attribute("data-token")


@pytest.mark.slow
def test_the_next_question_shows_before_the_answer_has_arrived(live_site, page, project, monkeypatch, capsys):
    page.add_init_script(WATCH)
    annotator = come_in_prepared(page, live_site, project)
    slow(page, 300, monkeypatch)
    for n in range(1, 14):
        page.keyboard.press("1")
        expect_done(page, n)
        page.wait_for_timeout(50)
    turns = page.evaluate("window.turns")
    waits = sorted(turn["shown"] - turn["pressed"] for turn in turns)
    replies = sorted(turn["replied"] - turn["pressed"] for turn in turns)
    with capsys.disabled():
        print(
            f"\nkey to next question: median {statistics.median(waits):.0f} ms, longest of 13 {waits[-1]:.0f};", end=" "
        )
        print(f"key to reply: shortest {replies[0]:.0f} ms")
    assert all(turn["shown"] < turn["replied"] for turn in turns)
    assert len(labels(annotator)) == 13


class Gate:
    """Answers reach the server when they are let go, and from then on at once."""

    def __init__(self, page: Page) -> None:
        stop_at_will(page)
        self.held, self.is_open = [], False
        page.route("**/label/*/", lambda route: route.continue_() if self.is_open else self.held.append(route))

    def let_go(self) -> None:
        self.is_open = True
        for route in self.held:
            route.continue_()


def test_an_answer_to_the_question_held_waits_for_the_one_before(live_site, page, project):
    annotator = come_in_prepared(page, live_site, project)
    gate, first = Gate(page), token(page)
    page.keyboard.press("1")
    expect(page.locator("#task")).not_to_have_attribute("data-token", first)
    second = token(page)
    assert labels(annotator) == []
    page.keyboard.press("2")
    page.keyboard.press("1")  # that one is answered: this is for nothing
    expect(page.locator("#option-b.is-chosen")).to_be_visible()
    assert (token(page), len(gate.held)) == (second, 1)
    gate.let_go()
    expect_done(page, 2)
    assert labels(annotator) == [("choice", 0), ("choice", 1)]


def test_undo_pressed_before_the_answer_has_arrived_takes_that_answer_back(live_site, page, project):
    annotator = come_in_prepared(page, live_site, project)
    gate, first = Gate(page), page.locator("#option-a .item-body").inner_text()
    page.keyboard.press("1")
    expect(page.locator("#option-a .item-body")).not_to_have_text(first)
    page.keyboard.press("u")
    gate.let_go()
    expect(page.locator("#option-a .item-body")).to_have_text(first)
    expect_done(page, 0)
    assert labels(annotator) == []
    assert annotator.labels.get().void_reason == "undone"


def test_a_break_is_not_skipped_and_a_closed_project_takes_the_question_back(live_site, page, axe, project):
    type(project).objects.update(break_every=2)
    annotator = come_in_prepared(page, live_site, project)
    for n in (1, 2):
        page.keyboard.press("1")
        expect_done(page, n)
    expect(page.locator(".labelling-stop")).to_contain_text("Time for a short break?")
    with page.expect_response("**/label/ahead/"):
        page.get_by_role("button", name="Continue").click()
    expect(page.locator("#answer")).to_be_visible()
    page.wait_for_timeout(50)
    type(project).objects.update(state="closed")
    page.keyboard.press("1")
    expect(page.get_by_role("heading", name="Closed")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("Your answer was not counted.")
    axe(page)
    assert len(labels(annotator)) == 2


def test_two_tabs_answer_the_same_question_once(live_site, page, project):
    annotator = come_in_prepared(page, live_site, project)
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_load_state()
    for tab in (page, other):
        tab.bring_to_front()
        tab.keyboard.press("1")
        expect_done(tab, 1)
    assert labels(annotator) == [("choice", 0)]
    assert token(page) == token(other)


def test_an_answer_given_before_the_server_counts_the_items_as_read_waits_until_it_does(live_site, page, project):
    type(project).objects.update(min_seconds=2)
    annotator = come_in_prepared(page, live_site, project)
    gate, first = Gate(page), token(page)
    button = page.locator("#answer button[value=a]")
    expect(button).to_be_enabled()
    page.keyboard.press("1")
    expect(page.locator("#task")).not_to_have_attribute("data-token", first)
    second = token(page)
    expect(button).to_be_enabled()
    page.keyboard.press("2")
    expect(page.locator("#option-b.is-chosen")).to_be_visible()
    with page.expect_response(f"**/{second}/") as refused:
        gate.let_go()
    assert (refused.value.status, refused.value.headers["retry-after"]) == (409, "2")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect_done(page, 2)
    assert labels(annotator) == [("choice", 0), ("choice", 1)]
