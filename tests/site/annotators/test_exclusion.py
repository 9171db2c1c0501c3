"""Excluding and re-admitting: labels voided and restored, counters true, overlap and cap never exceeded."""

import random
from datetime import timedelta

import pytest
from django.db.models import Count
from django.urls import reverse

from annotate.annotators.exclusion import ExcludedAlready, NotExcluded, exclude_annotator, readmit_annotator
from annotate.core.errors import AnnotatorExcluded, CapReached, NothingToCompare
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.labelling.undo import undo_label
from annotate.models import Event, FitState, ItemSet, Label, Presentation, Project
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.labelling.test_labels import counts_are_true

LOGIN = "allauth.account.auth_backends.AuthenticationBackend"


def exclude(annotator, alice, now=NOW):
    return exclude_annotator(annotator=annotator, actor=alice, reason="Clicked at random", now=now)


def test_every_label_is_voided_with_who_when_and_why(project, alice):
    annotator, other = make_annotator(project, "Random"), make_annotator(project, "Other")
    for _ in range(4):
        answer_one(annotator)
    kept = answer_one(other)
    wanted = FitState.objects.get(project=project).wanted
    assert exclude(annotator, alice) == 4
    for label in annotator.labels.all():
        assert (label.voided_at, label.voided_by, label.void_reason) == (NOW, alice, "excluded")
        assert label.presentation.state == "voided"
    kept.refresh_from_db()
    assert kept.voided_at is None
    annotator.refresh_from_db()
    assert annotator.excluded_at == NOW
    assert FitState.objects.get(project=project).wanted == wanted + 1
    event = Event.objects.get(verb="annotator excluded")
    assert (event.actor, event.annotator) == (alice, annotator)
    assert event.details == {"labels": 4, "reason": "Clicked at random", "version": FitState.objects.get().wanted}
    counts_are_true(project)


def test_the_open_presentation_goes_back_to_the_pool(project, alice):
    annotator = make_annotator(project, "Random")
    open_one = assignment.next_presentation(annotator=annotator, now=NOW, rng=random.Random(1))
    exclude(annotator, alice)
    open_one.refresh_from_db()
    assert open_one.state == "expired"
    assert ItemSet.objects.get().n_taken == 0
    counts_are_true(project)
    with pytest.raises(AnnotatorExcluded):
        record_label(presentation=open_one, answer=Answer("tie"), now=NOW)


def test_undone_and_late_labels_stay_what_they_are(project, alice):
    annotator = make_annotator(project, "Random")
    answer_one(annotator)
    undo_label(annotator=annotator, now=NOW)
    exclude(annotator, alice)
    readmit_annotator(annotator=annotator, actor=alice, now=NOW)
    assert list(Label.objects.values_list("void_reason", flat=True)) == ["undone"]
    counts_are_true(project)


def test_readmitting_restores_what_still_has_a_place(project, alice):
    annotator = make_annotator(project, "Random")
    labels = [answer_one(annotator) for _ in range(3)]
    exclude(annotator, alice)
    # Two others fill the first set while it is free; the other sets keep room.
    item_set = labels[0].presentation.item_set
    ItemSet.objects.filter(pk=item_set.pk).update(n_taken=project.overlap)
    result = readmit_annotator(annotator=annotator, actor=alice, now=NOW)
    assert (result.restored, result.kept_voided) == (2, 1)
    assert list(annotator.labels.filter(voided_at=None).order_by("pk")) == labels[1:]
    assert set(annotator.labels.filter(voided_at=None).values_list("voided_by", "void_reason")) == {(None, "")}
    assert annotator.labels.get(pk=labels[0].pk).void_reason == "excluded"
    annotator.refresh_from_db()
    assert annotator.excluded_at is None
    event = Event.objects.get(verb="annotator readmitted")
    assert event.details == {"restored": 2, "kept_voided": 1, "version": FitState.objects.get().wanted}


def test_of_two_labels_on_one_set_the_newer_counts(project, alice):
    """Excluded, not restored for want of room, shown the set again, answered, excluded and re-admitted once more."""
    project.items.filter(pk__in=list(project.items.values_list("pk", flat=True)[2:])).delete()
    Project.objects.update(overlap=1)
    annotator, rival = make_annotator(project, "Random"), make_annotator(project, "Rival")
    first = answer_one(annotator)
    exclude(annotator, alice)
    answer_one(rival)
    assert readmit_annotator(annotator=annotator, actor=alice, now=NOW).kept_voided == 1
    exclude(rival, alice)
    second = answer_one(annotator, now=NOW + timedelta(minutes=1))
    assert second.presentation.item_set == first.presentation.item_set
    exclude(annotator, alice)
    Project.objects.update(overlap=3)  # room for both, but they are one person's
    result = readmit_annotator(annotator=annotator, actor=alice, now=NOW)
    assert (result.restored, result.kept_voided) == (1, 1)
    assert annotator.labels.get(voided_at=None) == second
    counts_are_true(project)


def test_a_cap_lowered_meanwhile_is_kept(project, alice):
    annotator = make_annotator(project, "Random")
    labels = [answer_one(annotator, now=NOW + timedelta(minutes=i)) for i in range(4)]
    exclude(annotator, alice)
    Project.objects.update(cap=2)
    result = readmit_annotator(annotator=annotator, actor=alice, now=NOW)
    assert (result.restored, result.kept_voided) == (2, 2)
    assert list(annotator.labels.filter(voided_at=None).order_by("pk")) == labels[2:]
    with pytest.raises(CapReached):
        answer_one(annotator)
    counts_are_true(project)


