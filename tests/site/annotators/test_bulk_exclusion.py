"""Excluding many answers at once: by time, session or tag, counted first, and undone in one step."""

from datetime import timedelta

import pytest
from django.urls import reverse

from annotate.annotators.bulk.actions import NothingChosen, UndoneAlready, exclude_many, undo_bulk_exclusion
from annotate.annotators.bulk.queries import Choice, count_chosen
from annotate.annotators.exclusion import exclude_annotator, readmit_annotator
from annotate.models import AnnotatorTag, BulkExclusion, Label, Project
from annotate.privacy.erasure.actions import erase_annotator
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.api_client import Api
from tests.site.labelling.test_labels import counts_are_true
from tests.site.pages import signed_in

HOUR = timedelta(hours=1)
SPAN = Choice("span", NOW + HOUR, NOW + 2 * HOUR)
LATER = NOW + 5 * HOUR


def counting() -> set[int]:
    return set(Label.objects.filter(voided_at=None).values_list("pk", flat=True))


def exclude(project, alice, choice, now=LATER):
    return exclude_many(project=project, actor=alice, choice=choice, reason="A power cut", now=now)


@pytest.fixture
def people(project):
    return [make_annotator(project, name) for name in ("Otter", "Vole")]


@pytest.fixture
def labels(people):
    """Each answers at the full hour, in the first, the second and the third."""
    return [[answer_one(one, now=NOW + hour * HOUR) for hour in range(3)] for one in people]


def test_a_span_voids_what_was_answered_in_it_and_undoing_restores_it(project, alice, people, labels):
    before = counting()
    counted = count_chosen(project, SPAN)
    assert (counted.labels, counted.annotators, counted.all_labels) == (2, 2, 6)
    made = exclude(project, alice, SPAN)
    assert (made.n_labels, made.n_annotators) == (2, 2)
    assert before - counting() == {own[1].pk for own in labels}
    own = Label.objects.get(pk=labels[0][1].pk)
    assert (own.voided_at, own.voided_by, own.void_reason) == (LATER, alice, "bulk")
    counts_are_true(project)
    answer_one(people[0], now=LATER)  # they may go on
    event = project.events.get(verb="answers excluded in bulk")
    assert (event.details["labels"], event.details["chosen"]) == (2, "2026-11-20 13:00 – 2026-11-20 14:00 UTC")
    assert event.details["reason"] == "A power cut"
    restored = undo_bulk_exclusion(exclusion=made, actor=alice, now=LATER)
    assert restored.labels + restored.kept_voided == 2
    assert restored.labels >= 1
    counts_are_true(project)
    with pytest.raises(UndoneAlready):
        undo_bulk_exclusion(exclusion=made, actor=alice, now=LATER)


def test_undoing_keeps_to_overlap_and_cap(project, alice, people):
    project.items.filter(key__in=["item-2", "item-3", "item-4", "item-5"]).delete()
    Project.objects.update(overlap=1)
    first = answer_one(people[0], now=NOW + HOUR)
    made = exclude(project, alice, SPAN)
    answer_one(people[1], now=LATER)  # takes the only place
    restored = undo_bulk_exclusion(exclusion=made, actor=alice, now=LATER)
    assert (restored.labels, restored.kept_voided) == (0, 1)
    assert first.pk not in counting()
    counts_are_true(project)


def test_a_cap_reached_meanwhile_is_kept(project, alice, people, labels):
    Project.objects.update(cap=3)
    made = exclude(project, alice, SPAN)
    answer_one(people[0], now=LATER)
    assert undo_bulk_exclusion(exclusion=made, actor=alice, now=LATER).kept_voided == 1
    assert people[0].labels.filter(voided_at=None).count() == 3
    counts_are_true(project)


def test_labels_of_somebody_excluded_since_come_back_with_them(project, alice, people, labels):
    made = exclude(project, alice, SPAN)
    exclude_annotator(annotator=people[0], actor=alice, reason="", now=LATER)
    assert undo_bulk_exclusion(exclusion=made, actor=alice, now=LATER).labels == 1
    assert not people[0].labels.filter(voided_at=None).exists()
    assert readmit_annotator(annotator=people[0], actor=alice, now=LATER).restored == 3
    counts_are_true(project)


def test_readmitting_somebody_leaves_a_span_excluded(project, alice, people, labels):
    exclude(project, alice, SPAN)
    exclude_annotator(annotator=people[0], actor=alice, reason="", now=LATER)
    assert readmit_annotator(annotator=people[0], actor=alice, now=LATER).restored == 2


