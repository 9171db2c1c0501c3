"""The forecast of answers: computed by the worker, shown on Progress, told through the API and to webhooks."""

import json
from datetime import UTC, date, datetime, timedelta
from math import comb

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.core.charts import AheadColumn, columns
from annotate.dashboard.goal.queries import time_words
from annotate.fitting import forecast_job, forecast_queue
from annotate.fitting.forecast import figures
from annotate.fitting.forecast_rows import probability_by
from annotate.labelling.plan.queries import NO_LIMIT
from annotate.models import (
    IMPORTED_APP_VERSION,
    Event,
    FitState,
    ItemSet,
    LabelForecast,
    Project,
    Webhook,
    WebhookDelivery,
)
from annotate.projects.actions import change_project
from models_engine.errors import Cancelled
from tests.conftest import make_annotator
from tests.site.api_client import Api
from tests.site.factories import make_labels, spread_fit
from tests.site.pages import page, signed_in


def go_on(*_) -> bool:
    return True


def give_answers(project: Project, n: int, every: timedelta, **values) -> datetime:
    """Labels of five people until now; returns now."""
    now = timezone.now()
    people = list(project.annotators.all()) or [make_annotator(project, f"Otter {i}") for i in range(5)]
    make_labels(project, people, n, start=now - n * every, every=every, **values)
    FitState.objects.update_or_create(project=project, defaults={"last_fit_at": now})
    return now


def known_goal(project: Project, now: datetime, needed: list) -> None:
    """A fit that found the goal of comparisons to need so many labels."""
    Project.objects.filter(pk=project.pk).update(goal="comparisons", goal_comparisons=30)
    project.refresh_from_db()
    kept = {"kind": "comparisons", "value": 30, "met": False, "state": 4, "why": "", "needed": needed}
    spread_fit(project, list(project.items.order_by("pk")), diagnostics={"goal": kept}, started_at=now)


def compute(project: Project) -> LabelForecast:
    """What the worker does once; the pause after the last time is over."""
    LabelForecast.objects.filter(project=project).update(next_at=None)
    row, _ = LabelForecast.objects.get_or_create(project=project)
    assert row.claim(LabelForecast.is_free(timezone.now()), owner="test", now=timezone.now())
    forecast_job.work(row, go_on)
    return LabelForecast.objects.get(project=project)


def stored(project: Project, **changes) -> LabelForecast:
    """A forecast written by hand: 100 labels needed, met in 40 hours or so."""
    goal = {"kind": "comparisons", "value": 30, "hours": [20.0, 40.0, 100.0], "by": [[0, 0.0], [84, 0.8], [168, 1.0]]}
    found = {"basis": "labels", "history": 90.0, "horizon": 168.0, "left": None, "unit": 10, "columns": []}
    found |= {"within": {"1": [0, 2, 5], "24": [20, 50, 90]}, "goals": {"1": goal | changes}}
    return LabelForecast.objects.create(project=project, as_of=timezone.now(), figures=found)


@pytest.mark.slow
def test_the_worker_forecasts_and_progress_shows_it(project, alice):
    Project.objects.update(overlap=NO_LIMIT)
    project.refresh_from_db()
    now = give_answers(project, 160, timedelta(minutes=30))
    known_goal(project, now, [60, 80, 110])
    row = forecast_queue.QUEUE.claim_next(owner="test", now=timezone.now())
    forecast_queue.QUEUE.work(row, progress=go_on)
    row = LabelForecast.objects.get()
    assert (row.owner, row.figures["basis"], row.figures["unit"]) == ("", "sessions", 10)
    low, middle, high = row.figures["within"]["24"]
    assert low < 48 < high, "two an hour came"
    assert 25 < middle < 75
    hours = row.figures["goals"]["1"]["hours"]
    assert hours[0] < 40 < (hours[2] or 168)
    shares = [p for _at, p in row.figures["goals"]["1"]["by"]]
    assert shares == sorted(shares)
    html = page(signed_in(alice), project, "progress")
    assert "Likely time until then: about" in html
    assert "Next 24 hours" in html
    assert "Next 7 days" in html
    assert html.count('class="mark-ahead"') == len(row.figures["columns"]) == 7
    assert html.count("(forecast)") == 7
    told = Api(alice, project)("get", "progress").json()["forecast"]
    assert [one["hours"] for one in told["within"]] == [1, 6, 24, 168]
    assert [told["within"][2][name] for name in ("low", "middle", "high")] == [low, middle, high]


@pytest.mark.slow
def test_an_hour_of_answers_is_forecast_by_the_minute(project, alice):
    give_answers(project, 50, timedelta(minutes=1))
    row = compute(project)
    assert (row.figures["unit"], row.figures["horizon"]) == (16, 6)
    assert row.next_at - row.as_of == forecast_job.SHORT_PAUSE
    html = page(signed_in(alice), project, "progress")
    assert "nothing beyond the next 6 hours is forecast" in html
    assert "Next 24 hours" not in html
    assert 28 <= html.count('class="mark-ahead"') <= 30


