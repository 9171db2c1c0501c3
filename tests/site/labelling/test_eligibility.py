"""Hours, reading time, breaks, sittings, reasons to skip: held where labels are written, told to annotators."""

import random
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotate.core import errors
from annotate.criteria import Criterion
from annotate.fitting.reading import read_labels
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.labelling.undo import undo_label
from annotate.models import Event, Label, Presentation, Project
from annotate.publishing.exports import labels as table
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.labelling.test_labelling import as_annotator, submit_url, task_of
from tests.site.pages import HTMX, leases_looked_at, page, signed_in

MINUTE = timedelta(minutes=1)
PLAIN = 22  # statements of submit-and-next before there were any checks


def set_up(project: Project, **values) -> None:
    Project.objects.filter(pk=project.pk).update(**values)
    project.refresh_from_db()


@pytest.fixture
def otter(project):
    return make_annotator(project, "Quiet Otter")


def open_task(annotator, now=NOW) -> Presentation:
    return assignment.next_presentation(annotator=annotator, now=now, rng=random.Random(1))


def test_the_hours_are_held_where_tasks_are_given_and_labels_written(project, otter):
    set_up(project, opens_at=NOW, closes_at=NOW + 5 * MINUTE)
    with pytest.raises(errors.ProjectNotOpen, match="opens on 20 November 2026, 12:00 UTC"):
        open_task(otter, NOW - MINUTE)
    shown = open_task(otter, NOW)
    with pytest.raises(errors.ProjectNotOpen, match="until 20 November 2026, 12:05 UTC"):
        record_label(presentation=shown, answer=Answer("choice", 0), now=NOW + 5 * MINUTE)
    assert not Label.objects.exists()
    record_label(presentation=shown, answer=Answer("choice", 0), now=NOW + 5 * MINUTE - timedelta(seconds=1))
    with pytest.raises(errors.ProjectNotOpen):
        undo_label(annotator=otter, now=NOW + 6 * MINUTE)


def test_annotators_are_told_the_hours(project, otter):
    now = timezone.now()
    set_up(project, opens_at=now + timedelta(hours=1))
    door = reverse("join", args=[project.join_token])
    for client, url in ((Client(), door), (as_annotator(otter), task_of(project))):
        told = client.get(url).content.decode()
        assert "Not open yet" in told
        assert "Come back then" in told
    set_up(project, opens_at=None, closes_at=now + timedelta(hours=1))
    assert "You can answer until" in Client().get(door).content.decode()
    set_up(project, closes_at=now)
    assert Client().post(door, {"pseudonym": "Late"}).status_code == 409
    assert "and is over now" in as_annotator(otter).get(task_of(project)).content.decode()


def test_an_answer_before_the_shortest_time_stays_on_the_page(project, otter):
    set_up(project, min_seconds=60, comments=True)
    client = as_annotator(otter)
    client.post(task_of(project))
    shown = Presentation.objects.get()
    wait = client.get(task_of(project)).content.decode().partition('data-wait="')[2]
    assert 0 < int(wait.partition('"')[0]) <= 60_000
    response = client.post(submit_url(shown), {"answer": "a", "comment": "typed already"}, headers=HTMX)
    assert response.status_code == 409
    assert "at least 60 seconds for each task" in response.content.decode()
    assert "typed already" in response.content.decode()
    assert not Label.objects.exists()
    Presentation.objects.update(created_at=timezone.now() - MINUTE)
    assert "data-wait=" not in client.get(task_of(project)).content.decode()
    client.post(submit_url(shown), {"answer": "a"})
    label = Label.objects.get()
    reopened = undo_label(annotator=otter, now=label.created_at)
    record_label(presentation=reopened, answer=Answer("choice", 1), now=label.created_at)
    assert Label.objects.filter(voided_at=None).get().chosen_id != label.chosen_id, "read before, so it need not wait"


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_break_is_proposed_and_skipped(project, otter, headers):
    set_up(project, break_every=2)
    client = as_annotator(otter)
    client.post(task_of(project))
    for n in (1, 2, 3):
        response = client.post(
            submit_url(Presentation.objects.get(state="open", ahead=False)), {"answer": "a"}, headers=headers
        )
        told = response.content.decode() if headers else client.get(task_of(project)).content.decode()
        assert ("Time for a short break" in told) == (n == 2)
        assert Presentation.objects.filter(state="open").exists() == (n != 2)
        if n == 2:
            client.post(task_of(project))


def test_a_sitting_ends_by_half_an_hour_without_an_answer(project, otter):
    set_up(project, sitting_cap=2, overlap=1)
    answer_one(otter, now=NOW)
    answer_one(otter, now=NOW + 29 * MINUTE)
    with pytest.raises(errors.SittingCapReached, match="you can continue from 20 November 2026, 12:59 UTC"):
        open_task(otter, NOW + 58 * MINUTE)
    answer_one(otter, now=NOW + 59 * MINUTE)
    answer_one(otter, now=NOW + 60 * MINUTE)
    with pytest.raises(errors.SittingCapReached):
        open_task(otter, NOW + 61 * MINUTE)