def test_a_session_of_a_browser_or_of_a_platform(project, alice, people, labels):
    Label.objects.filter(pk=labels[0][0].pk).update(session="tab-1")
    assert exclude(project, alice, Choice("session", value="tab-1")).n_labels == 1
    people[1].platform_session = "S-77"
    people[1].save()
    assert exclude(project, alice, Choice("session", value="S-77"), LATER + HOUR).n_labels == 3
    with pytest.raises(NothingChosen):
        exclude(project, alice, Choice("session", value="S-77"), LATER + 2 * HOUR)
    counts_are_true(project)


def test_a_tag_excludes_its_people_and_undoing_readmits_them_alone(project, alice, people, labels):
    AnnotatorTag.objects.create(annotator=people[0], name="novices")
    other = make_annotator(project, "Stoat")
    exclude_annotator(annotator=other, actor=alice, reason="", now=NOW)
    made = exclude(project, alice, Choice("tag", value="novices"))
    assert (made.n_labels, made.n_annotators) == (3, 1)
    people[0].refresh_from_db()
    assert people[0].excluded_at == LATER
    assert undo_bulk_exclusion(exclusion=made, actor=alice, now=LATER).labels == 3
    people[0].refresh_from_db()
    other.refresh_from_db()
    assert (people[0].excluded_at, other.excluded_at) == (None, NOW)
    counts_are_true(project)


def test_the_page_counts_first_then_excludes_and_undoes(project, alice, labels):
    client, url = signed_in(alice), reverse("bulk-exclusion", args=[project.pk])
    span = {"by": "span", "since": "2026-11-20T13:00", "until": "2026-11-20T14:00"}
    assert "2 of 6 answers, from 2 people" in client.get(url, span).content.decode()
    assert not BulkExclusion.objects.exists()
    page = client.post(url, {**span, "reason": "A power cut"}, follow=True).content.decode()
    assert "2 answers no longer count." in page
    made = BulkExclusion.objects.get()
    undone = client.post(reverse("bulk-exclusion-undo", args=[project.pk, made.pk]), follow=True).content.decode()
    assert "2 answers count again." in undone


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"by": "span", "since": "2026-11-20T13:00"}, "Give a date and a time."),
        ({"by": "span", "since": "2026-11-20T13:00", "until": "2026-11-20T13:00"}, "Give a later time."),
        ({"by": "session"}, "Name the session."),
        ({"by": "tag"}, "Choose a tag."),
        ({"by": "tag", "tag": "nobody's"}, "Select a valid choice"),
        ({"by": "session", "session": "unknown"}, "so nothing was changed"),
    ],
)
def test_bad_input_changes_nothing(project, alice, labels, given, message):
    page = signed_in(alice).post(reverse("bulk-exclusion", args=[project.pk]), given)
    assert page.status_code == 400
    assert message in page.content.decode()
    assert len(counting()) == 6


def test_the_api_does_what_the_page_does(project, alice, labels):
    api = Api(alice, project)
    span = {"by": "span", "since": "2026-11-20T13:00:00Z", "until": "2026-11-20T14:00:00Z"}
    counted = api("post", "bulk-exclusions", {**span, "preview": True}).json()
    assert counted == {"id": None, "n_labels": 2, "n_annotators": 2}
    made = api("post", "bulk-exclusions", span).json()
    assert made["n_labels"] == 2
    assert [row["id"] for row in api("get", "bulk-exclusions").json()["results"]] == [made["id"]]
    undone = api("post", "bulk-exclusion-undo", args=[made["id"]]).json()
    assert undone == {"n_restored": 2, "n_kept_voided": 0}
    assert api("post", "bulk-exclusion-undo", args=[made["id"]]).status_code == 409
    assert api("post", "bulk-exclusions", {"by": "span"}).status_code == 422


def test_erasing_somebody_takes_their_session_out_of_what_was_excluded(project, alice, people, labels):
    Label.objects.filter(annotator=people[0]).update(session="tab-1")
    exclude(project, alice, Choice("session", value="tab-1"))
    erase_annotator(annotator=people[0], by="owner", actor=alice, now=LATER)
    assert BulkExclusion.objects.get().value == "(erased)"
    assert "tab-1" not in str(list(project.events.values_list("details", flat=True)))