def test_only_answers_that_count_and_were_given_here_are_forecast_from(project):
    give_answers(project, 20, timedelta(minutes=1), app_version=IMPORTED_APP_VERSION)
    assert compute(project).figures == {}
    give_answers(project, 20, timedelta(minutes=1), seed=1, outcome="skip", chosen=None)
    assert compute(project).figures == {}


@pytest.mark.slow
def test_a_plan_and_a_closing_moment_are_limits(project):
    now = give_answers(project, 50, timedelta(minutes=1))
    Project.objects.filter(pk=project.pk).update(n_sets=4, overlap=2)
    ItemSet.objects.filter(project=project).update(place=None, n_taken=0)
    for place, one in enumerate(ItemSet.objects.filter(project=project).order_by("pk")[:4]):
        ItemSet.objects.filter(pk=one.pk).update(place=place, n_taken=1)
    project.refresh_from_db()
    found = figures(project, now, go_on)
    assert found["left"] == 4
    assert found["within"]["6"][2] == 4
    Project.objects.filter(pk=project.pk).update(n_sets=None, closes_at=now + timedelta(seconds=1))
    project.refresh_from_db()
    assert figures(project, now, go_on)["within"]["6"] == [0, 0, 0]


@pytest.mark.slow
def test_no_more_answers_are_forecast_than_the_sets_take(project, alice):
    n_pairs = comb(project.items.count(), 2)
    Project.objects.update(overlap=NO_LIMIT)
    project.refresh_from_db()
    now = give_answers(project, 60, timedelta(minutes=1))
    free = figures(project, now, go_on)
    assert free["left"] is None
    assert free["within"]["6"][2] > n_pairs
    ItemSet.objects.filter(project=project).update(n_taken=1)
    n_taken = project.item_sets.count()
    Project.objects.update(overlap=2)
    project.refresh_from_db()
    found = figures(project, now, go_on)
    assert found["left"] == 2 * n_pairs - n_taken
    assert found["within"]["6"][2] == found["left"]
    client, row = signed_in(alice), compute(project)
    assert f"The project takes {found['left']} more answers; no more than that is forecast." in page(
        client, project, "progress"
    )
    LabelForecast.objects.update(figures=row.figures | {"left": 0})
    assert "Answers likely to come" not in page(client, project, "progress")


def test_a_forecast_is_due_after_a_fit_and_hourly_in_silence(project):
    now = give_answers(project, 3, timedelta(minutes=1))
    assert forecast_queue.due_states(now).exists()
    row = stored(project)
    LabelForecast.objects.update(as_of=now, next_at=now + forecast_queue.PAUSE)
    assert not forecast_queue.due_states(now).exists()
    FitState.objects.update(last_fit_at=now + timedelta(minutes=1))
    assert not forecast_queue.due_states(now + timedelta(minutes=14)).exists()
    assert forecast_queue.due_states(now + timedelta(minutes=15)).exists()
    assert not forecast_queue.due_states(now + timedelta(minutes=15), forecast_queue.PAUSE).exists()
    FitState.objects.update(last_fit_at=now - timedelta(minutes=1))
    assert not forecast_queue.due_states(now + timedelta(minutes=59)).exists()
    assert forecast_queue.due_states(now + timedelta(minutes=61)).exists()
    FitState.objects.update(last_fit_at=now - timedelta(days=8))
    assert not forecast_queue.due_states(now + timedelta(hours=2)).exists()
    FitState.objects.update(last_fit_at=now)
    Project.objects.update(state="closed")
    assert not forecast_queue.due_states(now + timedelta(hours=2)).exists()
    Project.objects.update(state="open")
    row.claim(LabelForecast.is_free(now), owner="other", now=now)
    assert forecast_queue.QUEUE.claim_overdue(owner="test", now=now) is None


def test_a_job_that_stops_is_taken_up_again(project):
    give_answers(project, 20, timedelta(minutes=1))
    row = forecast_queue.QUEUE.claim_next(owner="test", now=timezone.now())
    with pytest.raises(Cancelled):
        forecast_queue.QUEUE.work(row, progress=lambda *_: False)
    forecast_queue.QUEUE.release(row)
    assert forecast_queue.QUEUE.may_yield(LabelForecast.objects.get())
    row = forecast_queue.QUEUE.claim_next(owner="test", now=timezone.now())
    assert row.gave_way == 1
    assert forecast_queue.QUEUE.record_crossing(row, message="too long", now=timezone.now(), killed=False)
    assert forecast_queue.QUEUE.claim_next(owner="test", now=timezone.now()) is None


def test_the_page_says_when_and_how_likely_by_the_deadline(project, alice):
    now = give_answers(project, 3, timedelta(minutes=1))
    known_goal(project, now, [60, 80, 110])
    stored(project)
    deadline = (timezone.now() + timedelta(hours=84)).date()
    change_project(project=project, actor=alice, values={"goal_deadline": deadline}, now=now)
    client = signed_in(alice)
    html = page(client, project, "progress")
    assert "Likely time until then: about 40 hours (20 hours to 4 days)." in html
    assert "likely by the deadline" in html
    assert "The forecast knows the past only" in html
    told = Api(alice, project)("get", "goal").json()
    assert told["goal_deadline"] == str(deadline)
    assert 0.7 < told["by_deadline"] < 0.95
    assert client.get(reverse("progress", args=[project.pk])).context["goal"].by_deadline == told["by_deadline"]
    far = timezone.now().date() + timedelta(days=30)
    change_project(project=project, actor=alice, values={"goal_deadline": far}, now=now)
    LabelForecast.objects.all().delete()
    stored(project, by=[[0, 0.0], [168, 0.9]])
    assert "The forecast does not reach so far." in page(client, project, "progress")
    event = Event.objects.filter(project=project, verb="settings changed").latest("pk")
    assert event.details["goal_deadline"] == [str(deadline), str(far)]


