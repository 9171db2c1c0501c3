"""Coming back under a name that is taken: one's link is sent to the address known for it, and nothing is told."""

import re

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from rest_framework.throttling import SimpleRateThrottle

from annotate.models import Annotator, Event, ExpectedPerson
from annotate.participation.joining.expected import join_as_expected
from tests.conftest import NOW, make_annotator, member
from tests.site.processes import wait_for


def address_of(project) -> str:
    return reverse("join", args=[project.join_token])


def ask(project, name: str, **more):
    return Client(**more).post(address_of(project), {"pseudonym": name, "send-link": "1"})


def expect(project, name="Mrs Hill", email="hill@example.org") -> ExpectedPerson:
    return ExpectedPerson.objects.create(project=project, name=name, email=email)


def sent():
    wait_for(lambda: mail.outbox, 20, "nothing was sent")
    return mail.outbox


def test_a_taken_name_is_offered_its_link_and_no_other_is(project):
    make_annotator(project, "Mrs Hill")
    page = Client().post(address_of(project), {"pseudonym": "mrs hill"}).content.decode()
    assert "Are you “mrs hill”?" in page
    assert 'name="send-link"' in page
    assert 'name="send-link"' not in Client().get(address_of(project)).content.decode()


@pytest.mark.parametrize("has_joined", [False, True])
def test_it_goes_to_the_address_on_the_roster_and_is_logged(project, has_joined):
    person = expect(project)
    if has_joined:
        join_as_expected(person=person, version="", now=NOW)
    response = ask(project, "mrs  HILL")
    page = response.content.decode()
    assert response.status_code == 200
    assert "hill@example.org" not in page
    assert person.token not in page
    assert sent()[0].to == ["hill@example.org"]
    assert f"http://testserver{reverse('personal', args=[person.token])}" in mail.outbox[0].body
    assert Event.objects.get(verb="personal link asked").details == {}
    person.refresh_from_db()
    assert person.n_invitations == 1


def test_an_account_gets_the_way_to_its_tasks(project):
    user = member(project, "ann", "annotator")
    make_annotator(project, "Ann", user=user, source=Annotator.Source.ACCOUNT)
    ask(project, "Ann")
    assert sent()[0].to == [user.email]
    assert reverse("label", args=[project.pk]) in mail.outbox[0].body


def test_the_answer_is_the_same_where_there_is_no_address_or_no_such_name(project):
    expect(project)
    expect(project, "Mr Dale", "")
    make_annotator(project, "Quiet Newt")
    pages = set()
    for name in ("Mrs Hill", "Mr Dale", "Quiet Newt", "Nobody"):
        response = ask(project, name)
        told = re.search(r"<main.*</main>", response.content.decode(), re.DOTALL)[0]
        pages.add((response.status_code, told.replace(name, "NAME")))
    assert len(pages) == 1
    assert len(sent()) == 1
    assert not Annotator.objects.filter(pseudonym="Nobody").exists()


@pytest.mark.parametrize("scope", ["personal-link", "personal-links"])
def test_it_is_limited_by_name_and_by_address(project, monkeypatch, scope):
    monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, scope, "1/hour")
    expect(project)
    assert ask(project, "Mrs Hill").status_code == 200
    assert ask(project, "mrs hill").status_code == 429
    elsewhere = ask(project, "Mrs Hill", REMOTE_ADDR="192.0.2.7").status_code
    assert elsewhere == (429 if scope == "personal-link" else 200)
    other = ask(project, "Another").status_code
    assert other == (200 if scope == "personal-link" else 429)


def test_programs_ask_the_same_way(project):
    expect(project)
    url = reverse("api-send-link", args=[project.join_token])
    for name in ("Nobody", "Mrs Hill"):
        response = Client().post(url, {"pseudonym": name}, content_type="application/json")
        assert (response.status_code, response.content) == (202, b"")
    assert sent()[0].to == ["hill@example.org"]
