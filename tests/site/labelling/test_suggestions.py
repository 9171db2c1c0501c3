"""Which rule asks: where a policy is adaptive the engine's suggestions go first, and every other rule still holds."""

import random
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotate.labelling import actions, assignment, choosing, suggestions
from annotate.labelling.item_sets import items_of_key, set_key
from annotate.labelling.plan.queries import NO_LIMIT
from annotate.labelling.undo import undo_label
from annotate.models import (
    AskedBy,
    ConflictOfInterest,
    Context,
    FitState,
    GoldSet,
    Item,
    ItemSet,
    Policy,
    Presentation,
    Project,
    Purpose,
    SuggestedSet,
)
from tests.conftest import NOW, answer_one, make_annotator, make_items
from tests.site.labelling.test_labels import next_for


def suggest(project: Project, keys: list[str], *, criterion: int = 1, version: int = 0) -> None:
    SuggestedSet.objects.filter(project=project, criterion=criterion).delete()
    SuggestedSet.objects.bulk_create(
        SuggestedSet(project=project, criterion=criterion, place=place, key=key, fit=7, version=version)
        for place, key in enumerate(keys)
    )


def pairs_of(items: list[int]) -> list[str]:
    return [set_key(pair) for pair in zip(items[::2], items[1::2], strict=True)]


@pytest.fixture
def items(project) -> list[int]:
    """Forty items, each shown often enough."""
    project.items.all().delete()
    make_items(project, 40)
    project.items.update(n_taken=suggestions.MIN_APPEARANCES)
    return list(project.items.order_by("pk").values_list("pk", flat=True))


@pytest.fixture
def project(project) -> Project:
    """It looks for the best, and nearly every question is adaptive."""
    project.policy, project.control_percent, project.overlap = Policy.BEST, 1, 2
    project.save()
    FitState.objects.get_or_create(project=project)
    return project


@pytest.fixture
def adaptive(monkeypatch):
    """No token falls to the control arm."""
    monkeypatch.setattr(suggestions, "random_number", lambda token, what: 0.5 if what == "arm" else 0.0)


def keys_of(presentations) -> list[str]:
    return [ItemSet.objects.get(pk=one.item_set_id).key for one in presentations]


def test_suggested_sets_are_asked_and_say_so(project, items, adaptive):
    suggested = pairs_of(items)
    suggest(project, suggested)
    shown = [next_for(make_annotator(project, f"Otter {i}")) for i in range(3)]
    assert set(keys_of(shown)) <= set(suggested)
    assert len(set(keys_of(shown))) == 3
    assert {(one.asked_by, one.asked_fit) for one in shown} == {(AskedBy.ADAPTIVE, 7)}
    assert not SuggestedSet.objects.filter(key__in=keys_of(shown)).exists(), "each is asked once in a fit"
    assert set(ItemSet.objects.filter(key__in=keys_of(shown)).values_list("adaptive", flat=True)) == {True}


def test_who_asks_at_once_wants_different_sets(project, items):
    suggest(project, pairs_of(items))
    people = [make_annotator(project, f"Otter {i}") for i in range(12)]
    tokens = [f"token {i}" for i in range(12)]
    wanted = [choosing.choose_items(project, one, token) for one, token in zip(people, tokens, strict=True)]
    sets = [set_key(one.items) for one in wanted if one.asked_by == AskedBy.ADAPTIVE]
    assert len(set(sets)) >= len(sets) / 2
    assert set(sets) <= set(pairs_of(items)[: suggestions.N_STARTS])


def test_the_balanced_rule_goes_on_without_suggestions(project, items, adaptive):
    shown = next_for(make_annotator(project, "Otter"))
    assert (shown.asked_by, shown.asked_fit) == (AskedBy.BALANCED, None)
    assert not ItemSet.objects.get(pk=shown.item_set_id).adaptive


def test_suggestions_of_long_ago_are_left_aside(project, items, adaptive):
    suggest(project, pairs_of(items), version=5)
    FitState.objects.filter(project=project).update(wanted=5 + suggestions.MAX_CHANGES_SINCE)
    assert next_for(make_annotator(project, "First")).asked_by == AskedBy.ADAPTIVE
    FitState.objects.filter(project=project).update(wanted=6 + suggestions.MAX_CHANGES_SINCE)
    assert next_for(make_annotator(project, "Second")).asked_by == AskedBy.BALANCED


