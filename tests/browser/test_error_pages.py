"""What a person sees when something goes wrong: a page that says what, what is safe and what to do next."""

import re

import pytest
from django.test import override_settings
from playwright.sync_api import expect

FAILURES = {
    "/no-such-page/": (404, "nothing at this address"),
    "/fail/400/": (400, "could not understand"),
    "/fail/403/": (403, "may not do this"),
    "/fail/500/": (500, "went wrong on our side"),
    "/fail/refusal/": (409, "not possible"),
    "/fail/locked/": (429, "Too many wrong passwords"),
}


@pytest.fixture
def failing_site(live_site):
    with override_settings(ROOT_URLCONF="tests.browser.error_urls"):
        yield live_site


def test_every_error_has_an_accessible_page_with_its_status(failing_site, open_page, axe):
    page = open_page(viewport={"width": 390, "height": 844})
    for path, (status, words) in FAILURES.items():
        response = page.goto(failing_site + path)
        assert response.status == status
        expect(page.get_by_role("heading", level=1)).to_contain_text(words)
        axe(page, in_dark=True)


def test_a_form_without_its_csrf_token_is_told_what_to_do(live_site, page, axe):
    page.goto(f"{live_site}/accounts/login/")
    page.context.clear_cookies()
    page.get_by_label("Email").fill("alice@example.org")
    page.get_by_label("Password", exact=True).fill("whatever it is")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("This form has expired")
    axe(page)


def test_asking_too_often_is_told_to_wait(live_site, page, axe, settings):
    settings.ACCOUNT_RATE_LIMITS = {"login": "1/m/ip"}
    page.goto(f"{live_site}/accounts/login/")
    for _ in range(2):
        page.get_by_label("Email").fill("alice@example.org")
        page.get_by_label("Password", exact=True).fill("whatever it is")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_load_state()
    expect(page.get_by_role("heading", level=1)).to_have_text("Too many requests from here")
    axe(page)


HTMX_BUTTON = """address => {
    const button = document.createElement("button");
    button.textContent = "Ask";
    button.setAttribute("hx-post", address);
    button.setAttribute("hx-target", "#answer");
    const answer = document.createElement("div");
    answer.id = "answer";
    document.querySelector("main").append(button, answer);
    htmx.process(button);
}"""


def test_htmx_shows_a_refusal_in_place_and_an_error_as_a_notice(failing_site, page, axe):
    page.goto(f"{failing_site}/accounts/login/")
    page.evaluate(HTMX_BUTTON, "/fail/refusal/")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answer").get_by_role("alert")).to_contain_text("closed")
    axe(page)

    page.goto(f"{failing_site}/accounts/login/")
    page.evaluate(HTMX_BUTTON, "/fail/500/")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#messages")).to_contain_text("answered with an error")
    expect(page.locator("#answer")).to_be_empty()


def test_htmx_tells_when_the_server_is_away(failing_site, page):
    page.goto(f"{failing_site}/accounts/login/")
    page.evaluate(HTMX_BUTTON, "/fail/refusal/")
    page.context.set_offline(True)
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#messages")).to_contain_text("No answer from the server")


def test_an_ended_session_leads_to_signing_in(failing_site, page, sign_in, alice):
    sign_in(alice)
    page.goto(f"{failing_site}/accounts/email/")
    page.evaluate(HTMX_BUTTON, "/accounts/password/change/")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Ask").click()
    expect(page).to_have_url(re.compile(r"/accounts/login/\?next=/accounts/email/"))
