"""A project that pauses by itself when its goal is met: confirmed, once for each goal, and its owner hears of it."""

import json
from datetime import timedelta

import pytest
from django.core import mail

from annotate.audit_log.sentences import recent_events
from annotate.fitting import pausing
from annotate.fitting.goal_measures import looks_within, n_confirming
from annotate.models import Event, EventVerb, Project, Webhook, WebhookDelivery
from annotate.models.goals import Goal
from annotate.projects.actions import change_project, set_state
from models_engine.models import Fit
from tests.conftest import NOW, make_annotator
from tests.site.factories import make_labels
from tests.site.fitting.test_run import fit_now


@pytest.fixture
def project(project) -> Project:
    """Every item is to be compared twice; the owner wants it to pause then."""
    project.goal, project.goal_comparisons, project.pause_at_goal = Goal.COMPARISONS, 2, True
    project.estimator = "BradleyTerry"
    project.save()
    return project


def state(project: Project) -> str:
    return Project.objects.get(pk=project.pk).state


def answers(project: Project, n: int, name: str) -> None:
    make_labels(project, [make_annotator(project, f"{name} {i}") for i in range(3)], n)


def test_it_pauses_once_and_tells_its_owner(project, alice):
    Webhook.objects.create(
        project=project, url="https://example.org/", events=[Webhook.Event.STATE_CHANGED], created_at=NOW
    )
    fit_now(project)
    assert state(project) == "open", "nothing is compared yet"
    answers(project, 60, "Otter")
    fit_now(project)
    assert state(project) == "paused"
    assert [message.to for message in mail.outbox] == [[alice.email]]
    assert "is met after 60 answers, so the project has paused itself" in mail.outbox[0].body
    assert [json.loads(one.body)["data"]["state"] for one in WebhookDelivery.objects.all()] == ["paused"]
    assert (recent_events(project)[0].who, recent_events(project)[0].what) == (
        "The engine",
        "paused the project because its goal was met after 60 answers",
    )
    set_state(project=project, actor=alice, state="open", now=NOW)
    answers(project, 20, "Stoat")
    fit_now(project, NOW + timedelta(hours=2))
    assert state(project) == "open", "who resumes it means it"
    change_project(project=project, actor=alice, values={"goal_comparisons": 3}, now=NOW)
    fit_now(project, NOW + timedelta(hours=3))
    assert state(project) == "paused", "another goal"


@pytest.mark.parametrize("values", [{"pause_at_goal": False}, {"goal": ""}, {"goal_comparisons": 500}])
def test_it_stays_open_where_nobody_asked_or_nothing_is_met(project, values):
    Project.objects.filter(pk=project.pk).update(**values)
    answers(project, 60, "Otter")
    fit_now(project)
    assert state(project) == "open"
    assert not Event.objects.filter(verb=EventVerb.PROJECT_PAUSED_AT_GOAL).exists()


def test_an_estimated_goal_must_hold_over_fifty_answers(project):
    Project.objects.filter(pk=project.pk).update(goal=Goal.WIDTH, goal_width=20)
    answers(project, 40, "Otter")
    fit_now(project)
    answers(project, 49, "Stoat")
    fit_now(project, NOW + timedelta(hours=2))
    assert state(project) == "open"
    answers(project, 1, "Heron")
    fit_now(project, NOW + timedelta(hours=3))
    assert state(project) == "paused"
    looks = Fit.objects.get(published=True).diagnostics["goal"]["looks"]
    assert [n for n, _wrong in looks] == [40, 90]


def test_a_fit_that_misses_the_goal_begins_anew():
    goal = {"kind": "top", "value": 5, "limit": 0.1}
    within = {"looks": [[100, 0.05], [120, 0.02]]}
    fits = [Fit(diagnostics={"goal": goal | within}), Fit(diagnostics={"goal": goal | {"looks": []}})]
    fits += [
        Fit(diagnostics={"goal": goal | within | {"value": 6}}),
        Fit(diagnostics={"goal": goal | within | {"limit": 0.2}}),
    ]
    found = [looks_within(goal, 0.03, 150, former) for former in [*fits, Fit(diagnostics={}), None]]
    assert found == [[(100, 0.05), (150, 0.03)], *[[(150, 0.03)]] * 5]
    assert looks_within(goal, 0.11, 150, fits[0]) == []
    assert looks_within(goal, float("nan"), 150, fits[0]) == []
    assert looks_within(goal, 0.03, 90, fits[0]) == [(90, 0.03)], "labels were voided"
    assert n_confirming([(100, 0.05), (120, 0.02)]) == 30


def test_every_criterion_must_meet_it(project):
    project.criteria = [{"name": "Clear", "question": "?"}, {"name": "Right", "question": "?"}]
    project.save()
    goal = {"kind": "comparisons", "value": 2, "met": True}
    one = {"project_id": project.pk, "data_version": 1, "published": True, "started_at": NOW, "n_labels": 60}
    first = Fit.objects.create(number=1, criterion=1, diagnostics={"goal": goal}, **one)
    assert not pausing.pause_at_goal(first, NOW)
    second = Fit.objects.create(number=2, criterion=2, diagnostics={"goal": goal}, **one)
    assert pausing.pause_at_goal(second, NOW)
    assert not pausing.pause_at_goal(second, NOW), "it is paused"


def test_a_message_that_cannot_be_sent_pauses_all_the_same(project, settings):
    settings.EMAIL_BACKEND = "tests.site.fitting.no_such_backend"
    answers(project, 60, "Otter")
    fit_now(project)
    assert state(project) == "paused"
