"""Answers on a bad network or server: kept on the page, sent once, and the annotator told."""

import re
import threading

import pytest
from django.db import OperationalError
from django.urls import reverse
from playwright.sync_api import expect

from annotate.core import database_outages
from annotate.core.database_outages import Breaker
from annotate.models import Annotator, Label
from tests.browser.annotating import (
    come_in,
    come_in_prepared,
    expect_done,
    expect_label,
    labels,
    long_enough,
    stop_at_will,
)
from tests.site.task_types import set_task


@pytest.fixture
def project(project):
    return long_enough(project, more_means="more convincing")


def test_an_answer_given_offline_is_sent_once_when_the_network_is_back(live_site, page, project):
    annotator = come_in(page, live_site, project)
    page.context.set_offline(True)
    page.keyboard.press("1")
    expect(page.get_by_text("Not sent yet – retrying.", exact=True)).to_be_visible()
    expect(page.locator("#announcer")).to_contain_text("Not sent yet")
    page.keyboard.press("2")  # the answer is given: it waits, another one is not taken
    page.get_by_role("button", name="Tie").click()
    assert labels(annotator) == []
    page.context.set_offline(False)
    expect_done(page, 1)
    expect(page.locator("#unsent")).to_be_hidden()
    page.keyboard.press("2")
    expect_done(page, 2)
    assert labels(annotator) == [("choice", 0), ("choice", 1)]