def test_twice_is_refused(project, alice):
    annotator = make_annotator(project, "Random")
    with pytest.raises(NotExcluded):
        readmit_annotator(annotator=annotator, actor=alice, now=NOW)
    exclude(annotator, alice)
    with pytest.raises(ExcludedAlready):
        exclude(annotator, alice)
    assert Event.objects.filter(verb="annotator excluded").count() == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_counters_stay_true_and_overlap_is_never_exceeded(project, alice, seed):
    """Random histories of answering, undoing, leases running out, excluding and re-admitting."""
    rng = random.Random(seed)
    project.overlap = rng.choice([1, 2, 3])
    project.cap = rng.choice([None, 5])
    project.save()
    crowd, now = [make_annotator(project, f"A{i}") for i in range(4)], NOW
    for _ in range(60):
        annotator = rng.choice(crowd)
        annotator.refresh_from_db()
        now += timedelta(minutes=rng.choice([0, 1, 20]))
        step(rng.choice(["answer"] * 5 + ["open", "undo", "toggle"]), annotator, alice, now, rng)
        counts_are_true(project)
        distinct = (
            Label.objects.filter(voided_at=None)
            .values("presentation__item_set")
            .annotate(n=Count("annotator", distinct=True), labels=Count("pk"))
        )
        assert all(row["n"] == row["labels"] <= project.overlap for row in distinct)
        assert not Label.objects.filter(voided_at=None, annotator__excluded_at__isnull=False).exists()
        assert not Presentation.objects.filter(state="answered").exclude(label__voided_at=None).exists()
        if project.cap:
            assert all(one.labels.filter(voided_at=None).count() <= project.cap for one in crowd)


def step(what, annotator, alice, now, rng) -> None:
    try:
        if what == "answer":
            answer_one(annotator, now=now, seed=rng.random())
        elif what == "open":
            assignment.next_presentation(annotator=annotator, now=now, rng=rng)
        elif what == "undo" and annotator.labels.filter(voided_at=None).exists():
            undo_label(annotator=annotator, now=now)
        elif what == "toggle" and annotator.excluded_at:
            readmit_annotator(annotator=annotator, actor=alice, now=now)
        elif what == "toggle":
            exclude(annotator, alice, now)
    except (AnnotatorExcluded, NothingToCompare, CapReached):
        pass  # what the annotator would be told


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 400])
def test_queries_do_not_grow_with_labels(project, alice, n, django_assert_max_num_queries):
    annotator = make_annotator(project, "Busy")
    for i in range(n):
        make_label(project, annotator, i)
    with django_assert_max_num_queries(16):
        exclude(annotator, alice)
    with django_assert_max_num_queries(19):
        readmit_annotator(annotator=annotator, actor=alice, now=NOW)
    assert annotator.labels.filter(voided_at=None).count() == n
    counts_are_true(project)


def make_label(project, annotator, i) -> None:
    items = [project.items.create(key=f"{side}{i}", body="Text", n_taken=1).pk for side in "ab"]
    presentation = assignment.reopen_presentation(annotator=annotator, items=items, now=NOW, take=False)
    ItemSet.objects.filter(pk=presentation.item_set_id).update(n_taken=1)
    Presentation.objects.filter(pk=presentation.pk).update(state="answered")
    Label.objects.create(
        project=project,
        presentation=presentation,
        annotator=annotator,
        outcome="tie",
        created_at=NOW,
        app_version="test",
    )


def test_the_pages_buttons(client, project, manuel, bob, vera, charlie):
    annotator = make_annotator(project, "Quiet Otter")
    answer_one(annotator)
    urls = [reverse(name, args=[project.pk, annotator.key]) for name in ("annotator-exclude", "annotator-readmit")]
    for user, status in ((vera, 403), (bob, 403), (charlie, 404)):
        client.force_login(user, LOGIN)
        assert [client.post(url).status_code for url in urls] == [status, status]
    client.logout()
    assert client.post(urls[0]).status_code == 302
    annotator.refresh_from_db()
    assert annotator.excluded_at is None

    client.force_login(manuel, LOGIN)
    assert client.get(urls[0]).status_code == 405
    page = client.post(urls[0], {"reason": "Random clicks"}, follow=True).content.decode()
    assert "Quiet Otter is excluded: 1 answer no longer counts" in page
    again = client.post(urls[0], follow=True).content.decode()
    assert "Quiet Otter is excluded already" in again
    page = client.post(urls[1], follow=True).content.decode()
    assert "Quiet Otter is readmitted: 1 answer counts again" in page
    assert "Quiet Otter is not excluded" in client.post(urls[1], follow=True).content.decode()


def test_a_reason_that_is_too_long_changes_nothing(client, project, alice):
    annotator = make_annotator(project, "Quiet Otter")
    client.force_login(alice, LOGIN)
    url = reverse("annotator-exclude", args=[project.pk, annotator.key])
    page = client.post(url, {"reason": "x" * 501}, follow=True).content.decode()
    assert "at most 500 characters (it has 501)" in page
    annotator.refresh_from_db()
    assert annotator.excluded_at is None


def test_an_annotator_of_another_project_is_not_found(client, project, alice):
    other = Project.objects.create(name="Other", question="?")
    stranger = make_annotator(other, "Stranger")
    client.force_login(alice, LOGIN)
    for name in ("annotator-exclude", "annotator-readmit"):
        assert client.post(reverse(name, args=[project.pk, stranger.key])).status_code == 404
