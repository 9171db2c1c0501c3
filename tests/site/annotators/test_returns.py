"""Who comes back: computed by the worker with the forecast, listed, told through the API and to webhooks."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from annotate.fitting import forecast_queue
from annotate.fitting.forecast_rows import stored_returns
from annotate.fitting.returns import MIN_BUSY, notify_gone, return_figures
from annotate.models import Annotator, FitState, Label, LabelForecast, Project, Webhook, WebhookDelivery
from annotate.privacy.own_data.export import return_rows
from tests.conftest import make_annotator
from tests.site.api_client import Api
from tests.site.factories import make_labels
from tests.site.pages import page, rows_shown, signed_in


def go_on(*_) -> bool:
    return True


def visiting(project: Project) -> tuple[Annotator, Annotator]:
    """Six people with 30 answers, one an hour: one until now, five until 20 days ago, of whom one is returned, too."""
    now = timezone.now()
    people = [make_annotator(project, f"Otter {i}") for i in range(1, 7)]
    for person in people:
        start = now - timedelta(days=0 if person == people[0] else 20, hours=30)
        make_labels(project, [person], 30, start=start, every=timedelta(hours=1))
    FitState.objects.update_or_create(project=project, defaults={"last_fit_at": now})
    return people[0], people[1]


def stored(project: Project, people: dict[int, list], **values) -> LabelForecast:
    figures = {"basis": "labels", "history": 90.0, "horizon": 168.0, "left": None, "unit": 10, "columns": []}
    figures |= {"within": {"24": [20, 50, 90]}, "goals": {}}
    returns = {"people": {str(pk): one for pk, one in people.items()}, "expected": 1.4, "limit": 30.0, "told": []}
    return LabelForecast.objects.create(
        project=project, as_of=timezone.now(), figures=figures, returns=returns | values
    )


@pytest.mark.embedded
@pytest.mark.slow
def test_the_worker_finds_who_comes_back_and_pages_say_it(project, alice):
    stays, gone = visiting(project)
    row = forecast_queue.QUEUE.claim_next(owner="test", now=timezone.now())
    forecast_queue.QUEUE.work(row, progress=go_on)
    found = stored_returns(project)
    assert found[stays.pk].within_a_day > 0.5 > 0.1 > found[gone.pk].within_a_day
    assert (found[stays.pk].has_left, found[gone.pk].has_left) == (False, True)
    assert (found[gone.pk].n_visits, round(found[gone.pk].silent_hours)) == (30, 481)
    row.refresh_from_db()
    assert row.returns["expected"] == pytest.approx(sum(one.within_a_day for one in found.values()), abs=0.01)
    assert row.returns["told"] == sorted(set(found) - {stays.pk})
    client = signed_in(alice)
    assert rows_shown(page(client, project, "annotators", "?sort=-returns"))[0] == str(stays.key)
    assert rows_shown(page(client, project, "annotators", "?sort=returns"))[-1] == str(stays.key)
    assert "Annotators, next 24 hours" in page(client, project, "progress")


@pytest.mark.slow
def test_lists_pages_and_api_have_the_stored_figures(project, alice):
    one, two = make_annotator(project, "Otter 1"), make_annotator(project, "Otter 2")
    stored(project, {one.pk: [0.3, 5, 2.0, 0], two.pk: [0.01, 9, 99.0, 1]})
    client, api = signed_in(alice), Api(alice, project)
    listed = page(client, project, "annotators")
    assert "Likely to return" in listed
    assert "dropped out" in listed
    rows = {row["pseudonym"]: row for row in api("get", "annotators").json()["results"]}
    assert (rows["Otter 1"]["returns_within_a_day"], rows["Otter 2"]["returns_within_a_day"]) == (0.3, 0.01)
    assert (rows["Otter 1"]["has_left"], rows["Otter 2"]["has_left"]) == (False, True)
    assert api("get", "progress").json()["forecast"]["expected_annotators"] == 1.4


def test_people_get_with_their_data_what_was_said_of_them(project):
    one, two = make_annotator(project, "Otter 1"), make_annotator(project, "Otter 2")
    stored(project, {one.pk: [0.3, 5, 2.0, 0]})
    mine = Annotator.objects.filter(pk__in=[one.pk, two.pk])
    assert list(return_rows(mine)) == [[project.name, 0.3, 5, 2.0, False]]


def test_nothing_is_said_of_whoever_needs_not_come_back(project, alice):
    one, two = make_annotator(project, "Otter 1"), make_annotator(project, "Otter 2")
    stored(project, {one.pk: [0.3, 5, 2.0, 0], two.pk: [0.3, 5, 2.0, 0]})
    Annotator.objects.filter(pk=two.pk).update(excluded_at=timezone.now())
    api = Api(alice, project)
    rows = {row["pseudonym"]: row["returns_within_a_day"] for row in api("get", "annotators").json()["results"]}
    assert rows == {"Otter 1": 0.3, "Otter 2": None}
    Project.objects.filter(pk=project.pk).update(state=Project.State.CLOSED)
    rows = [row["returns_within_a_day"] for row in api("get", "annotators").json()["results"]]
    assert rows == [None, None]
    assert "Likely to return" not in page(signed_in(alice), project, "annotators")


def test_of_few_visits_nothing_is_said(project, alice):
    make_labels(project, [make_annotator(project, "Otter 1")], 40, start=timezone.now() - timedelta(minutes=40))
    assert return_figures(project, timezone.now(), go_on) == {}
    assert return_figures(Project(pk=project.pk), timezone.now() - timedelta(days=5), go_on) == {}


def test_answers_that_do_not_count_and_people_who_may_not_come_are_left_out(project):
    stays, _gone = visiting(project)
    Annotator.objects.filter(project=project).exclude(pk=stays.pk).update(screened_out_at=timezone.now())
    assert set(return_figures(project, timezone.now(), go_on)["people"]) == {str(stays.pk)}
    Label.objects.filter(annotator=stays).update(voided_at=timezone.now(), void_reason=Label.VoidReason.UNDONE)
    assert return_figures(project, timezone.now(), go_on) == {}


def test_webhooks_are_told_once_of_a_busy_annotator_who_has_left(project):
    now = timezone.now()
    project.webhooks.create(url="https://example.org/", events=[Webhook.Event.ANNOTATOR_GONE], created_at=now)
    person = make_annotator(project, "Otter 1")
    people = {str(person.pk): [0.0, 12, 480.5, 1]}
    before, after = {"people": {}, "told": []}, {"people": people, "told": [person.pk]}
    assert notify_gone(project, {}, after, now) == 0  # the first forecast: old news
    assert notify_gone(project, after, after, now) == 0
    assert notify_gone(project, before, {}, now) == 0
    assert notify_gone(project, before, after, now) == 1
    [sent] = WebhookDelivery.objects.all()
    told = json.loads(sent.body)["data"]
    assert (told["pseudonym"], told["n_visits"], told["silent_hours"]) == ("Otter 1", 12, 480.5)


def test_few_answers_are_not_worth_a_message(project):
    _stays, gone = visiting(project)
    kept = Label.objects.filter(annotator=gone).order_by("pk").values_list("pk", flat=True)[: MIN_BUSY - 1]
    Label.objects.filter(annotator=gone).exclude(pk__in=list(kept)).update(
        voided_at=timezone.now(), void_reason=Label.VoidReason.UNDONE
    )
    found = return_figures(project, timezone.now(), go_on)
    assert found["people"][str(gone.pk)][3] == 1
    assert len(found["told"]) == 4
    assert gone.pk not in found["told"]
