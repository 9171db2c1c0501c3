"""Whoever shares an address with an attacker, or has a name that one knows, signs in, resets, joins and answers on.

A school, a clinic or a mobile network has one address for all. An attacker there asks once a second; who asks for more
than 100 sign-ins or 300 joins in a minute is for the operator's proxy to stop.
"""

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.test import Client
from django.urls import reverse

from tests.site.labelling.test_labelling import as_annotator

PASSWORD = "correct horse battery"
SHARED, ELSEWHERE = "203.0.113.7", "198.51.100.4"
ASKED = 70  # within a minute


def post(name: str, address: str = SHARED, **form: str) -> int:
    return Client(REMOTE_ADDR=address).post(reverse(name), form).status_code


@pytest.fixture
def confirmed(alice, bob):
    for user in (alice, bob):
        EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)


@pytest.mark.slow
def test_names_guessed_by_the_hundred_keep_no_neighbour_from_signing_in(confirmed, bob):
    for n in range(ASKED):
        post("account_login", login=f"guess-{n}@example.org", password="guess")
    assert post("account_login", login=bob.email, password=PASSWORD) == 302


@pytest.mark.slow
def test_letters_asked_for_by_the_hundred_keep_no_neighbour_from_a_reset(confirmed, bob):
    for n in range(ASKED):
        post("account_reset_password", email=f"guess-{n}@example.org")
    mail.outbox.clear()
    assert post("account_reset_password", email=bob.email) == 302
    assert [letter.to for letter in mail.outbox] == [[bob.email]]


@pytest.mark.slow
def test_who_knows_a_name_keeps_its_owner_from_no_reset_and_fills_no_mailbox(confirmed, alice):
    """The owner has a letter that works, however many others asked for one, from wherever."""
    for n in range(ASKED):
        post("account_reset_password", f"203.0.113.{n}", email=alice.email)
    letters = len(mail.outbox)
    assert 1 <= letters <= 10
    post("account_reset_password", ELSEWHERE, email=alice.email)
    [link] = {line for line in mail.outbox[0].body.split() if "/password/reset/key/" in line}
    page = Client(REMOTE_ADDR=ELSEWHERE).get(link, follow=True)
    assert page.status_code == 200
    assert b'name="password1"' in page.content
    assert post("account_login", ELSEWHERE, login=alice.email, password=PASSWORD) == 302, "the old one works on"


@pytest.mark.slow
def test_one_who_joins_by_the_hundred_keeps_no_neighbour_from_joining_or_answering(project, presentation):
    ours = as_annotator(presentation.annotator)
    ours.defaults["REMOTE_ADDR"] = SHARED
    for n in range(ASKED):
        Client(REMOTE_ADDR=SHARED).post(reverse("join", args=[project.join_token]), {"pseudonym": f"Crowd {n}"})
    join = reverse("join", args=[project.join_token])
    assert Client(REMOTE_ADDR=SHARED).post(join, {"pseudonym": "A neighbour"}).status_code == 303
    assert project.annotators.filter(pseudonym="A neighbour").exists()
    page = ours.get(reverse("label", args=[project.pk]))
    assert page.status_code == 200
    answered = ours.post(reverse("submit", args=[presentation.token]), {"answer": "a"})
    assert answered.status_code == 303
    assert presentation.label.outcome