def test_an_unsent_answer_survives_a_reload_with_its_timing(live_site, page, project):
    stop_at_will(page)
    annotator = come_in(page, live_site, project)
    page.route("**/label/*/", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    page.wait_for_timeout(300)
    page.keyboard.press("t")
    expect(page.get_by_text("Not sent yet – retrying.", exact=True)).to_be_visible()
    page.wait_for_timeout(1200)
    page.reload()
    expect(page.get_by_text("Not sent yet – retrying.", exact=True)).to_be_visible()
    page.unroute_all()
    page.get_by_role("button", name="Try now").click()
    expect_done(page, 1)
    label = annotator.labels.get()
    assert label.outcome == "tie"
    assert 300 <= label.response_ms < 1200  # as it was when it was given
    page.reload()
    page.wait_for_timeout(300)
    assert annotator.labels.count() == 1


def test_a_failing_server_is_asked_again(live_site, page, project):
    stop_at_will(page)
    annotator = come_in(page, live_site, project)
    sent, broken = [], None

    def serve(route):
        sent.append(route.request.post_data)
        if broken:
            route.fulfill(status=broken, content_type="text/html", body="<p>broken</p>")
        else:
            route.continue_()

    page.route("**/label/*/", serve)
    for n, broken in enumerate((429, 500, 503), start=1):
        sent.clear()
        page.keyboard.press("1")
        expect(page.get_by_text("Not sent yet – retrying.", exact=True)).to_be_visible()
        broken = None
        expect_done(page, n)
        assert len(sent) > 1
        assert len(set(sent)) == 1  # the same answer, with the timing it was given with
    assert labels(annotator) == [("choice", 0)] * 3


def test_an_answer_given_while_the_database_is_away_is_kept_and_sent(live_site, page, project, monkeypatch):
    back = threading.Event()

    def probe() -> None:
        if not back.is_set():
            raise OperationalError("away")

    breaker = Breaker(probe)
    monkeypatch.setattr(database_outages, "BREAKER", breaker)
    annotator = come_in(page, live_site, project)
    breaker.open()
    page.keyboard.press("1")
    expect(page.get_by_text("Not sent yet – retrying.", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="The site cannot reach its data right now")).to_be_visible()
    assert labels(annotator) == []
    back.set()
    while breaker.is_open():
        page.wait_for_timeout(50)
    page.reload()
    expect_done(page, 1)
    assert labels(annotator) == [("choice", 0)]


def test_the_choice_is_confirmed_on_its_card_while_it_is_sent(live_site, page, project):
    stop_at_will(page)
    type(project).objects.update(question_ahead=False)
    come_in(page, live_site, project)
    held = []
    page.route("**/label/*/", lambda route: held.append(route))
    page.get_by_role("button", name="B is more convincing").click(no_wait_after=True)
    expect(page.locator("#option-b")).to_have_class(re.compile("is-chosen"))
    expect(page.locator("#option-a")).not_to_have_class(re.compile("is-chosen"))
    held[0].continue_()
    expect_done(page, 1)


def test_an_answer_whose_confirmation_was_lost_is_not_doubled(live_site, page, project):
    stop_at_will(page)
    annotator = come_in(page, live_site, project)
    lost = []

    def lose_first_reply(route):
        if not lost:
            lost.append(route.fetch())
            route.abort()
        else:
            route.continue_()

    page.route("**/label/*/", lose_first_reply)
    page.keyboard.press("1")
    expect_done(page, 1)
    assert lost
    assert labels(annotator) == [("choice", 0)]


def test_signed_out_the_answer_waits_for_the_return(live_site, page, sign_in, project, bob):
    sign_in(bob)
    page.goto(live_site + reverse("label", args=[project.pk]))
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#answer")).to_be_visible()
    page.wait_for_load_state()
    page.context.clear_cookies(name="sessionid")
    page.keyboard.press("2")
    expect(page.locator("#unsent").get_by_text("You have been signed out.")).to_be_visible()
    assert not Label.objects.exists()
    page.locator("#unsent").get_by_role("link", name="Sign in").click()
    page.get_by_label("Email").fill(bob.email)
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Sign in").click()
    expect_done(page, 1)
    assert labels(Annotator.objects.get(user=bob)) == [("choice", 1)]


def test_a_token_turned_in_another_tab_costs_nothing(live_site, page, project):
    """Signing in elsewhere changes the cookie that guards forms; the page goes by the cookie, not by its own copy."""
    annotator = come_in_prepared(page, live_site, project)
    page.context.add_cookies([{"name": "csrftoken", "value": "a" * 32, "url": live_site}])
    page.keyboard.press("1")
    expect_done(page, 1)
    assert labels(annotator) == [("choice", 0)]


def test_an_answer_refused_for_its_token_is_sent_again_with_a_fresh_one(live_site, page, project):
    annotator = come_in_prepared(page, live_site, project)
    page.context.clear_cookies(name="csrftoken")
    with page.expect_response("**/label/*/") as refused:
        page.keyboard.press("1")
    assert refused.value.status == 403
    expect_done(page, 1)
    expect(page.locator("#unsent")).to_be_hidden()
    page.context.clear_cookies(name="csrftoken")
    page.keyboard.press("2")  # a later refusal is mended, too
    expect_done(page, 2)
    assert labels(annotator) == [("choice", 0), ("choice", 1)]


def test_an_answer_refused_again_is_kept_and_a_button_sends_it(live_site, page, axe, project):
    annotator = come_in_prepared(page, live_site, project)
    refused = []

    def spoil(route):
        refused.append(route.request.post_data)
        route.continue_(headers={**route.request.headers, "x-csrftoken": "b" * 32})

    page.route(
        re.compile(r"/label/[^/]+/$"),
        lambda route: spoil(route) if route.request.method == "POST" else route.continue_(),
    )
    page.keyboard.press("1")
    unsent = page.locator("#unsent")
    expect(unsent.get_by_text("This page is out of date.")).to_be_visible()
    expect(unsent).to_contain_text("allow cookies for this site")
    assert len(refused) == 2
    assert labels(annotator) == []
    axe(page)
    page.unroute_all()
    unsent.get_by_role("link", name="Reload").click()
    expect_done(page, 1)
    assert labels(annotator) == [("choice", 0)]


def test_a_token_turned_in_another_tab_does_not_stop_who_looks_again(live_site, page, project):
    come_in_prepared(page, live_site, project)
    type(project).objects.update(state="paused")
    page.reload()
    page.context.add_cookies([{"name": "csrftoken", "value": "a" * 32, "url": live_site}])
    type(project).objects.update(state="open")
    page.get_by_role("button", name="Look again").click()
    expect(page.locator("#answer")).to_be_visible()


def test_a_pause_meanwhile_is_told_in_place(live_site, page, axe, project):
    annotator = come_in(page, live_site, project)
    type(project).objects.update(state="paused")
    page.keyboard.press("1")
    expect(page.get_by_role("heading", name="Paused")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("Your answer was not counted.")
    axe(page)
    type(project).objects.update(state="open")
    page.get_by_role("button", name="Look again").click()
    expect(page.locator("#answer")).to_be_visible()
    page.wait_for_load_state()
    page.keyboard.press("1")
    expect_done(page, 1)
    assert labels(annotator) == [("choice", 0)]


def test_a_failed_undo_is_told_and_nothing_is_lost(live_site, page, project):
    annotator = come_in(page, live_site, project)
    page.keyboard.press("1")
    expect_done(page, 1)
    page.context.set_offline(True)
    page.keyboard.press("u")
    expect(page.get_by_role("alert")).to_contain_text("No answer from the server")
    page.context.set_offline(False)
    page.keyboard.press("u")
    expect_done(page, 0)
    assert labels(annotator) == []


def test_a_ranking_survives_a_lost_connection_and_a_closed_tab(live_site, page, project):
    stop_at_will(page)
    annotator = come_in(page, live_site, set_task(project, "ranking", 3))
    page.route("**/label/*/", lambda route: route.abort())
    for key in ("2", "3", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("#unsent")).to_be_visible()
    assert not Label.objects.exists()
    page.unroute_all(behavior="wait")
    page.goto(page.url)
    expect_done(page, 1)
    expect_label(annotator, [1, 2, 0])