@pytest.mark.parametrize("ending", [{"state": "closed"}, {"closes_at": datetime(2020, 1, 1, tzinfo=UTC)}])
def test_a_forecast_of_another_goal_or_of_a_project_that_is_over_is_not_shown(project, alice, ending):
    now = give_answers(project, 3, timedelta(minutes=1))
    known_goal(project, now, [60, 80, 110])
    stored(project, value=29)
    client = signed_in(alice)
    assert "Likely time until then" not in page(client, project, "progress")
    assert "Answers likely to come" in page(client, project, "progress")
    Project.objects.update(**ending)
    assert "Answers likely to come" not in page(client, project, "progress")
    assert Api(alice, project)("get", "progress").json()["forecast"] is None
    assert not forecast_queue.due_states(now + timedelta(days=1)).exists()


@pytest.mark.slow
def test_webhooks_are_told_once_of_a_deadline_at_risk(project, alice):
    now = give_answers(project, 50, timedelta(minutes=1))
    Webhook.objects.create(project=project, url="https://example.org/x", events=["deadline.at_risk"], created_at=now)
    known_goal(project, now, [90_000, 100_000, 110_000])
    change_project(project=project, actor=alice, values={"goal_deadline": now.date()}, now=now)
    early = now.replace(hour=22, minute=0)  # the deadline lies within the forecast's six hours
    goal = {"kind": "comparisons", "value": 30, "hours": [None] * 3, "by": [[0, 0.0], [6, 0.2]]}
    found = {"goals": {"1": goal}}
    project.refresh_from_db()
    assert forecast_job.deadline_at_risk(project, LabelForecast(), found, early) == now.date()
    goal["by"] = [[0, 0.6], [6, 0.6]]
    assert forecast_job.deadline_at_risk(project, LabelForecast(), found, early) is None
    assert forecast_job.deadline_at_risk(project, LabelForecast(at_risk=now.date()), found, early) == now.date()
    goal["by"] = [[0, 0.8], [6, 0.8]]
    assert forecast_job.deadline_at_risk(project, LabelForecast(at_risk=now.date()), found, early) is None
    # A day that is over is surely missed, whatever the hour at which this test runs.
    gone = now.date() - timedelta(days=1)
    change_project(project=project, actor=alice, values={"goal_deadline": gone}, now=now)
    assert compute(project).at_risk == gone
    assert compute(project).at_risk == gone
    (message,) = (json.loads(body) for body in WebhookDelivery.objects.values_list("body", flat=True))
    assert message["type"] == "deadline.at_risk"
    assert message["data"] | {"project": None} == {
        "project": None,
        "deadline": str(gone),
        "probability": 0.0,
        "goal": "comparisons",
    }


def test_when_in_words():
    assert time_words([0.2, 3.0, 70.0], 168) == "about 3 hours (12 minutes to 3 days)"
    assert time_words([0.004, 0.008, 0.01], 6) == "about 1 minute"
    assert time_words([20.0, 90.0, None], 168) == "about 4 days (20 hours to more than 7 days)"
    assert time_words([100.0, None, None], 168) == "more than 7 days (at least 4 days)"
    assert time_words([None, None, None], 6) == "more than 6 hours"


def test_the_probability_by_a_day_is_that_of_its_end():
    goal = {"by": [[0, 0.1], [24, 0.5], [48, 0.9]]}
    noon = datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert probability_by(goal, noon, date(2026, 11, 20)) == pytest.approx(0.3)
    assert probability_by(goal, noon, date(2026, 11, 21)) == pytest.approx(0.7)
    assert probability_by(goal, noon, date(2026, 11, 19)) == 0.1
    assert probability_by(goal, noon, date(2026, 11, 22)) is None


def test_columns_ahead_stand_on_the_running_one_and_their_band_is_cut_at_the_top():
    start = datetime(2026, 11, 20, tzinfo=UTC)
    ahead = [AheadColumn(start, 0, 10, 20, "today"), AheadColumn(start, 5, 20, 4000, "tomorrow")]
    chart = columns([40, 10], ["yesterday", "today"], height=100, ahead=ahead)
    first, second = chart.ahead
    assert (first.x, first.width) == (chart.columns[1].x, chart.columns[1].width)
    assert float(first.y) + float(first.height) == pytest.approx(float(chart.columns[1].y))
    assert float(second.y) + float(second.height) == 100
    assert float(second.band_y) == 0
    assert float(second.band_x.rstrip("%")) == pytest.approx(100 * 2 / 3, abs=0.01)
