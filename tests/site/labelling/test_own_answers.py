"""An annotator's own answers: theirs alone, newest first, in words, with the last one to undo; and how much is left."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from annotate.labelling.time_left import describe_time_left, parse_client_timing
from annotate.models import Label, Project
from tests.conftest import NOW, answer_one, make_annotator, make_items
from tests.site.labelling.test_labelling import HTMX, as_annotator, submit_url, task_of


def own(browser: Client, project: Project, query: str = "") -> str:
    response = browser.get(reverse("own-answers", args=[project.pk]) + query)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def test_answers_are_told_newest_first_with_what_was_shown(project):
    otter, heron = (make_annotator(project, name) for name in ("Quiet Otter", "Brisk Heron"))
    first = answer_one(otter, chosen=1, now=NOW)
    Label.objects.filter(pk=first.pk).update(comment="<b>close</b>")
    second = answer_one(otter, chosen=None, outcome="tie", now=NOW + timedelta(minutes=1))
    other = answer_one(heron, chosen=0, now=NOW)
    Label.objects.filter(pk=other.pk).update(comment="Heron's own")
    page = own(as_annotator(otter), project)
    assert page.index("You said “Tie”") < page.index("You chose B")
    for label in (first, second):
        for item in label.presentation.items.all():
            assert item.body in page
            assert item.key not in page
    assert "&lt;b&gt;close&lt;/b&gt;" in page
    assert "Heron" not in page
    assert page.count('class="card own-answer') == 2
    assert page.count(f'name="token" value="{second.presentation.token}"') == 1
    assert page.count('name="token"') == 1
    assert re.search(r'<li class="is-named"><span class="own-answer-letter">B<', page)
    assert "2 answers of yours count." in page


def test_what_was_taken_back_or_came_late_says_so_and_nothing_else_that_is_void_shows(project):
    otter = make_annotator(project, "Quiet Otter")
    reasons = ["undone", "late", "excluded"]
    for number, reason in enumerate(reasons):
        label = answer_one(otter, now=NOW + timedelta(minutes=number))
        Label.objects.filter(pk=label.pk).update(voided_at=NOW, void_reason=reason)
    page = own(as_annotator(otter), project)
    assert page.count('class="card own-answer') == 2
    assert "You undid this answer; it does not count." in page
    assert "stored but does not count" in page
    assert 'name="token"' not in page
    assert "0 answers of yours count." in page


def test_undo_from_the_list_asks_the_same_again(project):
    otter = make_annotator(project, "Quiet Otter")
    label = answer_one(otter)
    browser = as_annotator(otter)
    token = re.search(r'name="token" value="([^"]+)"', own(browser, project))[1]
    assert browser.post(reverse("undo", args=[project.pk]), {"token": token})["Location"] == task_of(project)
    label.refresh_from_db()
    assert label.void_reason == "undone"


@pytest.mark.slow
def test_many_answers_come_in_pages_with_as_many_queries(project, django_assert_max_num_queries):
    make_items(project_with_room(project), 40)
    otter = make_annotator(project, "Quiet Otter")
    for number in range(45):
        answer_one(otter, now=NOW + timedelta(minutes=number), seed=number)
    browser = as_annotator(otter)
    with django_assert_max_num_queries(8):
        first = own(browser, project)
    assert first.count('class="card own-answer') == 20
    last = own(browser, project, "?page=3")
    assert last.count('class="card own-answer') == 5
    assert 'name="token"' not in last
    assert "41 to 45 of 45" in own(browser, project, "?page=99")


def project_with_room(project: Project) -> Project:
    project.items.all().delete()
    project.overlap = 9
    project.save()
    return project


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_the_page_is_there_while_the_project_is_open(project, state):
    otter = make_annotator(project, "Quiet Otter")
    label = answer_one(otter)
    Project.objects.update(state=state)
    response = as_annotator(otter).get(reverse("own-answers", args=[project.pk]))
    assert response.status_code == 409
    assert label.presentation.items.first().body not in response.content.decode()


def test_the_excluded_see_why_and_no_more(project):
    otter = make_annotator(project, "Quiet Otter", excluded_at=NOW)
    response = as_annotator(otter).get(reverse("own-answers", args=[project.pk]))
    assert response.status_code == 403
    assert "You can&#x27;t answer here" in response.content.decode()


# --- How much is left -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "ms", "words"),
    [
        (40, None, ""),
        (0, 9000, ""),
        (4, 9000, "less than a minute left"),
        (6, 9000, "about 1 minute left"),
        (40, 9000, "about 6 minutes left"),
        (200, 9900, "about 35 minutes left"),
        (500, 12_000, "about 2 hours left"),
    ],
)
def test_time_is_told_roughly_and_only_where_it_is_known(n, ms, words):
    assert describe_time_left(n, ms) == words


@pytest.mark.parametrize("text", ["", "-3", "0", "1e9", "nan", "²", "9" * 40, "3600001"])
def test_a_hint_that_cannot_be_is_none(text):
    assert parse_client_timing({"median_ms": text}).median_ms is None


def test_the_pace_that_the_browser_sends_is_told_with_the_next_task(project):
    Project.objects.update(cap=41)
    otter = make_annotator(project, "Quiet Otter")
    browser = as_annotator(otter)
    browser.post(task_of(project))
    shown = otter.presentations.get(state="open", ahead=False)
    page = browser.post(submit_url(shown), {"answer": "a", "median_ms": "9000"}, headers=HTMX).content.decode()
    assert "about 6 minutes left" in page
    assert " left</p>" not in browser.get(task_of(project)).content.decode()


def test_what_is_left_of_a_small_project_is_told_and_counted_down(project):
    project.items.exclude(pk__in=project.items.values("pk")[:4]).update(retired_at=NOW)
    Project.objects.update(overlap=1)
    answer_one(make_annotator(project, "Brisk Heron"))  # one of the six pairs is done with
    otter = make_annotator(project, "Quiet Otter")
    browser = as_annotator(otter)
    browser.post(task_of(project))
    page = browser.get(task_of(project)).content.decode()
    assert "0 answered, at most 5 left" in page
    total = re.search(r'data-total="(\d+)"', page)[1]
    shown = otter.presentations.get(state="open", ahead=False)
    page = browser.post(submit_url(shown), {"answer": "a", "total": total}, headers=HTMX).content.decode()
    assert "1 answered, at most 4 left" in page
    assert 'data-total="5"' in page
    assert "1 answered, at most 4 left" in browser.get(task_of(project)).content.decode()


def test_nobody_is_told_of_thousands_left(project):
    make_items(project_with_room(project), 40)
    otter = make_annotator(project, "Quiet Otter")
    browser = as_annotator(otter)
    browser.post(task_of(project))
    page = browser.get(task_of(project)).content.decode()
    assert "0 answered</p>" in page
    assert "data-total" not in page


def test_the_personal_link_and_its_code_are_for_the_annotator_alone(project, alice):
    otter = make_annotator(project, "Quiet Otter")
    page = own(as_annotator(otter), project)
    assert f"/join/again/{otter.resume_token}/" in page
    assert "<svg" in page[page.index("QR code of your personal link") :]
    member = make_annotator(project, "Member", user=alice)
    browser = Client()
    browser.force_login(alice, "allauth.account.auth_backends.AuthenticationBackend")
    assert member.resume_token not in own(browser, project)
    stranger = Client().post(reverse("join", args=[project.join_token]), {"pseudonym": "Quiet Otter", "version": ""})
    said = stranger.content.decode()
    assert "If it is yours, you can go on" in said
    assert otter.resume_token not in said
