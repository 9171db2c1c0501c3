"""A full project: how many answers it holds; its owner is told, also shortly before, and raises it by one press."""

import json
from datetime import timedelta

import pytest
from django.core import mail
from django.urls import reverse

from annotate.core.errors import NothingToCompare
from annotate.items.actions import retire_item
from annotate.labelling.plan.capacity import capacity, ending_capacity
from annotate.models import Context, Event, EventVerb, Item, Membership, Project, Webhook, WebhookDelivery
from annotate.projects.actions import change_project
from annotate.quality.gold.actions import add_gold_sets
from annotate.quality.gold.table import parse_table
from tests.conftest import NOW, answer_one, make_annotator, member
from tests.site.api_client import Api
from tests.site.fitting.test_run import fit_now
from tests.site.pages import page, signed_in

HOLDS = "This project holds at most 12 answers."


@pytest.fixture
def project(project) -> Project:
    """Four items make six pairs, each for two annotators: 12 answers."""
    project.items.filter(key__in=["item-4", "item-5"]).delete()
    return project


def answer_all(project: Project, name: str, n: int = 6) -> None:
    person = make_annotator(project, name)
    for i in range(n):
        answer_one(person, now=NOW + timedelta(seconds=i))


@pytest.fixture
def full(project) -> Project:
    answer_all(project, "Otter")
    answer_all(project, "Heron")
    return project


def test_a_project_holds_all_its_sets_as_often_as_the_overlap_says(project, alice):
    assert (capacity(project).n_most, capacity(project).n_left) == (12, 12)
    answer_all(project, "Otter", 4)
    assert capacity(project).n_left == 8
    change_project(project=project, actor=alice, values={"n_sets": 5}, now=NOW)
    project.refresh_from_db()
    assert capacity(project).n_most == 10, "five planned sets"


def test_items_of_different_contexts_make_no_set(project):
    one, other = (Context.objects.create(project=project, body=body, digest=body) for body in "ab")
    items = [item.pk for item in project.items.order_by("pk")]
    Item.objects.filter(pk__in=items[:3]).update(context=one)
    Item.objects.filter(pk__in=items[3:]).update(context=other)
    assert capacity(project).n_most == 2 * 3, "three pairs, and an item alone"


def test_retired_items_and_sets_of_checks_hold_no_answers(full, alice):
    assert capacity(full).is_full
    keys = dict(full.items.values_list("key", "pk"))
    rows, _problems = parse_table(full, "purpose,item_1,item_2,answer\ngold,item-0,item-1,item-0\n", keys)
    add_gold_sets(project=full, actor=alice, rows=rows, only_for_checks=False, now=NOW)
    assert capacity(full).n_most == 10
    retire_item(item=full.items.get(key="item-3"), actor=alice, now=NOW)
    found = capacity(full)
    assert (found.n_most, found.n_given) == (4, 4), "three pairs of three items, one of them a check"


def test_the_owner_is_told_shortly_before_and_when_it_is_full(project, alice):
    client = signed_in(alice)
    answer_all(project, "Otter", 5)
    assert HOLDS not in page(client, project, "progress")
    answer_all(project, "Heron", 6)
    for name in ("progress", "share"):
        shown = page(client, project, name)
        assert f"{HOLDS} 11 are given." in shown
        assert "When it is full, people find nothing to answer." in shown
        assert "Raise to 3 annotators per set" in shown


def test_one_press_lets_people_go_on_and_is_logged(full, alice):
    client, late = signed_in(alice), make_annotator(full, "Late")
    assert "It is full: people who come now find nothing to answer." in page(client, full, "progress")
    with pytest.raises(NothingToCompare):
        answer_one(late)
    address = reverse("raise-overlap", args=[full.pk])
    made = client.post(address, {"overlap": 3, "page": "progress"})
    assert made["Location"] == reverse("progress", args=[full.pk])
    event = Event.objects.get(project=full, verb=EventVerb.SETTINGS_CHANGED)
    assert event.details["overlap"] == [2, 3]
    full.refresh_from_db()
    late.refresh_from_db()
    assert answer_one(late).annotator == late
    assert HOLDS not in page(client, full, "progress")
    client.post(address, {"overlap": 3, "page": "progress"})
    assert Project.objects.get().overlap == 3, "the same press, sent twice, raises once"


@pytest.mark.slow
def test_owners_and_webhooks_hear_once_that_it_is_full_and_again_when_it_was_raised(project, alice):
    member(project, "manager", Membership.Role.MANAGER)
    Webhook.objects.create(project=project, url="https://example.org/", events=["project.full"], created_at=NOW)
    answer_all(project, "Otter")
    fit_now(project)
    assert mail.outbox == [], "half full"
    answer_all(project, "Heron")
    for hours in (2, 3):
        fit_now(project, NOW + timedelta(hours=hours))
    (message,) = mail.outbox
    assert (message.to, message.subject) == ([alice.email], "Your project is full")
    assert "holds at most 12 answers, and all of them are given" in message.body
    change_project(project=project, actor=alice, values={"overlap": 3}, now=NOW)
    project.refresh_from_db()
    answer_all(project, "Late")
    fit_now(project, NOW + timedelta(hours=4))
    assert len(mail.outbox) == 2
    told = [json.loads(one.body)["data"] for one in WebhookDelivery.objects.order_by("pk")]
    assert [(one["answers"], one["overlap"]) for one in told] == [(12, 2), (18, 3)]


@pytest.mark.embedded
@pytest.mark.parametrize("change", [{"state": "closed"}, {"overlap": 1000}, {"state": "paused"}])
def test_nobody_is_written_to_where_it_takes_no_answers_or_any_number(full, change):
    Project.objects.filter(pk=full.pk).update(**change)
    fit_now(full)
    assert mail.outbox == []


@pytest.mark.embedded
@pytest.mark.parametrize("sent", [{"overlap": 1001, "page": "share"}, {"overlap": 3, "page": "//evil"}, {}])
def test_a_press_that_says_nothing_right_changes_nothing(full, alice, sent):
    made = signed_in(alice).post(reverse("raise-overlap", args=[full.pk]), sent, follow=True)
    assert "Nothing was changed." in made.content.decode()
    assert Project.objects.get().overlap == 2


def test_an_older_press_never_lowers_the_overlap(full, alice):
    change_project(project=full, actor=alice, values={"overlap": 9}, now=NOW)
    signed_in(alice).post(reverse("raise-overlap", args=[full.pk]), {"overlap": 3, "page": "share"})
    assert Project.objects.get().overlap == 9


def test_a_full_project_is_raised_by_the_settings_of_the_api(full, alice):
    assert Api(alice, full)("patch", "project", {"overlap": 3}).json()["overlap"] == 3
    full.refresh_from_db()
    assert not capacity(full).is_full


def test_viewers_are_not_offered_what_they_cannot_do_and_closed_projects_say_nothing(full, alice):
    vera = member(full, "vera", Membership.Role.VIEWER)
    assert HOLDS not in page(signed_in(vera), full, "progress")
    Project.objects.update(state="closed")
    full.refresh_from_db()
    assert ending_capacity(full) is None
    assert HOLDS not in page(signed_in(alice), full, "share")
