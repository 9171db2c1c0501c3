"""Platform links: who comes is read from the link; the same person goes on, nobody comes in as somebody else."""

import threading
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from rest_framework.throttling import SimpleRateThrottle

from annotate.models import Annotator, Completion, Event, EventVerb, Project
from annotate.participation.actions import replace_platform_link
from tests.conftest import NOW, make_annotator
from tests.site.pages import signed_in
from tests.site.participation_steps import SESSION, answer_open, arrive, link, open_to_platform, open_token


@pytest.fixture
def entry(project, alice):
    return open_to_platform(project, alice)


def test_the_link_makes_an_annotator_by_a_post_only_under_a_made_up_name(client, project, entry):
    page = client.get(link(entry, "5f1e", SESSION)).content.decode()
    for words in (project.name, project.question, "5f1e", "What is stored about you"):
        assert words in page
    assert not Annotator.objects.exists()
    response = arrive(client, entry, "5f1e", SESSION)
    assert (response.status_code, response["Location"]) == (303, reverse("label", args=[project.pk]))
    annotator = Annotator.objects.get()
    assert (annotator.platform_id, annotator.platform_study, annotator.platform_session) == ("5f1e", "study-1", SESSION)
    assert annotator.source == "platform"
    assert "5f1e" not in annotator.pseudonym
    assert reverse("submit", args=[open_token("5f1e")]) in client.get(response["Location"]).content.decode()


def test_both_doors_tell_the_same_of_the_project(client, project, entry):
    told = ("You answer at most 7 tasks", "You can answer until 1 December 2099", "questions about yourself")
    doors = (link(entry, "5f1e"), reverse("join", args=[project.join_token]))
    for door in doors:
        page = client.get(door).content.decode()
        assert not [words for words in told if words in page]
    Project.objects.update(cap=7, closes_at=datetime(2099, 12, 1, tzinfo=UTC), fields_after=1)
    for door in doors:
        page = client.get(door).content.decode()
        assert [words for words in told if words in page] == [*told]


def test_the_same_browser_goes_on_and_the_form_sent_twice_makes_one(client, project, entry):
    arrive(client, entry, "5f1e")
    for response in (client.get(link(entry, "5f1e")), arrive(client, entry, "5f1e")):
        assert (response.status_code, response["Location"]) == (303, reverse("label", args=[project.pk]))
    assert Annotator.objects.count() == 1


def test_a_number_alone_opens_nobody_elses_part(client, project, entry):
    arrive(client, entry, "5f1e", SESSION)
    for session in ("", "6543210fedcba9876544", "x"):
        thief = Client()
        for response in (thief.get(link(entry, "5f1e", session)), arrive(thief, entry, "5f1e", session)):
            assert response.status_code == 409
            assert "has already started in another browser" in response.content.decode()
        assert thief.get(reverse("label", args=[project.pk])).status_code == 403
    assert Annotator.objects.count() == 1


def test_the_researcher_sees_that_another_browser_was_turned_away(client, project, entry, alice):
    arrive(client, entry, "5f1e", SESSION)
    owner = signed_in(alice)
    listed = reverse("participants", args=[project.pk])
    assert "another browser turned away" not in owner.get(listed).content.decode()
    other = Client()
    for _again in range(2):
        refused = other.get(link(entry, "5f1e", "another session")).content.decode()
        assert Annotator.objects.get().resume_token not in refused
    assert Event.objects.get(verb=EventVerb.OTHER_BROWSER_REFUSED).annotator.platform_id == "5f1e"
    assert owner.get(listed).content.decode().count("another browser turned away") == 1
    log = owner.get(reverse("log", args=[project.pk])).content.decode()
    assert "in another browser and was turned away" in log


def test_a_session_too_short_to_be_a_secret_proves_nothing(client, entry):
    arrive(client, entry, "5f1e", "12345")
    assert Client().get(link(entry, "5f1e", "12345")).status_code == 409


def test_the_session_proves_who_comes_back_in_another_browser(client, project, entry):
    arrive(client, entry, "5f1e", SESSION)
    other = Client()
    assert "Continue as" in other.get(link(entry, "5f1e", SESSION)).content.decode()
    assert other.get(reverse("label", args=[project.pk])).status_code == 403  # looking alone opens nothing
    arrive(other, entry, "5f1e", SESSION)
    assert answer_open(other, open_token("5f1e")).status_code == 303
    assert Annotator.objects.count() == 1


