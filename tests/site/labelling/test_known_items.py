"""“I know this one”: the task is void, the item never comes again, undo brings both back; in every kind of task."""

import random

import pytest
from django.test import Client
from django.urls import reverse

from annotate.audit_log.sentences import describe_event
from annotate.core import errors
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.labelling.known_items import declare_known, undo_last
from annotate.models import Annotator, ConflictOfInterest, Event, Presentation
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.annotators.test_roster import seen_by
from tests.site.gold_sets import answer_all, make_known, true_counts
from tests.site.labelling.test_eligibility import set_up
from tests.site.labelling.test_labelling import as_annotator, submit_url, task_of
from tests.site.pages import HTMX, page, signed_in


@pytest.fixture
def otter(project):
    set_up(project, known_button=True)
    return make_annotator(project, "Quiet Otter")


def shown_to(annotator) -> Presentation:
    return assignment.next_presentation(annotator=annotator, now=NOW, rng=random.Random(3))


def known_url(presentation) -> str:
    return reverse("known", args=[presentation.token])


def test_the_item_never_comes_again_and_the_log_says_so(project, otter, alice):
    shown, client = shown_to(otter), as_annotator(otter)
    key = shown.items.order_by("presented__position")[1].key
    assert client.get(task_of(project)).content.decode().count("I know this one") == 2
    for _twice in range(2):
        assert client.post(known_url(shown), {"place": "2"}).status_code == 303
    assert ConflictOfInterest.objects.get().item.key == key
    assert (Presentation.objects.get(pk=shown.pk).state, otter.labels.count()) == ("voided", 0)
    true_counts(project)
    otter.refresh_from_db()
    answer_all(otter, 10)  # every pair of the other five
    with pytest.raises(errors.NothingToCompare):
        answer_one(otter, now=NOW)
    assert not [one for one in otter.presentations.exclude(pk=shown.pk) if one.items.filter(key=key).exists()]
    event = describe_event(Event.objects.get(verb="item known"))
    assert (event.who, event.what) == ("Quiet Otter", f"knows the item “{key}” and is not shown it again")
    assert "said so" in page(signed_in(alice), project, "never-shown")


def test_undo_brings_the_item_and_the_task_back(project, otter):
    answer_one(otter)
    shown, client = shown_to(otter), as_annotator(otter)
    html = client.post(known_url(shown), {"place": "1"}, headers=HTMX).content.decode()
    assert "you know A" in html
    assert f'name="token" value="{shown.token}"' in html
    for _twice in range(2):
        client.post(reverse("undo", args=[project.pk]), {"token": shown.token})
    again = Presentation.objects.get(state="open", ahead=False)
    items = [list(one.presented.values_list("item", flat=True)) for one in (shown, again)]
    assert (items[0], ConflictOfInterest.objects.count()) == (items[1], 0)
    assert not Annotator.objects.get().has_never_shown
    assert otter.labels.get().voided_at is None
    true_counts(project)
    client.post(submit_url(again), {"answer": "a"})
    assert otter.labels.filter(voided_at=None).count() == 2


def test_undo_asks_something_else_where_others_have_filled_the_set(project, otter):
    set_up(project, overlap=1)
    shown = shown_to(otter)
    declare_known(presentation=shown, place=0, now=NOW)
    crowd = make_annotator(project, "Crowd")
    answer_all(crowd, 15)  # every pair of six
    undo_last(annotator=otter, now=NOW, token=shown.token)
    assert not Presentation.objects.filter(state="open").exists()
    true_counts(project)


def test_what_is_refused(project, otter):
    shown, client = shown_to(otter), as_annotator(otter)
    for place, words in (("3", "was not shown"), ("x", "does not say which"), ("", "does not say which")):
        refused = client.post(known_url(shown), {"place": place}, headers=HTMX)
        assert (refused.status_code, words in refused.content.decode()) == (400, True)
    record_label(presentation=shown, answer=Answer("choice", 0), now=NOW)
    refused = client.post(known_url(shown), {"place": "1"}, headers=HTMX).content.decode()
    assert "You have already answered that task" in refused
    set_up(project, known_button=False)
    following = shown_to(otter)
    assert "I know this one" not in client.get(task_of(project)).content.decode()
    assert client.post(known_url(following), {"place": "1"}, headers=HTMX).status_code == 400
    assert not ConflictOfInterest.objects.exists()


@pytest.mark.parametrize("purpose", ["gold", "attention"])
def test_a_check_is_taken_back_like_any_other_task(project, otter, purpose):
    set_up(project, known_button=True, **{f"{purpose}_every": 1})
    make_known(project, purpose, 2)
    shown = shown_to(otter)
    assert shown.purpose == purpose
    declare_known(presentation=shown, place=0, now=NOW)
    otter.refresh_from_db()
    following = shown_to(otter)
    assert (following.purpose, following.item_set_id != shown.item_set_id) == (purpose, True)
    true_counts(project)


def test_practice_ends_where_its_last_task_is_known(project, otter):
    set_up(project, known_button=True, practice_pass=2, practice_tries=1)
    make_known(project, "practice", 2)
    for right in (True, False):
        shown = shown_to(otter)
        place = list(shown.presented.values_list("item", flat=True)).index(shown.known.named[0])
        if right:
            record_label(presentation=shown, answer=Answer("choice", place), now=NOW)
        else:
            declare_known(presentation=shown, place=place, now=NOW)
        otter.refresh_from_db()
    assert (otter.practice_over_at, otter.screened_out_at) == (NOW, None)
    assert shown_to(otter).purpose == "ordinary"


def test_the_api_does_the_same(project, otter):
    headers = {"Authorization": f"Annotator {otter.resume_token}"}

    def post(name, body, *args):
        url = reverse(f"api-{name}", args=args)
        return Client().post(url, body, content_type="application/json", headers=headers).json()

    first = post("next", {}, project.pk)["task"]
    assert first["may_know"]
    following = post("known", {"place": 1}, first["token"])["task"]
    assert following["token"] != first["token"]
    assert len(seen_by(otter)) >= 3
    again = post("undo", {"token": first["token"]}, project.pk)["task"]
    assert [one["text"] for one in again["items"]] == [one["text"] for one in first["items"]]
