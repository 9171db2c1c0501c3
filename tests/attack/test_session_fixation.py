"""Sessions that somebody planted in another's browser: whoever signs in or joins there leaves them to nobody else."""

from collections.abc import Callable
from http.cookies import SimpleCookie

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from annotate.access import SESSION_KEY
from annotate.models import ExpectedPerson, ParticipationRules, Project
from tests.conftest import make_annotator
from tests.site.pages import signed_in

COOKIE = settings.SESSION_COOKIE_NAME
PASSWORD = "correct horse battery"


@pytest.fixture
def elsewhere(db) -> Project:
    return Project.objects.create(name="Bait", question="Which?", state="open")


@pytest.fixture
def planted(elsewhere) -> str:
    """The key of a session that is Mallory's own, who joined another project to be given one."""
    browser = Client()
    browser.post(reverse("join", args=[elsewhere.join_token]), {"pseudonym": "Mallory"})
    return browser.cookies[COOKIE].value


def with_session(key: str) -> Client:
    browser = Client()
    browser.cookies[COOKIE] = key
    return browser


def sign_in(browser: Client, project: Project) -> None:
    owner = project.memberships.get(role="owner").user
    browser.post(reverse("account_login"), {"login": owner.email, "password": PASSWORD})
    assert browser.get(reverse("project-settings", args=[project.pk])).status_code == 200


def join(browser: Client, project: Project) -> None:
    browser.post(reverse("join", args=[project.join_token]), {"pseudonym": "Victim"})


def come_back(browser: Client, project: Project) -> None:
    browser.post(reverse("resume", args=[make_annotator(project, "Victim").resume_token]))


def by_personal_link(browser: Client, project: Project) -> None:
    person = ExpectedPerson.objects.create(project=project, name="Victim", email="victim@example.org")
    browser.post(reverse("personal", args=[person.token]))


def by_personal_link_again(browser: Client, project: Project) -> None:
    annotator = make_annotator(project, "Victim")
    person = ExpectedPerson.objects.create(project=project, name="Victim", annotator=annotator)
    browser.post(reverse("personal", args=[person.token]))


def from_a_platform(browser: Client, project: Project) -> None:
    rules = ParticipationRules.objects.create(project=project, platform=True)
    url = reverse("platform", args=[rules.platform_token])
    browser.post(f"{url}?PROLIFIC_PID=5f9&STUDY_ID=1&SESSION_ID=2", {"consent": "yes"})


WAYS: list[Callable[[Client, Project], None]] = [
    *(sign_in, join, come_back, by_personal_link, by_personal_link_again, from_a_platform)
]


def is_somebody(browser: Client, project: Project) -> bool:
    """Whether the session is anybody's in the project: an annotator's or an account's."""
    label = browser.get(reverse("label", args=[project.pk]))
    own = browser.get(reverse("project-settings", args=[project.pk]))
    return label.status_code == 200 or own.status_code == 200


@pytest.mark.parametrize("enter", WAYS)
def test_a_planted_session_is_worth_nothing_once_its_bearer_has_entered(project, planted, enter):
    victim = with_session(planted)
    enter(victim, project)
    assert is_somebody(victim, project), "whoever enters is let in"
    assert victim.cookies[COOKIE].value != planted
    assert not is_somebody(with_session(planted), project)
    assert not Session.objects.filter(session_key=planted).exists()


def test_what_the_browser_was_before_is_kept(project, elsewhere, planted):
    """Somebody who takes part in two projects goes on with both."""
    browser = with_session(planted)
    join(browser, project)
    assert set(browser.session[SESSION_KEY]) == {str(project.pk), str(elsewhere.pk)}


def test_answering_on_changes_no_session(project):
    """Pages that are open at once share a session: it is renewed where somebody enters, nowhere else."""
    browser = Client()
    join(browser, project)
    key = browser.cookies[COOKIE].value
    for _ in range(2):
        browser.get(reverse("label", args=[project.pk]))
        browser.get(reverse("join", args=[project.join_token]))
        join(browser, project)
    assert browser.cookies[COOKIE].value == key


@pytest.mark.parametrize("key", ["chosenbyanattackerchosenbyattack", "x" * 32, "a", "'", "a" * 300])
def test_a_made_up_session_is_never_taken_on(project, key):
    browser = Client()
    browser.cookies = SimpleCookie({COOKIE: key})
    join(browser, project)
    assert browser.cookies[COOKIE].value != key
    assert not Session.objects.filter(session_key=key).exists()


def test_a_session_of_before_signing_out_or_a_new_password_is_over(project, alice):
    browser = signed_in(alice)
    key = browser.cookies[COOKIE].value
    browser.post(reverse("account_logout"))
    assert not is_somebody(with_session(key), project)
    stolen = signed_in(alice)
    alice.set_password("another long password")
    alice.save()
    assert not is_somebody(stolen, project)


@pytest.mark.parametrize("where", ["query", "header", "body"])
def test_a_session_is_read_from_the_cookie_alone(project, alice, where):
    key, browser = signed_in(alice).cookies[COOKIE].value, Client()
    url = reverse("project-settings", args=[project.pk])
    if where == "body":
        response = browser.post(url, {COOKIE: key, "session_key": key})
    else:
        headers = {"X-Session-Token": key, "Sessionid": key} if where == "header" else {}
        response = browser.get(f"{url}?{COOKIE}={key}&session_key={key}&PHPSESSID={key}", headers=headers)
    assert response.status_code in (302, 403, 404)