def test_a_shared_computer_takes_the_next_person_as_somebody_new(client, entry):
    arrive(client, entry, "first")
    arrive(client, entry, "second")
    assert set(Annotator.objects.values_list("platform_id", flat=True)) == {"first", "second"}


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("", "“PROLIFIC_PID” is missing or empty"),
        ("PROLIFIC_PID=", "“PROLIFIC_PID” is missing or empty"),
        ("PROLIFIC_PID=%20", "“PROLIFIC_PID” is missing or empty"),
        ("PROLIFIC_PID=%7B%7B%25PROLIFIC_PID%25%7D%7D", "is still “{{%PROLIFIC_PID%}}”"),
        ("PROLIFIC_PID=5f1e&SESSION_ID=%7B%7B%25SESSION_ID%25%7D%7D", "“SESSION_ID” is still"),
        ("PROLIFIC_PID=" + "x" * 201, "has 201 characters"),
        ("PROLIFIC_PID=a%00b", "contains invisible characters"),
    ],
)
def test_a_link_that_was_not_filled_in_says_so(client, entry, query, told):
    address = f"{reverse('platform', args=[entry.platform_token])}?{query}"
    for response in (client.get(address), client.post(address)):
        assert response.status_code == 400
        assert told in response.content.decode()
    assert not Annotator.objects.exists()


def test_the_parameters_can_be_called_otherwise(client, project, alice):
    entry = open_to_platform(
        project, alice, participant_parameter="participantId", study_parameter="", session_parameter=""
    )
    address = f"{reverse('platform', args=[entry.platform_token])}?participantId=connect-1&STUDY_ID=x"
    client.post(address, {"version": ""})
    assert Annotator.objects.values_list("platform_id", "platform_study").get() == ("connect-1", "")


def test_a_link_that_is_off_replaced_or_made_up_finds_nothing(client, project, alice, entry, monkeypatch):
    replace_platform_link(project=project, actor=alice, now=NOW)
    assert client.get(link(entry, "a")).status_code == 404
    entry = open_to_platform(project, alice, platform=False)
    assert client.get(link(entry, "a")).status_code == 404
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", {"join": "1/day"})
    client.get(link(entry, "a"), REMOTE_ADDR="203.0.113.9")
    assert client.get(link(entry, "a"), REMOTE_ADDR="203.0.113.9").status_code == 429


def test_a_project_that_is_not_open_says_so(client, project, entry):
    project.state = "paused"
    project.save()
    assert "paused" in client.get(link(entry, "a")).content.decode()
    assert arrive(client, entry, "a").status_code == 409
    assert not Annotator.objects.exists()


def test_members_answer_as_themselves(client, project, entry, bob):
    client.force_login(bob, "allauth.account.auth_backends.AuthenticationBackend")
    assert client.get(link(entry, "a"))["Location"] == reverse("label", args=[project.pk])


def test_the_numbers_are_shown_to_managers_alone(client, project, entry, alice, vera):
    arrive(client, entry, "secret-number")
    other = Client()
    arrive(other, entry, "second-number")
    answer_open(other, open_token("second-number"))
    assert "secret-number" not in other.get(reverse("label", args=[project.pk])).content.decode()
    viewer = Client()
    viewer.force_login(vera, "allauth.account.auth_backends.AuthenticationBackend")
    for address in [reverse("annotators", args=[project.pk])] + [
        reverse("export", args=[project.pk, table, "csv"]) for table in ("annotators", "labels", "comparisons")
    ]:
        response = viewer.get(address)
        content = b"".join(response.streaming_content) if response.streaming else response.content
        assert b"-number" not in content
    owner = Client()
    owner.force_login(alice, "allauth.account.auth_backends.AuthenticationBackend")
    assert "secret-number" in owner.get(reverse("participants", args=[project.pk])).content.decode()
    file = owner.get(reverse("participants-csv", args=[project.pk]))
    assert b"secret-number" in b"".join(file.streaming_content)


def test_the_join_link_can_be_shut(client, project, alice):
    joined = make_annotator(project, "In already")
    open_to_platform(project, alice, open_link=False)
    door = reverse("join", args=[project.join_token])
    for response in (client.get(door), client.post(door, {"pseudonym": "New"})):
        assert response.status_code == 403
        assert "Nobody new can join" in response.content.decode()
    assert Annotator.objects.get() == joined


def test_when_all_places_are_taken_the_platforms_code_says_so(client, project, alice):
    entry = open_to_platform(
        project,
        alice,
        places=1,
        codes="study",
        complete_code="DONE",
        quota_full_code="FULL",
        return_url="https://app.prolific.com/submissions/complete?cc={code}",
    )
    arrive(client, entry, "first")
    late = Client()
    for response in (late.get(link(entry, "late")), arrive(late, entry, "late")):
        assert "https://app.prolific.com/submissions/complete?cc=FULL" in response.content.decode()
    assert Completion.objects.values_list("platform_id", "kind", "code").get() == ("late", "quota_full", "FULL")
    assert client.get(link(entry, "first")).status_code == 303  # who is in goes on
    assert late.post(reverse("join", args=[project.join_token]), {"pseudonym": "Too late"}).status_code == 409
    assert Annotator.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_places_hold_when_many_come_at_once(project, alice):
    entry = open_to_platform(project, alice, places=3)
    barrier = threading.Barrier(8)

    def come(number: int) -> None:
        try:
            barrier.wait()
            arrive(Client(), entry, f"p{number}")
        finally:
            connection.close()

    threads = [threading.Thread(target=come, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Annotator.objects.count() == 3
    assert Completion.objects.filter(kind="quota_full").count() == 5
