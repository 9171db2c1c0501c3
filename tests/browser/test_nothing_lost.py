"""Answers outlive a killed server, a closed tab, an expired session and a cut network, and count once."""

import re

import pytest
from django.contrib.sessions.models import Session
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotate.models import Item, Label, Project
from tests.load.database import ALIAS, environment, own_database
from tests.load.servers import Process, free_port, wait_until_it_answers, web

PATIENCE = 60_000


@pytest.fixture
def server(browser, tmp_path, django_db_blocker):
    """A running site on a database of its own: the process, and its address."""
    with django_db_blocker.unblock(), own_database(tmp_path) as url:
        port = free_port()
        process = web(environment(url, tmp_path), port, tmp_path).start()
        try:
            wait_until_it_answers(port)
            yield process, port
        finally:
            process.stop()


@pytest.fixture
def project(server) -> Project:
    project = Project.objects.using(ALIAS).create(
        name="Mottoes", question="Which motto is better?", state="open", overlap=9, cap=40, outcomes=["tie", "skip"]
    )
    Item.objects.using(ALIAS).bulk_create(Item(project=project, key=f"m{i}", body=f"Motto {i}") for i in range(6))
    return project


def stored() -> list[str]:
    """What was said, in order; every answer in words of its form."""
    labels = Label.objects.using(ALIAS).filter(voided_at=None).order_by("pk")
    places = [
        label.outcome
        if label.chosen_id is None
        else "ab"[label.presentation.presented.get(item=label.chosen_id).position]
        for label in labels
    ]
    assert labels.values("presentation").distinct().count() == len(places)
    return places


def expect_done(page: Page, n: int) -> None:
    expect(page.locator(".progress")).to_contain_text(f"{n} of 40", timeout=PATIENCE)
    expect(page.locator(".is-chosen")).to_have_count(0)


def expect_saved_here(page: Page) -> None:
    expect(page.get_by_text("saved on this device and will be sent").first).to_be_visible(timeout=PATIENCE)


def back_up(process: Process, port: int) -> None:
    process.start()
    wait_until_it_answers(port)


def test_every_answer_arrives_once(server, project, open_page):
    process, port = server
    site = f"http://127.0.0.1:{port}"
    page = open_page()
    page.context.set_default_timeout(PATIENCE)
    page.goto(site + reverse("join", args=[project.join_token]))
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#answer")).to_be_visible()
    page.wait_for_load_state()
    task = page.url
    page.keyboard.press("1")
    expect_done(page, 1)

    # The server is killed in the middle of the session, and comes back.
    process.kill()
    page.keyboard.press("2")
    expect_saved_here(page)
    expect(page.locator("#announcer")).to_contain_text("Not sent yet")
    back_up(process, port)
    expect_done(page, 2)
    expect(page.locator("#announcer")).to_have_text(
        re.compile(r"^Your answer has arrived\. You chose B\. Task 3 of 40\.")
    )
    assert stored() == ["a", "b"]

    # It is killed, the tab is closed over it, and opened again later.
    process.kill()
    page.keyboard.press("t")
    expect_saved_here(page)
    context = page.context
    page.close()
    back_up(process, port)
    page = context.new_page()
    page.goto(task)
    expect_done(page, 3)
    page.reload()
    page.wait_for_load_state()
    assert stored() == ["a", "b", "tie"]

    # The session has run out: the token of the task speaks for whoever was given it.
    Session.objects.using(ALIAS).all().delete()
    page.keyboard.press("1")
    expect_done(page, 4)
    page.keyboard.press("u")
    expect_done(page, 3)
    page.keyboard.press("1")
    expect_done(page, 4)

    # Two tabs answer the same task without a network: the first to arrive counts, the other one is told.
    other = context.new_page()
    other.goto(task)
    other.wait_for_load_state()
    context.set_offline(True)
    page.bring_to_front()
    page.keyboard.press("1")
    expect_saved_here(page)
    other.bring_to_front()
    other.keyboard.press("1")
    expect_saved_here(other)
    context.set_offline(False)
    for tab in (page, other):
        tab.bring_to_front()
        expect_done(tab, 5)
        assert tab.evaluate("Object.keys(localStorage).filter((name) => name.includes('unsent'))") == []
    assert stored() == ["a", "b", "tie", "a", "a"]
