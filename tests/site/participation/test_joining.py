"""The project's door: joining by link, coming back by one's own link, members with accounts, and who stays outside."""

import random
import re
from datetime import timedelta

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation
from rest_framework.throttling import SimpleRateThrottle

from annotate.access import SESSION_KEY
from annotate.core.errors import PseudonymTaken
from annotate.models import Annotator, Presentation
from annotate.participation.joining import actions as joining_actions
from annotate.participation.joining import pseudonyms
from annotate.participation.joining.pseudonym_words import Words
from annotate.participation.joining.pseudonyms import normalize_name
from tests.conftest import make_annotator
from tests.site.pages import signed_in

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


def door(project) -> str:
    return reverse("join", args=[project.join_token])


def task_of(project) -> str:
    return reverse("label", args=[project.pk])


def fields(response) -> dict[str, str]:
    """What the join form holds as it is served."""
    form = response.context["form"]
    return {"pseudonym": form["pseudonym"].value(), "ticket": form["ticket"].value()}


def test_the_door_says_what_it_is_about_and_what_is_stored_and_writes_nothing(client, project):
    project.instructions = "Read **both** first."
    project.save()
    page = client.get(door(project)).content.decode()
    for words in (project.name, project.question, "<strong>both</strong>", "What is stored about you", "Start"):
        assert words in page
    assert not Annotator.objects.exists()


def test_joining_makes_the_annotator_knows_the_browser_and_opens_the_first_task(client, project):
    response = client.post(door(project), fields(client.get(door(project))) | {"pseudonym": "Quiet Otter"})
    assert (response.status_code, response["Location"]) == (303, task_of(project))
    annotator = Annotator.objects.get()
    assert (annotator.pseudonym, annotator.source, annotator.user) == ("Quiet Otter", "link", None)
    assert client.session[SESSION_KEY] == {str(project.pk): str(annotator.key)}
    page = client.get(response["Location"]).content.decode()
    assert reverse("submit", args=[Presentation.objects.get().token]) in page


def test_the_form_sent_twice_makes_one_annotator(project):
    sent = fields(Client().get(door(project)))
    first, second = Client(), Client()  # the second click leaves before the first one's cookie has arrived
    first.post(door(project), sent)
    second.post(door(project), sent)
    assert Annotator.objects.count() == 1
    assert second.session[SESSION_KEY] == first.session[SESSION_KEY]


def test_a_forged_ticket_is_worth_nothing(project):
    other = make_annotator(project, "Quiet Otter")
    client = Client()
    for ticket in (other.resume_token, other.resume_token + ":1:x", "", "\x00", "x" * 5000):
        client.post(door(project), {"pseudonym": "Thief", "ticket": ticket})
        assert str(other.key) not in str(client.session.get(SESSION_KEY))


def test_a_ticket_holds_for_its_own_project_only(project, client):
    ticket = fields(client.get(door(project)))["ticket"]
    joining_actions.join(project=project, pseudonym="First", resume_token="taken")
    project.pk, project.join_token, project._state.adding = None, "another-join-token", True
    project.pk = type(project)._meta.pk.get_default()
    project.save()
    assert client.post(door(project), {"pseudonym": "First", "ticket": ticket}).status_code == 303
    assert Annotator.objects.get(project=project).resume_token not in ticket


def test_who_has_joined_goes_on(client, project):
    client.post(door(project), fields(client.get(door(project))))
    for response in (client.get(door(project)), client.post(door(project), {"pseudonym": "Another"})):
        assert (response.status_code, response["Location"]) == (303, task_of(project))
    assert Annotator.objects.count() == 1


@pytest.mark.parametrize(
    "name", ["Quiet Otter", "quiet otter", "  Quiet   Otter ", "Quiet\u200b Otter", "\u202eQuiet Otter"]
)
def test_a_name_that_is_taken_or_looks_it_is_refused_and_kept_in_the_field(client, project, name):
    make_annotator(project, "Quiet Otter")
    response = client.post(door(project), {"pseudonym": name})
    assert "“Quiet Otter” is already taken" in response.content.decode().replace("quiet otter", "Quiet Otter")
    assert Annotator.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("", "required"),
        ("   ", "required"),
        ("\u200d", "at least one letter"),
        ("…", "at least one letter"),
        ("x" * 41, "at most 40"),
        ("a\x00b", "Null"),
    ],
)
def test_a_bad_name_is_told(client, project, name, told):
    assert told in client.post(door(project), {"pseudonym": name}).content.decode()
    assert not Annotator.objects.exists()


