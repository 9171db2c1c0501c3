"""Failed sign-ins lock nobody out but who made them: neither who shares an address, nor whose name is known."""

import pytest
from django.test import Client
from django.urls import reverse

PASSWORD = "correct horse battery"


def sign_in(login: str, password: str, address: str = "203.0.113.7") -> int:
    return (
        Client(REMOTE_ADDR=address).post(reverse("account_login"), {"login": login, "password": password}).status_code
    )


@pytest.fixture
def attacked(alice, bob, settings):
    for _ in range(settings.AXES_FAILURE_LIMIT + 2):
        last = sign_in(alice.email, "guess")
    assert last == 429


def test_the_guesser_is_locked_out_even_with_the_right_password(attacked, alice):
    assert sign_in(alice.email, PASSWORD) == 429
    assert sign_in(alice.email.upper(), PASSWORD) == 429, "another spelling is the same account"


def test_the_owner_of_the_name_signs_in_from_elsewhere(attacked, alice):
    assert sign_in(alice.email, PASSWORD, "198.51.100.4") == 302


def test_others_at_the_same_address_sign_in(attacked, bob):
    assert sign_in(bob.email, PASSWORD) == 302


def test_an_unknown_name_is_answered_as_a_known_one(alice):
    def answer(login: str) -> str:
        response = Client().post(reverse("account_login"), {"login": login, "password": "guess"})
        return response.content.decode().replace(login, "LOGIN")

    def words(html: str) -> list[str]:
        return [line for line in html.splitlines() if "csrf" not in line.lower()]

    assert words(answer(alice.email)) == words(answer("nobody@example.org"))
