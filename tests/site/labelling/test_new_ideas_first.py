"""Items made of ideas are asked first until they have been compared as often as the others; but not by a plan."""

from datetime import timedelta

import pytest
from django.db.models import Avg

from annotate.ideas.actions import approve_ideas
from annotate.ideas.views import how_asked
from annotate.items.actions import retire_item
from annotate.labelling.choosing import choose_items
from annotate.labelling.navigation import RNG
from annotate.labelling.plan.actions import draw_plan
from annotate.models import Annotator, ConflictOfInterest, Idea, Item, Project
from tests.conftest import NOW, answer_one, make_annotator


def approved(project: Project, alice, n: int = 1) -> list[Item]:
    author = make_annotator(project, "Author")
    ideas = [Idea.objects.create(project=project, annotator=author, text=f"New {i}", created_at=NOW) for i in range(n)]
    return approve_ideas(project=project, actor=alice, ideas=[idea.pk for idea in ideas], now=NOW, rng=RNG)


def shown_to(person: Annotator, n: int) -> list[set[int]]:
    """The items of their next n tasks, each answered."""
    labels = [answer_one(person, now=NOW + timedelta(seconds=second)) for second in range(n)]
    return [set(label.presentation.items.values_list("pk", flat=True)) for label in labels]


def crowd(project: Project, n: int, each: int, name: str = "Citizen") -> list[set[int]]:
    """What n newcomers among the people are shown, in turn."""
    people = [make_annotator(Project.objects.get(pk=project.pk), f"{name} {i}") for i in range(n)]
    return [one for person in people for one in shown_to(person, each)]


def usual(project: Project) -> float:
    return float(project.items.exclude(key__startswith="idea-").aggregate(n=Avg("n_taken"))["n"])


@pytest.mark.slow
@pytest.mark.parametrize("overlap", [1000, 3])
def test_a_new_idea_is_asked_first_until_it_has_caught_up(project, alice, overlap):
    Project.objects.update(overlap=overlap)
    crowd(project, 5, 4)
    assert overlap == 1000 or project.item_sets.filter(n_taken__in=[1, 2]).exists(), "sets wait for annotators"
    [item] = approved(project, alice)
    tasks = 0
    while item.n_taken + 1 <= usual(project):
        [shown] = crowd(project, 1, 1, f"Visitor {tasks}")
        assert item.pk in shown
        item.refresh_from_db()
        tasks += 1
    assert tasks >= 5
    later = crowd(project, 6, 2, "Later")
    assert 0 < sum(item.pk in shown for shown in later) < 12, "one among the others"


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize("overlap", [1000, 3])
def test_new_ideas_are_compared_with_the_others_not_with_themselves(project, alice, overlap):
    Project.objects.update(overlap=overlap)
    crowd(project, 5, 4)
    new = {item.pk for item in approved(project, alice, 4)}
    for shown in crowd(project, 4, 3, "Visitor"):
        assert len(shown & new) == 1


@pytest.mark.slow
def test_an_idea_s_sets_are_filled_before_it_gets_more_of_them(project, alice):
    """Else it would have been in many sets that all wait, and be asked more often than the others in the end."""
    Project.objects.update(overlap=3)
    crowd(project, 5, 6)
    [item] = approved(project, alice)
    first, second, third, fourth = crowd(project, 4, 1, "Visitor")
    assert first == second == third != fourth
    assert item.pk in fourth


def test_not_to_who_has_a_conflict_nor_once_it_is_retired(project, alice):
    Project.objects.update(overlap=1000)
    crowd(project, 5, 4)
    [item] = approved(project, alice)
    person = make_annotator(Project.objects.get(), "Somebody", has_never_shown=True)
    ConflictOfInterest.objects.create(annotator=person, item=item)
    assert item.pk not in choose_items(person.project, person).items
    other = make_annotator(Project.objects.get(), "Somebody else")
    assert item.pk in choose_items(other.project, other).items
    retire_item(item=item, actor=alice, now=NOW)
    assert item.pk not in choose_items(other.project, other).items


def test_a_plan_gives_an_idea_its_share_of_the_sets_that_nobody_has_and_says_so(project, alice):
    Project.objects.update(n_sets=9, overlap=2)
    draw_plan(project)
    crowd(project, 1, 3)  # their three sets wait for somebody else
    project.refresh_from_db()
    [item] = approved(project, alice)
    planned = [
        set(map(int, key.split("-"))) for key in project.item_sets.exclude(place=None).values_list("key", flat=True)
    ]
    assert len(planned) == 9
    assert any(item.pk in one for one in planned)
    person = make_annotator(Project.objects.get(), "Somebody")
    assert item.pk not in choose_items(person.project, person).items, "waiting sets come first"
    assert "it is not asked first" in how_asked(project)


def test_projects_without_ideas_are_not_asked_about_them(project, django_assert_num_queries):
    person = make_annotator(project, "Somebody")
    answer_one(person)
    with django_assert_num_queries(3):
        choose_items(person.project, person)
