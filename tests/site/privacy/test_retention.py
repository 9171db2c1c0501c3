"""Promises to forget: told to annotators, kept to the day by the engine's clock, never before and never twice."""

from datetime import timedelta
from pathlib import Path

import pytest
from axes.models import AccessLog
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from annotate.management.commands.worker import create_worker
from annotate.models import Annotator, Completion, Consent, Event, FitState, Label, Project, QuestionAnswer, Retention
from annotate.operations import daily_cleanup
from annotate.privacy.retention.actions import change_retention
from annotate.projects.actions import set_state
from annotate.projects.copies.archiving import archive_project
from models_engine.models import Fit
from tests.conftest import NOW, make_annotator
from tests.site.pages import signed_in
from tests.site.privacy.test_erasure import (
    COMMENT,
    OTHER_EMAIL,
    PERSON,
    PLATFORM_ID,
    PSEUDONYM,
    REASON,
    SAID,
    others,
    person,
    project,
    where,
)

__all__ = ["others", "person", "project"]
DAY = timedelta(days=1)


def keep_for(project, alice, days=30, drops="personal"):
    change_retention(project=project, actor=alice, days=days, drops=drops, now=NOW)


def close(project, alice, now=NOW):
    set_state(project=project, actor=alice, state=Project.State.CLOSED, now=now)


def test_names_are_forgotten_on_the_day_and_answers_stay(project, person, alice):
    keep_for(project, alice)
    close(project, alice)
    n_labels = Label.objects.count()
    answers = set(Label.objects.values_list("pk", "outcome", "chosen", "created_at"))
    daily_cleanup.clean_up(NOW + 30 * DAY - timedelta(seconds=1))
    assert Annotator.objects.filter(pseudonym=PSEUDONYM).exists()
    daily_cleanup.clean_up(NOW + 30 * DAY)
    gone = where([PSEUDONYM, PLATFORM_ID, COMMENT, SAID, REASON], Path("/nonexistent"))
    assert {needle: places for needle, places in gone.items() if places} == {}
    assert set(Label.objects.values_list("pk", "outcome", "chosen", "created_at")) == answers
    assert (n_labels, Consent.objects.count()) == (Label.objects.count(), 1)
    annotator = Annotator.objects.get(pk=PERSON)
    assert (annotator.user, annotator.pseudonym) == (None, "Annotator 4")
    assert not QuestionAnswer.objects.exists()
    assert not Completion.objects.exists()
    assert not Label.objects.exclude(session="").exists()
    assert FitState.objects.get().wanted > FitState.objects.get().fitted  # fits took features from what is gone
    assert Event.objects.filter(verb="member invited", details__address=OTHER_EMAIL).exists()  # of members
    assert person.pk  # the account is the person's own to erase
    assert Event.objects.get(verb="retention applied").details == {"annotators": 4}


@pytest.mark.slow
def test_labels_are_erased_where_that_was_promised(project, person, alice):
    keep_for(project, alice, drops="labels")
    close(project, alice)
    daily_cleanup.clean_up(NOW + 31 * DAY)
    assert not Label.objects.exists()
    assert not Annotator.objects.exists()
    assert not Fit.objects.exists()
    assert project.items.count() == 6
    assert set(project.items.values_list("n_taken", flat=True)) == {0}


def test_it_is_done_once_for_a_closing_and_again_for_the_next(project, alice, others):
    keep_for(project, alice, days=1)
    close(project, alice)
    for _ in range(2):
        daily_cleanup.clean_up(NOW + 2 * DAY)
    assert Event.objects.filter(verb="retention applied").count() == 1
    set_state(project=project, actor=alice, state="open", now=NOW + 3 * DAY)
    make_annotator(project, "Late Guest")
    daily_cleanup.clean_up(NOW + 9 * DAY)  # open again: nothing is due
    assert Annotator.objects.filter(pseudonym="Late Guest").exists()
    close(project, alice, NOW + 10 * DAY)
    daily_cleanup.clean_up(NOW + 11 * DAY)
    assert not Annotator.objects.filter(pseudonym="Late Guest").exists()
    assert Event.objects.filter(verb="retention applied").count() == 2