def test_a_name_is_shown_as_text(client, project):
    client.post(door(project), {"pseudonym": "<b>Ann</b> & Co"})
    page = client.get(task_of(project)).content.decode()
    assert "&lt;b&gt;Ann&lt;/b&gt; &amp; Co" in page
    assert "<b>Ann</b>" not in page


@pytest.mark.parametrize(("state", "told"), [("draft", "is not open yet"), ("paused", "paused"), ("closed", "closed")])
def test_a_project_that_is_not_open_says_so(client, project, state, told):
    project.state = state
    project.save()
    assert told in client.get(door(project)).content.decode()
    refused = client.post(door(project), {"pseudonym": "Late"})
    assert refused.status_code == 409
    assert told in refused.content.decode()
    assert not Annotator.objects.exists()


@pytest.mark.parametrize("state", ["draft", "paused", "closed"])
def test_who_manages_it_is_led_to_where_it_is_opened(project, alice, manuel, vera, state):
    project.state = state
    project.save()
    for person in (alice, manuel):
        html = signed_in(person).get(door(project), follow=True).content.decode()
        assert "You manage this project" in html
        assert f'href="{reverse("share", args=[project.pk])}"' in html
        assert "Ask the person who sent you the link" not in html
    assert "You manage this project" not in signed_in(vera).get(door(project), follow=True).content.decode()


def test_who_manages_it_too_is_told_when_it_opens(project, alice):
    project.opens_at = timezone.now() + timedelta(days=2)
    project.save()
    html = signed_in(alice).get(door(project), follow=True).content.decode()
    assert "This project opens on" in html
    assert "You manage this project" not in html


def test_joining_a_project_without_items_says_what_is_missing(client, project):
    project.items.all().delete()
    page = client.post(door(project), {"pseudonym": "Early"}, follow=True).content.decode()
    assert "This project has 0 items, but each task needs at least 2" in page


def test_wrong_links_find_nothing(client, project):
    for name in ("join", "resume"):
        assert client.get(reverse(name, args=["nonsense"])).status_code == 404
        assert client.get(reverse(name, args=[project.join_token[:-1] + "~"])).status_code == 404


def test_guessing_links_and_joining_in_bulk_are_limited(client, project, monkeypatch):
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", {"join": "3/day"})
    from_here = {"REMOTE_ADDR": "203.0.113.7"}
    for attempt in range(3):
        assert client.get(reverse("join", args=[f"guess-{attempt}"]), **from_here).status_code == 404
    assert client.get(reverse("resume", args=["guess"]), **from_here).status_code == 429
    refused = client.post(door(project), {"pseudonym": "Bulk"}, **from_here)
    assert refused.status_code == 429
    assert re.search(r"Wait \d+ seconds", refused.content.decode())
    assert client.get(door(project), **from_here).status_code == 200  # looking is free: a class behind one address may
    assert client.post(door(project), {"pseudonym": "Elsewhere"}, REMOTE_ADDR="203.0.113.8").status_code == 303


def test_the_personal_link_asks_first_and_then_knows_the_browser(client, project):
    annotator = make_annotator(project, "Quiet Otter")
    link = reverse("resume", args=[annotator.resume_token])
    page = client.get(link).content.decode()
    assert "Continue as <bdi>Quiet Otter</bdi>?" in page
    assert SESSION_KEY not in client.session
    assert client.post(link)["Location"] == task_of(project)
    assert client.session[SESSION_KEY] == {str(project.pk): str(annotator.key)}
    assert client.get(task_of(project)).context["annotator"] == annotator


def test_the_personal_link_is_shown_to_its_owner_alone(client, project, bob):
    client.post(door(project), {"pseudonym": "Quiet Otter"})
    mine = Annotator.objects.get()
    assert mine.resume_token in client.get(task_of(project)).content.decode()
    make_annotator(project, "Bob", user=bob, source="account")
    client.force_login(bob, BACKEND)
    page = client.get(task_of(project)).content.decode()
    assert "resume-link" not in page
    assert mine.resume_token not in page