def test_the_control_arm_has_its_share_and_its_own_balance(project, items):
    project.control_percent, project.overlap = 30, NO_LIMIT
    project.save()
    hits = sum(suggestions.in_control_arm(project, f"{n:032x}") for n in range(4000))
    assert abs(hits / 4000 - 0.3) < 0.03, "four standard errors"
    leaders = items[:2]
    Item.objects.filter(pk__in=leaders).update(n_taken=500)  # asked about by suggestions
    project.control_percent = 100
    project.save()
    shown = [next_for(make_annotator(project, f"Otter {i}")) for i in range(20)]
    assert {one.asked_by for one in shown} == {AskedBy.CONTROL}
    seen = [item for one in shown for item in items_of_key(keys_of([one])[0])]
    assert sorted(seen) == items, "each once: what suggestions asked about does not count"
    assert set(Item.objects.filter(project=project).values_list("n_control", flat=True)) == {1}


def test_the_control_arm_leaves_the_sets_of_suggestions_alone(project, items, monkeypatch):
    suggest(project, pairs_of(items))
    monkeypatch.setattr(suggestions, "random_number", lambda token, what: 0.5 if what == "arm" else 0.0)
    begun = next_for(make_annotator(project, "First"))
    monkeypatch.setattr(suggestions, "random_number", lambda token, what: 0.0)
    others = [next_for(make_annotator(project, name)) for name in ("Second", "Third")]
    assert {one.asked_by for one in others} == {AskedBy.CONTROL}
    assert others[0].item_set_id != begun.item_set_id, "a suggested set is no fair sample"
    assert others[1].item_set_id == others[0].item_set_id, "its own sets wait to be full"


def test_overlap_repeats_and_checks_hold(project, items, adaptive):
    keys = pairs_of(items[:6])
    suggest(project, keys)
    full, seen, check = (ItemSet.objects.create(project=project, key=key) for key in keys)
    ItemSet.objects.filter(pk=full.pk).update(n_taken=project.overlap)
    GoldSet.objects.create(
        project=project, item_set=check, purpose=Purpose.GOLD, outcome="choice", named=items_of_key(check.key)[:1]
    )
    otter = make_annotator(project, "Otter")
    assignment.reopen_presentation(annotator=otter, items=items_of_key(seen.key), now=NOW)
    assignment.release_open_presentation(otter)
    Presentation.objects.filter(annotator=otter).update(state=Presentation.State.ANSWERED)
    assert next_for(otter).asked_by == AskedBy.BALANCED
    assert keys_of([next_for(make_annotator(project, "Stoat"))]) == [seen.key]


def test_nobody_is_shown_what_they_are_never_shown(project, items, adaptive):
    suggest(project, pairs_of(items[:4]))
    otter = make_annotator(project, "Otter")
    ConflictOfInterest.objects.create(annotator=otter, item_id=items[0])
    otter.has_never_shown = True
    otter.save()
    assert keys_of([next_for(otter)]) == [set_key(items[2:4])]


def test_items_retired_or_deleted_are_not_asked_about(project, items, adaptive):
    suggest(project, pairs_of(items[:6]))
    Item.objects.filter(pk=items[0]).update(retired_at=NOW)
    Item.objects.filter(pk=items[2]).delete()
    assert keys_of([next_for(make_annotator(project, "Otter"))]) == [set_key(items[4:6])]


def test_what_was_rarely_shown_goes_first(project, items, adaptive):
    suggest(project, pairs_of(items))
    new = make_items_more(project)
    shown = next_for(make_annotator(project, "Otter"))
    assert new.pk in items_of_key(keys_of([shown])[0])
    assert shown.asked_by == AskedBy.BALANCED
    Item.objects.filter(pk=new.pk).update(n_taken=suggestions.MIN_APPEARANCES)
    assert next_for(make_annotator(project, "Stoat")).asked_by == AskedBy.ADAPTIVE


def make_items_more(project: Project) -> Item:
    return Item.objects.create(project=project, key="new", body="New")


