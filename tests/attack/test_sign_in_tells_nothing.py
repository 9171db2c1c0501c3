"""Signing in, resetting a password and making an account: neither words nor work tell whether an address has one.

How long an answer takes is asserted by what takes long: passwords hashed and letters sent. Seconds would be of luck.
"""

from collections import Counter

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth import hashers
from django.core import mail
from django.test import Client
from django.urls import reverse

from tests.conftest import make_user

UNKNOWN = "nobody@example.org"


@pytest.fixture
def addresses(alice) -> list[str]:
    """An address of each kind of account, and one of none."""
    users = {name: make_user(name) for name in ("gone", "keyless", "confirmed", "unconfirmed")}
    users["gone"].is_active = False
    users["keyless"].set_unusable_password()
    for user in users.values():
        user.save()
    for name in ("confirmed", "unconfirmed"):
        address = users[name].email
        EmailAddress.objects.create(user=users[name], email=address, verified=name == "confirmed", primary=True)
    return [UNKNOWN, alice.email, *(user.email for user in users.values())]


@pytest.fixture
def hashed(monkeypatch) -> Counter:
    """Counts the passwords that are hashed, the slow part of every sign-in."""
    counts, own = Counter(), type(hashers.get_hasher())
    encode = own.encode

    def counted(self, *arguments, **named):
        counts["hashed"] += 1
        return encode(self, *arguments, **named)

    monkeypatch.setattr(own, "encode", counted)
    return counts


def answer(name: str, form: dict[str, str], address: str) -> tuple[int, str, list[str], list[str]]:
    """Status, where it leads, which cookies are set, and the page without the address and tokens."""
    response = Client().post(reverse(name), form)
    page = response.content.decode().replace(address, "ADDRESS")
    lines = [line for line in page.splitlines() if "csrf" not in line.lower()]
    return response.status_code, response.get("Location", ""), sorted(response.cookies), lines


def test_a_wrong_password_is_answered_alike(addresses, hashed):
    found, work = [], []
    for address in addresses:
        hashed.clear()
        found.append(answer("account_login", {"login": address, "password": "guessed wrong"}, address))
        work.append(hashed["hashed"])
    assert found == found[:1] * len(addresses)
    assert work == [1] * len(addresses), "an unknown address is hashed as well"


def test_a_guesser_is_locked_out_of_an_unknown_name_too(alice, settings):
    statuses = {}
    for address in (UNKNOWN, alice.email):
        form = {"login": address, "password": "guessed wrong"}
        statuses[address] = [answer("account_login", form, address)[0] for _ in range(settings.AXES_FAILURE_LIMIT + 2)]
    assert statuses[UNKNOWN] == statuses[alice.email]
    assert 429 in statuses[UNKNOWN]


def test_a_reset_is_answered_alike_and_always_writes_one_letter(addresses, hashed):
    found, letters = [], []
    for address in addresses:
        hashed.clear()
        mail.outbox.clear()
        found.append(answer("account_reset_password", {"email": address}, address))
        letters.append([letter.to for letter in mail.outbox])
        assert hashed["hashed"] == 0
    assert found == found[:1] * len(addresses)
    assert letters == [[[address]] for address in addresses], "who has no account is told so, at that address alone"


def test_a_sign_up_does_not_tell_who_has_an_account(addresses, settings):
    """As in production, where an address has to be confirmed first."""
    settings.SIGNUP_OPEN, settings.ACCOUNT_EMAIL_VERIFICATION = True, "mandatory"
    found, letters = [], []
    for address in ("somebody.new@example.org", addresses[1], addresses[4]):
        mail.outbox.clear()
        passwords = dict.fromkeys(("password1", "password2"), "correct horse battery")
        found.append(answer("account_signup", {"email": address, **passwords}, address)[:2])
        letters.append([letter.to for letter in mail.outbox])
        assert letters[-1] == [[address]]
    assert found == found[:1] * 3


@pytest.mark.parametrize("key", ["1-set-password", "1-abcdef-0123456789abcdef", "zz-" + "a" * 40, "-", "٣-a"])
def test_a_guessed_link_of_a_reset_opens_nothing(alice, key):
    page = Client().get(f"/accounts/password/reset/key/{key}/")
    assert page.status_code in (200, 404)
    assert 'name="password1"' not in page.content.decode()


def test_a_link_of_a_reset_works_once_and_not_after_the_password_changed(alice):
    links = []
    for _ in range(2):
        mail.outbox.clear()
        Client().post(reverse("account_reset_password"), {"email": alice.email})
        body = mail.outbox[0].body
        links.append(next(word for word in body.split() if "/password/reset/key/" in word).partition("testserver")[2])
    browser = Client()
    form = browser.get(links[0], follow=True)
    passwords = dict.fromkeys(("password1", "password2"), "another long password")
    browser.post(form.redirect_chain[-1][0], passwords)
    alice.refresh_from_db()
    assert alice.check_password("another long password")
    for link in links:
        assert 'name="password1"' not in Client().get(link, follow=True).content.decode()