def test_the_page_tells_that_the_sitting_is_over(project, otter):
    set_up(project, sitting_cap=1)
    client = as_annotator(otter)
    client.post(task_of(project))
    told = client.post(submit_url(Presentation.objects.get()), {"answer": "a"}, headers=HTMX).content.decode()
    assert "Enough for now" in told
    assert "Enough for now" in client.get(task_of(project)).content.decode()


def test_skipping_asks_why_and_the_reason_is_kept_apart(project, otter):
    set_up(project, ask_why_skipped=True, skip_reasons=["I know the author", "Broken"])
    client = as_annotator(otter)
    client.post(task_of(project))
    shown = Presentation.objects.get()
    assert 'value="I know the author"' in client.get(task_of(project)).content.decode()
    refused = client.post(submit_url(shown), {"answer": "skip", "reason_words": "  "}, headers=HTMX)
    assert refused.status_code == 400
    assert "a reason for skipping" in refused.content.decode()
    long = client.post(submit_url(shown), {"answer": "skip", "reason_words": "x" * 201}, headers=HTMX)
    assert "has 201 characters; the limit is 200" in long.content.decode()
    assert f'value="{"x" * 201}"' in long.content.decode(), "what was typed is still there"
    assert not Label.objects.exists()
    client.post(submit_url(shown), {"answer": "skip", "reason": "", "reason_words": " It's\n mine\0 "})
    client.post(submit_url(Presentation.objects.get(state="open", ahead=False)), {"answer": "a", "reason": "Broken"})
    skipped, chosen = Label.objects.order_by("pk")
    assert (skipped.reason, chosen.reason) == ("It's mine", "")
    names = [column.name for column in table.COLUMNS]
    assert [row[names.index("reason")] for row in table.rows(Criterion(project))] == ["It's mine", ""]
    assert read_labels(Criterion(project)).data.n_labels == 1


def test_active_time_is_kept_beside_the_raw_one(project, otter):
    client = as_annotator(otter)
    client.post(task_of(project))
    sent = {"answer": "a", "response_ms": "90000", "active_ms": "31000"}
    client.post(submit_url(Presentation.objects.get()), sent)
    label = Label.objects.get()
    assert (label.response_ms, label.active_ms) == (90_000, 31_000)
    row = dict(zip([column.name for column in table.COLUMNS], next(table.rows(Criterion(project))), strict=True))
    assert (row["response_seconds"], row["active_seconds"]) == (90.0, 31.0)


def test_the_owner_sets_the_checks(project, alice):
    client, url = signed_in(alice), reverse("quality", args=[project.pk])
    values = {
        "opens_at": "2026-11-20T09:00",
        "closes_at": "2026-11-27T18:00",
        "min_seconds": "2",
        "practice_tries": "2",
        "repeat_percent": "10",
        "break_every": "20",
        "sitting_cap": "",
        "ask_why_skipped": "on",
        "skip_reasons": "I know the author\n\n Broken  \nBroken",
    }
    assert client.post(url, values).status_code == 302
    project.refresh_from_db()
    assert project.skip_reasons == ["I know the author", "Broken"]
    assert (project.min_seconds, project.break_every, project.sitting_cap) == (2, 20, None)
    assert str(project.closes_at) == "2026-11-27 18:00:00+00:00"
    shown = page(client, project, "quality")
    assert "2026-11-27T18:00" in shown
    assert "I know the author Broken" in shown
    assert "settings changed" in Event.objects.values_list("verb", flat=True)
    assert "opens at" in page(client, project, "project-manage")
    for wrong, told in (
        ({"closes_at": "2026-11-20T08:00"}, "It would close before it opens"),
        ({"min_seconds": "121"}, "less than or equal to 120"),
        ({"skip_reasons": "\n".join(map(str, range(13)))}, "There are 13 reasons; the limit is 12"),
        ({"skip_reasons": "x" * 201}, "has 201 characters; the limit is 200"),
    ):
        refused = client.post(url, values | wrong)
        assert refused.status_code == 400
        assert told in refused.content.decode()
    assert client.post(url, values | {"min_seconds": "", "repeat_percent": ""}).status_code == 302, "empty is off"
    project.refresh_from_db()
    assert (project.min_seconds, project.repeat_percent) == (0, 0)


@pytest.mark.parametrize("ahead", [False, True])
def test_a_plain_project_asks_the_database_no_more_than_before(project, otter, ahead):
    """What is switched off costs nothing; a question held ready one statement."""
    set_up(project, question_ahead=ahead)
    client = as_annotator(otter)
    client.post(task_of(project))
    for _warm in range(3):
        client.post(submit_url(Presentation.objects.get(state="open", ahead=False)), {"answer": "a"}, headers=HTMX)
    url = submit_url(Presentation.objects.get(state="open", ahead=False))
    leases_looked_at(project)
    with CaptureQueriesContext(connection) as queries:
        client.post(url, {"answer": "a"}, headers=HTMX)
    assert len(queries) <= PLAIN + ahead