@pytest.mark.parametrize("is_closed", [True, False])
def test_archiving_puts_off_nothing_that_was_closed_before(project, person, alice, is_closed):
    keep_for(project, alice)
    if is_closed:
        close(project, alice)
    archive_project(project=project, actor=alice, now=NOW + 29 * DAY)
    due = NOW + (30 if is_closed else 59) * DAY
    daily_cleanup.clean_up(due - timedelta(seconds=1))
    assert Annotator.objects.filter(pseudonym=PSEUDONYM).exists()
    daily_cleanup.clean_up(due)
    assert not Annotator.objects.filter(pseudonym=PSEUDONYM).exists()


def test_names_that_look_like_ours_do_not_clash(project, alice):
    for name in ("Annotator 2", "Annotator 1", "Else"):
        make_annotator(project, name)
    keep_for(project, alice, days=1)
    close(project, alice)
    daily_cleanup.clean_up(NOW + 2 * DAY)
    names = Annotator.objects.order_by("pk").values_list("pseudonym", flat=True)
    assert list(names) == ["Annotator 1", "Annotator 2", "Annotator 3"]


@pytest.mark.parametrize(("own", "days", "gone"), [(None, 30, True), (0, 30, False), (60, 30, False), (None, 0, False)])
def test_the_sites_default_holds_where_a_project_says_nothing(project, alice, settings, own, days, gone):
    settings.RETENTION_DAYS = days
    make_annotator(project, "Guest")
    if own is not None:
        keep_for(project, alice, days=own)
    Project.objects.filter(pk=project.pk).update(closes_at=NOW)  # closed by its hours
    daily_cleanup.clean_up(NOW + 31 * DAY)
    assert Annotator.objects.filter(pseudonym="Guest").exists() is not gone


def test_annotators_are_told(project, alice, others, settings):
    assert "days after this project" not in Client().get(reverse("join", args=[project.join_token])).content.decode()
    settings.RETENTION_DAYS = 90
    for url in (reverse("join", args=[project.join_token]), reverse("own-data", args=[others[0].resume_token])):
        assert "90 days after this project has closed" in Client().get(url).content.decode()
    keep_for(project, alice, days=7, drops="labels")
    page = Client().get(reverse("join", args=[project.join_token])).content.decode()
    assert "Your answers and all other data about you are erased 7 days after this project has closed." in page


def test_managers_change_it(project, manuel):
    client, url = signed_in(manuel), reverse("retention", args=[project.pk])
    assert "are kept until somebody erases them" in client.get(url).content.decode()
    page = client.post(url, {"days": "14", "drops": "labels"}, follow=True).content.decode()
    assert "14 days after" in page
    row = Retention.objects.get()
    assert (row.days, row.drops) == (14, "labels")
    bad = client.post(url, {"days": "4000", "drops": "labels"})
    assert (bad.status_code, "3650" in bad.content.decode()) == (400, True)
    client.post(url, {"days": "", "drops": "personal"})
    assert Retention.objects.get().days is None
    assert Event.objects.filter(verb="retention changed").count() == 2


def test_an_engine_with_nothing_to_do_tidies_and_survives_what_fails(project, alice, monkeypatch, caplog):
    signed_in(alice)
    AccessLog.objects.create(user_agent="x", ip_address="203.0.113.77", http_accept="", path_info="")
    AccessLog.objects.update(attempt_time=NOW - 91 * DAY)
    Session.objects.update(expire_date=NOW)
    worker = create_worker("test")
    monkeypatch.setattr("annotate.fitting.worker.timezone.now", lambda: NOW + timedelta(seconds=1))
    worker.clean_up_daily()
    assert not AccessLog.objects.exists()
    assert not Session.objects.exists()
    calls = []
    monkeypatch.setattr(daily_cleanup, "clean_up", lambda now: calls.append(now) or 1 / 0)
    worker.clean_up_daily()
    assert calls == []  # once a day
    create_worker("another").clean_up_daily()
    assert len(calls) == 1
    assert "The daily cleanup failed" in caplog.text