def test_an_item_that_nothing_can_be_compared_with_holds_nobody_up(project, items, adaptive):
    suggest(project, pairs_of(items))
    Item.objects.create(
        project=project, key="alone", body="A", context=Context.objects.create(project=project, body="P", digest="d")
    )
    assert next_for(make_annotator(project, "Otter")).asked_by == AskedBy.ADAPTIVE


def test_a_plan_decides_where_there_is_one(project, items, adaptive):
    suggest(project, pairs_of(items))
    project.n_sets = 3
    project.save()
    for place, pair in enumerate([(0, 5), (1, 6), (2, 7)]):
        ItemSet.objects.create(project=project, key=set_key([items[i] for i in pair]), place=place)
    shown = next_for(make_annotator(project, "Otter"))
    assert shown.asked_by == AskedBy.BALANCED
    assert ItemSet.objects.get(pk=shown.item_set_id).place is not None


def test_a_check_takes_as_many_statements_and_leaves_the_suggestion(project, items, adaptive):
    suggest(project, pairs_of(items))
    otter = make_annotator(project, "Otter")
    likely = assignment.choose_ahead(otter, NOW)
    with CaptureQueriesContext(
        connection,
    ) as ordinary:
        assignment.claim_next_set(otter, likely, count=False)
    assert SuggestedSet.objects.count() == 20
    with CaptureQueriesContext(connection) as taken:
        assignment.claim_next_set(otter, likely, count=True)
    assert (len(ordinary), SuggestedSet.objects.count()) == (len(taken), 19)


def test_two_who_want_the_same_suggestion(project, items, adaptive):
    """The second finds it taken in their step, and gets another."""
    suggest(project, pairs_of(items))
    first, second = make_annotator(project, "First"), make_annotator(project, "Second")
    likely = [assignment.choose_ahead(one, NOW) for one in (first, second)]
    assert likely[0].suggestion == likely[1].suggestion
    shown = [
        assignment.open_or_renew(one, choice, NOW, random.Random(1))
        for one, choice in zip((first, second), likely, strict=True)
    ]
    assert shown[0].item_set_id != shown[1].item_set_id
    assert {one.asked_by for one in shown} == {AskedBy.ADAPTIVE}


def test_undo_asks_the_same_by_the_same_rule(project, items, adaptive):
    suggest(project, pairs_of(items))
    otter = make_annotator(project, "Otter")
    label = answer_one(otter)
    again = undo_label(annotator=otter, now=NOW + timedelta(seconds=1))
    assert (again.asked_by, again.asked_fit) == (AskedBy.ADAPTIVE, 7)
    assert again.item_set_id == label.presentation.item_set_id


def test_each_criterion_has_its_turn(project, items):
    project.criteria = [{"name": "Clear", "question": "?"}, {"name": "Right", "question": "?"}]
    project.save()
    keys = pairs_of(items)
    suggest(project, keys[:1], criterion=1)
    suggest(project, keys[1:2], criterion=2)
    otter = make_annotator(project, "Otter")
    tokens = [f"{n:032x}" for n in range(40)]
    found = [choosing.choose_items(project, otter, token) for token in tokens]
    wanted = [set_key(one.items) for one in found if one.asked_by == AskedBy.ADAPTIVE]
    assert set(wanted) == set(keys[:2])


def statements(project: Project, name: str) -> tuple[str, int]:
    """The rule, and the statements of asking for the next task and answering it."""
    otter = make_annotator(project, name)
    shown = next_for(otter)
    with CaptureQueriesContext(connection) as seen:
        actions.record_and_assign_next(
            presentation=shown, answer=actions.Answer("choice", 0), now=NOW, rng=random.Random(1)
        )
    latest = Presentation.objects.filter(annotator=otter).latest("pk")
    return latest.asked_by, len(seen)


@pytest.mark.parametrize("overlap", [1, 2, NO_LIMIT])
def test_an_answer_takes_at_most_one_more_statement(project, items, adaptive, overlap):
    project.overlap = overlap
    project.save()
    statements(project, "Warm")
    balanced = statements(project, "Balanced")
    suggest(project, pairs_of(items))
    adaptive_one = statements(project, "Adaptive")
    assert (balanced[0], adaptive_one[0]) == (AskedBy.BALANCED, AskedBy.ADAPTIVE)
    assert adaptive_one[1] <= balanced[1] + 1
