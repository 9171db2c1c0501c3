"""Conflicts of interest: what an annotator is never shown, by key or by tag, in whichever kind of task."""

import random
from itertools import combinations

import pytest
from django.urls import reverse

from annotate.core import errors
from annotate.labelling import assignment, item_sets
from annotate.labelling.undo import undo_label
from annotate.models import Annotator, ConflictOfInterest, Presentation, Tag
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.gold_sets import answer_all, make_known, true_counts
from tests.site.labelling.test_eligibility import set_up
from tests.site.pages import page, signed_in


def keep(client, project, table: str):
    return client.post(reverse("never-shown", args=[project.pk]), {"table": "annotator,item,tag\n" + table})


@pytest.fixture
def otter(project):
    return make_annotator(project, "Quiet Otter")


@pytest.fixture
def school(project) -> Tag:
    """A tag of item-4."""
    tag = Tag.objects.create(project=project, name="school-3")
    project.items.get(key="item-4").tags.add(tag)
    return tag


def test_what_is_named_by_key_or_tag_is_never_shown(project, alice, otter, school):
    set_up(project, gold_every=3, repeat_percent=50)
    make_known(project, "gold", 2)
    client = signed_in(alice)
    assert keep(client, project, "Quiet Otter,item-0,\nQuiet Otter,,school-3\nQuiet Otter,gold-0,\n").status_code == 302
    crowd = [make_annotator(project, f"Crowd {n}") for n in range(2)]
    for n in range(8):
        answer_one(crowd[n % 2], now=NOW, seed=n)
    project.items.get(key="item-5").tags.add(school)  # the tag holds for what gets it later
    with pytest.raises(errors.NothingToCompare):
        answer_all(otter, 40)
    shown = {item.key for one in otter.presentations.all() for item in one.items.all()}
    assert shown == {"item-1", "item-2", "item-3", "gold-2", "gold-3"}
    pairs = {one.item_set.key for one in otter.presentations.filter(purpose="ordinary")}
    free = project.items.filter(key__in=["item-1", "item-2", "item-3"]).values_list("pk", flat=True)
    full = {one.key for one in project.item_sets.filter(n_taken__gte=2)} - pairs
    assert pairs | full >= {item_sets.set_key(pair) for pair in combinations(free, 2)}, "all that is left was asked"
    true_counts(project)


def test_a_plan_passes_over_it_too(project, alice, otter):
    first, second, third = (project.items.get(key=f"item-{n}").pk for n in range(3))
    for place, pair in enumerate([(first, second), (second, third)]):
        project.item_sets.create(key=item_sets.set_key(pair), place=place)
    set_up(project, n_sets=2)
    keep(signed_in(alice), project, "Quiet Otter,item-0,\n")
    shown = answer_one(otter).presentation
    assert shown.item_set.key == item_sets.set_key((second, third))


def test_what_is_open_is_taken_back_and_undo_does_not_bring_it_back(project, alice, otter):
    client = signed_in(alice)
    answered = answer_one(otter).presentation
    assignment.next_presentation(annotator=otter, now=NOW, rng=random.Random(1))
    for one in (answered, Presentation.objects.get(state="open")):
        for item in one.items.all():
            keep(client, project, f"Quiet Otter,{item.key},\n")
    assert not Presentation.objects.filter(state="open").exists()
    with pytest.raises(errors.NothingToUndo):
        undo_label(annotator=otter, now=NOW)
    assert otter.labels.get().voided_at is None
    true_counts(project)


def test_lines_are_told_listed_and_removed(project, alice, otter, school):
    client = signed_in(alice)
    refused = keep(client, project, "Loud Otter,item-0,\nQuiet Otter,,\nQuiet Otter,nowhere,\nQuiet Otter,,none\n")
    assert refused.status_code == 400
    told = refused.content.decode()
    for text in (
        "4 rows are wrong",
        "Nobody in this project or on the list of people you expect has the name “Loud Otter”",
        "neither an item nor a tag",
        "nowhere",
        "“none”",
    ):
        assert text in told
    assert not ConflictOfInterest.objects.exists()
    for _again in range(2):
        keep(client, project, "Quiet Otter,item-0,school-3\n")
    assert ConflictOfInterest.objects.count() == 2
    assert "2 rows" in page(client, project, "never-shown")
    for entry in ConflictOfInterest.objects.all():
        client.post(reverse("never-shown-remove", args=[project.pk, entry.pk]))
    assert not Annotator.objects.get(pk=otter.pk).has_never_shown
    assert "added conflicts of interest" in page(client, project, "project-manage")
