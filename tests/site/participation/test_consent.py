"""Consent before the first task, the end with its code, and codes that count once."""

import hashlib
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from annotate.models import Annotator, Completion, Consent, Label, ParticipationRules, Project
from annotate.participation.completion.actions import check_code, use_code
from annotate.participation.completion.codes import may_return_to, return_link
from annotate.participation.places import n_places_taken
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.participation_steps import answer_open, arrive, finish, link, open_to_platform, open_token, screened_out

TEXT = "You may **stop** at any time."
BACK = "https://app.prolific.com/submissions/complete?cc={code}"


@pytest.fixture
def entry(project, alice):
    """One answer from each, consent, and individual codes."""
    Project.objects.filter(pk=project.pk).update(cap=1)
    return open_to_platform(project, alice, consent=TEXT, codes="individual", return_url=BACK, no_consent_code="NO")


def task_of(project):
    return reverse("label", args=[project.pk])


def test_nobody_comes_in_without_agreeing(client, project, entry):
    for address, sent in (
        (link(entry, "a"), {}),
        (link(entry, "a"), {"consent": "yes", "version": "old"}),
        (reverse("join", args=[project.join_token]), {"pseudonym": "Ann"}),
    ):
        assert "You may <strong>stop</strong>" in client.get(address).content.decode()
        assert "You may <strong>stop</strong>" in client.post(address, sent).content.decode()
    assert not Annotator.objects.exists()
    arrive(client, entry, "a")
    consent = Consent.objects.select_related("text").get()
    assert (consent.text.text, consent.text.version) == (TEXT, hashlib.sha256(TEXT.encode()).hexdigest())
    assert consent.at >= Annotator.objects.get().joined_at - timedelta(seconds=5)


def test_who_does_not_agree_leaves_nothing_and_finds_the_way_back(client, project, entry):
    page = arrive(client, entry, "a", consent="no").content.decode()
    assert "https://app.prolific.com/submissions/complete?cc=NO" in page
    page = client.post(reverse("join", args=[project.join_token]), {"consent": "no"}).content.decode()
    assert "we ask and store nothing more" in page
    assert not Annotator.objects.exists()


def test_a_new_text_is_asked_again_before_the_next_task_and_loses_no_answer(client, project, alice, entry):
    Project.objects.filter(pk=project.pk).update(cap=9)
    arrive(client, entry, "a")
    token = open_token("a")
    open_to_platform(project, alice, consent="Another text.")
    assert answer_open(client, token).status_code == 303
    assert Label.objects.count() == 1  # given under the old text, it counts
    assert open_token("a") is None
    assert client.get(task_of(project))["Location"] == reverse("consent", args=[project.pk])
    fragment = client.post(task_of(project), headers={"HX-Request": "true"})
    assert fragment["HX-Redirect"] == reverse("consent", args=[project.pk])
    page = client.get(reverse("consent", args=[project.pk]))
    assert "Another text." in page.content.decode()
    assert client.post(reverse("consent", args=[project.pk]), {"version": "old"})["Location"].endswith("consent/")
    project.refresh_from_db()
    client.post(reverse("consent", args=[project.pk]), {"version": project.consent_version})
    assert open_token("a")
    assert Consent.objects.count() == 2


def test_members_agree_too(client, project, entry, bob):
    client.force_login(bob, "allauth.account.auth_backends.AuthenticationBackend")
    assert TEXT.split()[0] in client.get(task_of(project)).content.decode()
    client.post(task_of(project), {"pseudonym": "Bob"})
    assert not Annotator.objects.exists()
    project.refresh_from_db()
    client.post(task_of(project), {"pseudonym": "Bob", "version": project.consent_version, "consent": "yes"})
    assert Consent.objects.get().annotator.user == bob


def test_the_end_gives_a_code_once_and_ends_the_part(client, project, entry):
    arrive(client, entry, "a")
    assert client.post(reverse("done", args=[project.pk]))["Location"] == task_of(project)  # not yet
    assert not Completion.objects.exists()
    answer_open(client, open_token("a"))
    assert reverse("done", args=[project.pk]) in client.get(task_of(project)).content.decode()
    first, again = finish(client, project).content.decode(), finish(client, project).content.decode()
    completion = Completion.objects.get()
    for page in (first, again):
        assert completion.code in page
        assert BACK.replace("{code}", completion.code) in page
    assert client.get(task_of(project))["Location"] == reverse("done", args=[project.pk])
    own = client.get(reverse("own-answers", args=[project.pk]))
    assert (own.status_code, own["Location"]) == (302, reverse("done", args=[project.pk]))
    undone = client.post(reverse("undo", args=[project.pk]))
    assert undone["Location"] == reverse("done", args=[project.pk])
    assert Label.objects.get().voided_at is None


def test_a_code_counts_once_and_a_made_up_one_never(client, project, alice, entry):
    arrive(client, entry, "a")
    answer_open(client, open_token("a"))
    finish(client, project)
    code = Completion.objects.get().code
    typed = code.lower().replace("-", " ")
    assert check_code(project=project, code=typed).used_before is None
    first = use_code(project=project, actor=alice, code=typed, now=NOW)
    second = use_code(project=project, actor=alice, code=code, now=NOW + timedelta(1))
    assert first.used_before is None
    assert second.used_before == NOW
    assert Completion.objects.get().used_at == NOW
    for wrong in ("", "AAAA-BBBB-CCCC", code[:-1], "\x00"):
        assert use_code(project=project, actor=alice, code=wrong, now=NOW).completion is None
    Completion.objects.update(code="AAAA-BBBB-CCCC")  # written past the site, so signed by nobody
    assert check_code(project=project, code="AAAA-BBBB-CCCC").completion is None


