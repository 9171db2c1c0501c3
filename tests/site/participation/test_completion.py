"""From a platform's link with parameters of its own to the code: every way a part ends, and the code valid once."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from annotate.models import Annotator, Completion, ParticipationRules, Project
from tests.conftest import NOW, make_annotator
from tests.site.gold_sets import make_known
from tests.site.labelling.test_eligibility import set_up
from tests.site.pages import signed_in
from tests.site.participation_steps import answer_open, arrive, finish, open_to_platform, open_token

BACK = "https://connect.cloudresearch.com/participant/project/7/complete?code={code}&worker={participant}"
WHO = "worker/1 & co"


def answered(client: Client, project: Project, entry: ParticipationRules):
    arrive(client, entry, WHO)
    answer_open(client, open_token(WHO))
    return finish(client, project)


def failed_the_practice(client: Client, project: Project, entry: ParticipationRules):
    set_up(project, practice_pass=1, practice_tries=1)
    make_known(project, "practice", 1)
    arrive(client, entry, WHO)
    shown = Annotator.objects.get().presentations.get(state="open")
    right = list(shown.presented.values_list("item", flat=True)).index(shown.known.named[0])
    answer_open(client, shown.token, "ab"[1 - right])
    return finish(client, project)


def found_no_place(client: Client, project: Project, entry: ParticipationRules):
    make_annotator(project, "First", platform_id="another", joined_at=NOW)
    ParticipationRules.objects.update(places=1, place_minutes=None)
    return arrive(client, entry, WHO)


def found_nothing_to_answer(client: Client, project: Project, entry: ParticipationRules):
    project.items.update(retired_at=NOW)
    arrive(client, entry, WHO)
    return finish(client, project)


@pytest.mark.parametrize(
    ("way", "kind"),
    [
        (answered, "complete"),
        (failed_the_practice, "screened_out"),
        (found_no_place, "quota_full"),
        (found_nothing_to_answer, "quota_full"),
    ],
)
def test_every_end_gives_a_signed_code_that_goes_back_and_counts_once(
    client, project, alice, charlie, way: Callable, kind: str
):
    Project.objects.filter(pk=project.pk).update(cap=1)
    entry = open_to_platform(
        project,
        alice,
        participant_parameter="workerId",
        study_parameter="projectId",
        session_parameter="",
        codes="individual",
        return_url=BACK,
    )
    page = way(client, project, entry)
    completion = Completion.objects.get()
    assert (completion.kind, completion.individual, completion.used_at) == (kind, True, None)
    html = page.content.decode()
    href = next(part for part in html.replace("&amp;", "&").split('"') if part.startswith("https://connect."))
    assert parse_qs(urlsplit(href).query) == {"code": [completion.code], "worker": [WHO]}
    assert arrive(client, entry, WHO).status_code in (200, 303)
    assert Completion.objects.get() == completion, "who opens the link again is told the same"

    owner, others = signed_in(alice), signed_in(charlie)
    check = reverse("participants", args=[project.pk])
    for sent, told in (
        ({"code": completion.code.lower()}, "has not been used"),
        ({"code": completion.code, "use": "1"}, "now marked as used"),
        ({"code": completion.code, "use": "1"}, "has already been used"),
    ):
        assert told in owner.post(check, sent, follow=True).content.decode()
    assert others.post(check, {"code": completion.code}).status_code == 404
    assert Completion.objects.get().used_by == alice


def test_the_code_is_shown_as_soon_as_it_is_earned_and_holds_without_finish(client, project, alice):
    Project.objects.filter(pk=project.pk).update(cap=1)
    entry = open_to_platform(project, alice, codes="individual", return_url="")
    arrive(client, entry, WHO)
    task = reverse("label", args=[project.pk])
    assert 'id="code"' not in client.get(task).content.decode()
    answer_open(client, open_token(WHO))
    html = client.get(task).content.decode()
    code = html.split('id="code" value="')[1].partition('"')[0]
    assert not Completion.objects.exists(), "looking stores nothing"
    owner, check = signed_in(alice), reverse("participants", args=[project.pk])
    assert "has not been used" in owner.post(check, {"code": code}, follow=True).content.decode()
    client.post(reverse("undo", args=[project.pk]))
    assert "is not a code of this project" in owner.post(check, {"code": code}, follow=True).content.decode()
    answer_open(client, open_token(WHO))
    assert "now marked as used" in owner.post(check, {"code": code, "use": "1"}, follow=True).content.decode()
    completion = Completion.objects.get()
    assert (completion.code, completion.kind, completion.used_by) == (code, "complete", alice)
    assert code in client.get(reverse("done", args=[project.pk])).content.decode()


def test_questions_at_the_end_come_before_the_code(client, project, alice):
    Project.objects.filter(pk=project.pk).update(cap=1, fields_after=5)
    entry = open_to_platform(project, alice, codes="study", complete_code="DONE-1")
    arrive(client, entry, WHO)
    answer_open(client, open_token(WHO))
    assert "DONE-1" not in client.get(reverse("label", args=[project.pk])).content.decode()
    Project.objects.filter(pk=project.pk).update(fields_after=0)
    assert "DONE-1" in client.get(reverse("label", args=[project.pk])).content.decode()