def test_an_accounts_annotator_has_no_personal_link(client, project, bob):
    annotator = make_annotator(project, "Bob", user=bob, source="account")
    assert client.get(reverse("resume", args=[annotator.resume_token])).status_code == 404
    assert client.post(reverse("resume", args=[annotator.resume_token])).status_code == 404


@pytest.mark.parametrize("name", ["alice", "manuel", "bob"])
def test_a_member_becomes_an_annotator_by_a_post(client, request, project, name):
    user = request.getfixturevalue(name)
    client.force_login(user, BACKEND)
    page = client.get(task_of(project)).content.decode()
    assert user.email in page
    assert not Annotator.objects.exists()
    assert client.post(task_of(project), {"pseudonym": "Brisk Heron"})["Location"] == task_of(project)
    annotator = Annotator.objects.get()
    assert (annotator.user, annotator.source, annotator.pseudonym) == (user, "account", "Brisk Heron")
    assert annotator.presentations.count() == 1
    client.post(task_of(project), {"pseudonym": "Twice"})
    assert Annotator.objects.count() == 1


def test_a_member_at_the_join_link_is_sent_to_their_own_door(client, project, bob):
    client.force_login(bob, BACKEND)
    assert client.get(door(project))["Location"] == task_of(project)


def test_viewers_outsiders_and_strangers_become_nobody(client, project, vera, charlie):
    assert client.get(task_of(project)).status_code == 403
    assert project.name not in client.get(task_of(project)).content.decode()
    for user, status in ((vera, 403), (charlie, 404)):
        client.force_login(user, BACKEND)
        for response in (client.get(task_of(project)), client.post(task_of(project), {"pseudonym": "X"})):
            assert response.status_code == status
            assert project.name not in response.content.decode()
    assert not Annotator.objects.exists()


def test_the_stranger_page_is_the_same_for_projects_that_do_not_exist(client, project):
    nowhere = reverse("label", args=["00000000-0000-4000-8000-000000000000"])
    there, not_there = client.get(task_of(project)), client.get(nowhere)
    assert there.status_code == not_there.status_code
    pages = [re.sub(r"[0-9a-f-]{36}|\w{64}", "-", page.content.decode()) for page in (there, not_there)]
    assert pages[0] == pages[1]


def test_suggestions_are_free_even_when_most_are_taken(project, monkeypatch):
    monkeypatch.setitem(pseudonyms.WORDS, "en", Words(["Quiet"], ["otter", "heron"]))
    assert pseudonyms.suggest(project, random.Random(1)) in {"Quiet Otter", "Quiet Heron"}
    make_annotator(project, "Quiet Otter")
    make_annotator(project, "Quiet Heron")
    assert re.fullmatch(r"Quiet (Otter|Heron) \d+", pseudonyms.suggest(project, random.Random(1)))


@pytest.mark.parametrize("language", pseudonyms.WORDS)
def test_suggestions_are_names_that_the_form_takes(language):
    words = pseudonyms.WORDS[language]
    both = words.adjectives + words.animals
    assert len(both) == len(set(both))
    assert all(word.isalpha() and word == normalize_name(word.lower()) for word in both)
    longest = max(map(len, words.adjectives)) + 1 + max(map(len, words.animals)) + len(" 999999")
    assert longest <= pseudonyms.MAX_PSEUDONYM_LENGTH


def test_every_language_of_the_pages_has_names_of_its_own(project):
    assert set(pseudonyms.WORDS) == {code for code, _name in settings.LANGUAGES}
    for language, words in pseudonyms.WORDS.items():
        with translation.override(language):
            first, second = pseudonyms.suggest(project, random.Random(3)).lower().split()
        adjective, animal = (first, second) if words.adjective_first else (second, first)
        assert (adjective in words.adjectives, animal in words.animals) == (True, True), language


def test_two_at_once_with_one_name_make_one(project, monkeypatch):
    """The check passes for both; the database's constraint decides."""
    make_annotator(project, "Quiet Otter")
    monkeypatch.setattr(pseudonyms, "is_taken", lambda project, name: False)
    with pytest.raises(PseudonymTaken, match="Quiet Otter"):
        joining_actions.join(project=project, pseudonym="Quiet Otter", resume_token="fresh")
    assert Annotator.objects.count() == 1