def test_codes_stay_genuine_when_the_secret_is_replaced(client, project, entry, settings):
    arrive(client, entry, "a")
    screened_out(Annotator.objects.get())
    code = Completion.objects.get().code
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "a new secret of fifty characters or so"
    assert check_code(project=project, code=code).completion
    settings.SECRET_KEY_FALLBACKS = []
    assert check_code(project=project, code=code).completion is None


def test_the_owner_checks_codes_on_a_page(client, project, alice, entry):
    arrive(client, entry, "a")
    screened_out(Annotator.objects.get())
    code = Completion.objects.get().code
    client.force_login(alice, "allauth.account.auth_backends.AuthenticationBackend")
    page = reverse("participants", args=[project.pk])
    assert "has not been used" in client.post(page, {"code": code}, follow=True).content.decode()
    assert "now marked as used" in client.post(page, {"code": code, "use": "1"}, follow=True).content.decode()
    assert "has already been used" in client.post(page, {"code": code, "use": "1"}, follow=True).content.decode()
    assert "not a code of this project" in client.post(page, {"code": "nonsense"}, follow=True).content.decode()
    assert client.post(page, {"code": ""}).status_code == 400


def test_screening_out_ends_the_part_and_frees_the_place_and_the_set(client, project, alice, entry):
    arrive(client, entry, "a")
    entry = open_to_platform(project, alice, codes="study", complete_code="DONE", screened_out_code="OUT", places=1)
    assert n_places_taken(entry, NOW) == 1
    screened_out(Annotator.objects.get())
    assert n_places_taken(entry, NOW) == 0
    assert set(project.items.values_list("n_taken", flat=True)) == {0}
    page = client.get(task_of(project), follow=True).content.decode()
    assert "cc=OUT" in page
    assert "is looking for other participants" in page


def test_who_finds_nothing_to_answer_gets_the_code_for_no_place(client, project, alice, entry):
    entry = open_to_platform(project, alice, codes="study", complete_code="DONE", quota_full_code="FULL")
    project.items.update(retired_at=NOW)
    arrive(client, entry, "a")
    assert "cc=FULL" in finish(client, project).content.decode()


def test_who_answered_before_the_project_closed_has_finished(client, project, alice, entry):
    Project.objects.filter(pk=project.pk).update(cap=9)
    arrive(client, entry, "a")
    answer_open(client, open_token("a"))
    idle = Client()
    arrive(idle, entry, "b")
    Project.objects.filter(pk=project.pk).update(state="paused")
    assert finish(client, project).redirect_chain[0][0] == task_of(project)
    Project.objects.filter(pk=project.pk).update(state="closed")
    finish(client, project)
    finish(idle, project)
    assert Completion.objects.get().annotator.platform_id == "a"


def test_an_unused_place_goes_to_somebody_else_after_its_time(project, alice):
    entry = open_to_platform(project, alice, places=2, place_minutes=60)
    for name in ("left", "busy"):
        make_annotator(project, name, joined_at=NOW)
    answer_one(Annotator.objects.get(pseudonym="busy"), now=NOW + timedelta(minutes=50))
    assert n_places_taken(entry, NOW + timedelta(minutes=59)) == 2
    assert n_places_taken(entry, NOW + timedelta(minutes=61)) == 1
    Annotator.objects.filter(pseudonym="left").update(ended="complete")
    assert n_places_taken(entry, NOW + timedelta(days=9)) == 1


def test_a_project_without_an_ending_is_as_it_was(client, project):
    project.cap = 1
    project.save()
    client.post(reverse("join", args=[project.join_token]), {"pseudonym": "Ann"})
    annotator = Annotator.objects.get()
    answer_open(client, annotator.presentations.get().token)
    page = client.get(task_of(project)).content.decode()
    assert reverse("done", args=[project.pk]) not in page
    assert not ParticipationRules.objects.exists()


@pytest.mark.parametrize(
    ("template", "allowed"),
    [
        (BACK, True),
        ("https://uni.sona-systems.com/webstudy_credit.aspx?survey_code={participant}", True),
        ("http://app.prolific.com/submissions/complete?cc={code}", False),
        ("https://app.prolific.com.evil.example/?cc={code}", False),
        ("https://app.prolific.com@evil.example/?cc={code}", False),
        ("https://sona-systems.com.evil/?x", False),
        (
            "https://evil.example\\.sona-systems.com/{code}",
            False,
        ),  # browsers take it for evil.example/.sona-systems.com
        ("https://evil.example%2F.sona-systems.com/{code}", False),
        ("https://{code}.sona-systems.com/", False),
        ("https://app.prolific.com:8443/", False),
        ("https://app.prolific.com:x/", False),
        ("javascript:alert(1)", False),
        ("//app.prolific.com/", False),
    ],
)
def test_people_are_sent_back_to_allowed_hosts_only(template, allowed):
    assert may_return_to(template) == allowed
    assert bool(return_link(ParticipationRules(return_url=template), "C&D=1", "p/1")) == allowed


def test_what_is_filled_in_stays_one_value():
    assert return_link(ParticipationRules(return_url=BACK), "C&D=1 ü", "") == BACK.replace(
        "{code}", "C%26D%3D1%20%C3%BC"
    )
    assert return_link(ParticipationRules(return_url=BACK), "", "") == ""


def test_who_failed_the_practice_gets_the_code_of_those_screened_out(client, project, alice, entry):
    entry = open_to_platform(project, alice, codes="study", complete_code="DONE", screened_out_code="OUT", places=1)
    arrive(client, entry, "a")
    Annotator.objects.update(screened_out_at=NOW)
    assert reverse("done", args=[project.pk]) in client.get(task_of(project)).content.decode()
    assert "cc=OUT" in finish(client, project).content.decode()
    assert n_places_taken(entry, NOW) == 0
