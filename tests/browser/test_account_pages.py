"""Accounts in a real browser: signing up, in and out, passwords, addresses; and that every such page is accessible."""

import re

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from playwright.sync_api import expect

PASSWORD = "correct horse battery"
SIGNED_OUT = [
    "/accounts/login/",
    "/accounts/signup/",
    "/accounts/password/reset/",
    "/accounts/password/reset/done/",
    "/accounts/password/reset/key/1-used/",
    "/accounts/password/reset/key/done/",
    "/accounts/confirm-email/",
    "/accounts/confirm-email/used/",
    "/accounts/inactive/",
    "/no-such-page/",
]
SIGNED_IN = [
    "/accounts/email/",
    "/accounts/password/change/",
    "/accounts/reauthenticate/",
    "/accounts/logout/",
]
PHONE = {"width": 390, "height": 844}


def no_sideways_scrolling(page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.parametrize("sign_up", ["open", "closed"])
def test_every_page_for_visitors_is_accessible(live_site, open_page, axe, settings, sign_up):
    settings.SIGNUP_OPEN = sign_up == "open"
    page = open_page(viewport=PHONE)
    for path in SIGNED_OUT if sign_up == "open" else ["/accounts/signup/"]:
        page.goto(live_site + path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert no_sideways_scrolling(page), path
        axe(page, in_dark=True)


def test_every_page_for_account_holders_is_accessible(live_site, open_page, sign_in, axe, alice):
    page = open_page(viewport=PHONE)
    sign_in(alice, page=page)
    for path in SIGNED_IN:
        page.goto(live_site + path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert no_sideways_scrolling(page), path
        axe(page, in_dark=True)


def test_signing_in_by_keyboard(live_site, page, alice):
    page.goto(f"{live_site}/accounts/login/?next=/accounts/email/")
    page.get_by_label("Email").focus()
    page.keyboard.type("alice@example.org")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Tab")
    expect(page.get_by_label("Stay signed in")).to_be_focused()
    expect(page.get_by_role("link", name="Forgot your password?")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{live_site}/accounts/email/")


def test_signing_in_and_out(live_site, page, alice):
    page.goto(f"{live_site}/accounts/login/?next=/accounts/email/")
    page.get_by_label("Email").fill("alice@example.org")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{live_site}/accounts/email/")

    page.locator("summary", has_text="alice@example.org").click()
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{live_site}/accounts/email/")
    expect(page).to_have_url(re.compile("/accounts/login/"))


def test_the_account_menu_opens_without_javascript_and_closes_on_escape_with_it(live_site, open_page, sign_in, alice):
    plain = open_page(java_script_enabled=False)
    sign_in(alice, page=plain)
    plain.goto(f"{live_site}/accounts/email/")
    plain.locator("summary", has_text="Account menu").click()
    expect(plain.get_by_role("link", name="Change password")).to_be_visible()

    scripted = open_page()
    sign_in(alice, page=scripted)
    scripted.goto(f"{live_site}/accounts/email/")
    menu = scripted.locator("summary", has_text="Account menu")
    menu.click()
    scripted.keyboard.press("Tab")
    scripted.keyboard.press("Escape")
    expect(scripted.get_by_role("link", name="Change password")).to_be_hidden()
    expect(menu).to_be_focused()


def test_a_wrong_password_is_told_and_the_address_kept(live_site, page, axe, alice):
    page.goto(f"{live_site}/accounts/login/")
    page.get_by_label("Email").fill("alice@example.org")
    page.get_by_label("Password", exact=True).fill("wrong horse battery")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not correct")
    expect(page.get_by_label("Email")).to_have_value("alice@example.org")
    axe(page)


def test_an_invalid_sign_up_names_the_fields_and_focuses_the_first(live_site, page, axe, settings):
    settings.SIGNUP_OPEN = True
    page.goto(f"{live_site}/accounts/signup/")
    page.get_by_label("Email").fill("alice@example.org")
    page.get_by_label("Password", exact=True).fill("short")
    page.get_by_label("Password (again)").fill("different")
    page.get_by_role("button", name="Create account").click()
    field = page.get_by_label("Password", exact=True)
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_be_focused()
    expect(field).to_have_accessible_description(re.compile("at least 10 characters"))
    axe(page)


def test_signing_up(live_site, page, settings, django_user_model):
    settings.SIGNUP_OPEN = True
    page.goto(f"{live_site}/accounts/signup/")
    page.get_by_label("Email").fill("dora@example.org")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password (again)").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    expect(page).not_to_have_url(re.compile("signup"))
    assert django_user_model.objects.get().email == "dora@example.org"


def test_nobody_signs_up_where_accounts_are_by_invitation(live_site, page, settings):
    settings.SIGNUP_OPEN = False
    page.goto(f"{live_site}/accounts/signup/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Accounts are by invitation only")
    expect(page.get_by_label("Email")).to_have_count(0)


def test_a_forgotten_password_is_replaced_by_the_link_in_the_message_once(live_site, page, alice):
    page.goto(f"{live_site}/accounts/password/reset/")
    page.get_by_label("Email").fill("alice@example.org")
    page.get_by_role("button", name="Send the link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Look in your mailbox")
    link = re.search(r"https?://\S+", mail.outbox[0].body).group()

    page.goto(link)
    page.get_by_label("New Password", exact=True).fill("another horse battery")
    page.get_by_label("New Password (again)").fill("another horse battery")
    page.get_by_role("button", name="Save password").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your password is changed")
    alice.refresh_from_db()
    assert alice.check_password("another horse battery")

    page.goto(link)
    expect(page.get_by_role("heading", level=1)).to_have_text("This link no longer works")


def test_changing_the_password(live_site, page, sign_in, alice):
    sign_in(alice)
    page.goto(f"{live_site}/accounts/password/change/")
    page.get_by_label("Current Password").fill(PASSWORD)
    page.get_by_label("New Password", exact=True).fill("another horse battery")
    page.get_by_label("New Password (again)").fill("another horse battery")
    page.get_by_role("button", name="Save password").click()
    expect(page.get_by_role("status").filter(has_text="Done.")).to_contain_text("Password successfully changed")
    alice.refresh_from_db()
    assert alice.check_password("another horse battery")


def test_adding_an_address_and_confirming_it(live_site, page, sign_in, axe, alice):
    sign_in(alice)
    page.goto(f"{live_site}/accounts/email/")
    page.get_by_label("Email").fill("alice@work.example")
    page.get_by_role("button", name="Add address").click()
    expect(page.get_by_role("radio", name="alice@work.example not confirmed")).to_be_visible()
    axe(page)
    page.goto(re.search(r"https?://\S+", mail.outbox[0].body).group())
    page.get_by_role("button", name="Yes, confirm it").click()
    expect(page.get_by_role("status").filter(has_text="Done.")).to_be_visible()
    assert EmailAddress.objects.get(email="alice@work.example").verified


def test_the_first_tab_stop_skips_to_the_content(live_site, page):
    page.goto(f"{live_site}/accounts/login/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
