"""The main job, end to end, with the real server and the real engine as processes and three people in real browsers."""

import re
import time

import pytest
from django.conf import global_settings
from playwright.sync_api import Page, expect

from annotate.models import Label, Project, User
from tests.load.database import ALIAS, environment, own_database
from tests.load.servers import engine, free_port, wait_until_it_answers, web
from tests.pace import is_within

TEXTS = ["Walk to school", "Learn to swim", "Keep a diary", "Cook once a week", "Sleep before midnight"]
PASSWORD = "correct horse battery"


@pytest.fixture
def running(browser, settings, tmp_path, django_db_blocker):
    """The address of a running site with its engine, on a database of its own with one account."""
    settings.PASSWORD_HASHERS = global_settings.PASSWORD_HASHERS
    with django_db_blocker.unblock(), own_database(tmp_path) as url:
        alice = User(username="alice", email="alice@example.org")
        alice.set_password(PASSWORD)
        alice.save(using=ALIAS)
        env, port = environment(url, tmp_path), free_port()
        server, worker = web(env, port, tmp_path).start(), engine(env, tmp_path).start()
        try:
            wait_until_it_answers(port)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.stop()
            worker.stop()


def sign_in(page: Page, site: str) -> None:
    page.goto(f"{site}/accounts/login/")
    page.get_by_label("Email").fill("alice@example.org")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Your projects", level=1)).to_be_visible()


def create_project(page: Page) -> str:
    """Through the pages alone; the join link."""
    page.get_by_role("link", name="Create your first project").click()
    page.get_by_role("link", name="Blank").click()
    page.get_by_label("Name", exact=True).fill("Advice to a first-year student")
    page.get_by_label("Question", exact=True).fill("Which advice is better?")
    page.get_by_role("button", name="Create the project").click()
    page.locator("textarea[name=text]").fill("\n".join(TEXTS))
    page.get_by_role("button", name="Preview the items").click()
    page.get_by_role("button", name=re.compile("^Import")).click()
    expect(page.get_by_text(TEXTS[0]).first).to_be_visible()
    project = Project.objects.using(ALIAS).get()
    page.goto(re.sub(r"/projects/.*", f"/projects/{project.pk}/share/", page.url))
    page.get_by_role("button", name=re.compile("^Open", re.I)).first.click()
    page.wait_for_load_state("load")
    project.refresh_from_db()
    assert project.state == "open"
    return project.join_token


def n_labels() -> int:
    return Label.objects.using(ALIAS).filter(voided_at=None).count()


def wait_for_labels(n: int) -> float:
    """When the n-th label was stored, by the monotonic clock."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if n_labels() >= n:
            return time.monotonic()
        time.sleep(0.01)
    raise AssertionError(f"{n_labels()} labels are stored instead of {n}")


def seconds_until_shown(dashboard: Page, n: int, stored: float) -> float:
    """How long after it was stored the open dashboard shows a fit of n answers, without a reload."""
    expect(dashboard.get_by_text(re.compile(rf"^\s*{n} answers? by \d+ people on")).first).to_be_visible(timeout=30_000)
    return time.monotonic() - stored


@pytest.mark.alone
def test_from_an_empty_site_to_a_live_ranking(running, open_page, axe):
    dashboard = open_page(viewport={"width": 1440, "height": 900})
    sign_in(dashboard, running)
    token = create_project(dashboard)
    project = Project.objects.using(ALIAS).get()
    dashboard.goto(f"{running}/projects/{project.pk}/")
    expect(dashboard.get_by_text(re.compile("No answers yet", re.I)).first).to_be_visible()
    dashboard.evaluate("() => { document.body.dataset.sameDocument = 'yes' }")

    by_keys = open_page(viewport={"width": 390, "height": 844})
    by_keys.goto(f"{running}/join/{token}/")
    by_keys.get_by_role("button", name="Start").click()
    expect(by_keys.get_by_text("Which advice is better?").first).to_be_visible()
    by_keys.wait_for_load_state("load")
    delays, stored = [], 0.0
    for n, key in enumerate(["1", "2", "ArrowLeft", "ArrowRight", "1"], start=1):
        task = by_keys.locator("#task form[action*='/label/']").first.get_attribute("action")
        by_keys.keyboard.press(key)
        stored = wait_for_labels(n)
        expect(by_keys.locator(f"#task form[action='{task}']")).to_have_count(0)
        if n >= 2:
            delays.append(seconds_until_shown(dashboard, n, stored))

    by_tap = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    by_tap.goto(f"{running}/join/{token}/")
    by_tap.get_by_role("button", name="Start").tap()
    by_tap.wait_for_load_state("load")
    for n in (6, 7, 8):
        task = by_tap.locator("#task form[action*='/label/']").first.get_attribute("action")
        by_tap.wait_for_timeout(350)  # sooner, a second tap in the same place is half of a double tap
        by_tap.locator("button[name=answer][value=a]").first.tap()
        stored = wait_for_labels(n)
        expect(by_tap.locator(f"#task form[action='{task}']")).to_have_count(0)
        delays.append(seconds_until_shown(dashboard, n, stored))

    assert dashboard.evaluate("() => document.body.dataset.sameDocument") == "yes", "the dashboard was reloaded"
    delay = sorted(delays)[len(delays) // 2]
    assert is_within(delay, 2, time.monotonic), f"a label took {delays} s to reach the dashboard"
    for text in TEXTS:
        expect(dashboard.get_by_text(text).first).to_be_visible()
    for page in (dashboard, by_keys, by_tap):
        axe(page)
