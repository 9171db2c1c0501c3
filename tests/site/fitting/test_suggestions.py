"""The sets that are suggested after a fit: what they are for, what they leave out, and what stops them."""

import random
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest

from annotate.criteria import Criterion
from annotate.fitting import suggestions
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.labelling.item_sets import items_of_key
from annotate.models import AskedBy, Context, Item, ItemSet, Policy, Presentation, Project, SuggestedSet
from annotate.projects.actions import change_project
from models_engine.models import Estimate, Fit
from tests.conftest import NOW, make_annotator, make_items
from tests.site.factories import make_fit
from tests.site.fitting.test_run import answer_pairs, fit_now
from tests.site.labelling.test_labels import counts_are_true


@pytest.fixture
def project(project) -> Project:
    project.items.all().delete()
    make_items(project, 40)
    project.policy, project.top_k, project.estimator, project.overlap = Policy.BEST, 5, "BradleyTerry", 3
    project.save()
    return project


def fit_of(project: Project, sd: float = 0.5, n: int = 10) -> Fit:
    """A published fit in which the items stand in their order, a quarter of a logit apart."""
    items = list(project.items.filter(retired_at=None).order_by("pk"))
    return make_fit(project, [[(item, -place / 4, sd, n) for place, item in enumerate(items)]], unit=1.0)


def suggested(project: Project, fit: Fit) -> list[list[int]]:
    """The places of the items of each suggested set, in the order of asking."""
    suggestions.write_suggestions(Criterion(project), fit)
    place = {item: n for n, item in enumerate(project.items.order_by("pk").values_list("pk", flat=True))}
    rows = SuggestedSet.objects.filter(project=project).order_by("place").values_list("key", flat=True)
    return [[place[item] for item in items_of_key(key)] for key in rows]


def test_the_best_are_sought_around_their_edge(project):
    found = suggested(project, fit_of(project))
    places = np.array(found[:40]).ravel()
    assert len(found) > 10
    assert np.median(np.abs(places - 4.5)) < 4, "the fifth and sixth are what is open"
    times = min(project.overlap, suggestions.MAX_TIMES)
    assert len({tuple(pair) for pair in found}) * times == len(found), "so few are asked again"


def test_an_item_whose_only_rival_was_retired_is_no_hindrance(project):
    crowd, items = [make_annotator(project, f"Otter {n}") for n in range(2)], list(project.items.order_by("pk"))
    answer_pairs(crowd, [items[:2], *pairwise(items[2:12])], lambda a, b: 1)
    Item.objects.filter(pk=items[1].pk).update(retired_at=NOW)
    fit = fit_now(project)
    alone = Estimate.objects.get(fit=fit, item_id=items[0].pk)
    assert (alone.n_comparisons, alone.rank_high) == (2, 1)
    assert alone.sd > 0.3
    assert alone.low < alone.utility - alone.sd < alone.utility + alone.sd < alone.high
    assert suggested(project, fit)


@pytest.mark.parametrize("shares", [[50, 50], [25, 50, 25]])
def test_classes_are_sought_around_their_boundaries(project, shares):
    project.policy, project.class_shares = Policy.CLASSES, shares
    project.save()
    places = np.array(suggested(project, fit_of(project))[:40]).ravel()
    ends = np.cumsum(shares[:-1]) / 100 * 40 - 0.5
    assert np.median(np.abs(places[:, None] - ends).min(axis=1)) < 3


def test_grades_come_before_shares(project):
    project.policy, project.class_shares = Policy.CLASSES, [50, 50]
    project.grades, project.grades_by = [{"name": "A", "limit": 10}, {"name": "B", "limit": None}], "share"
    project.save()
    places = np.array(suggested(project, fit_of(project))[:40]).ravel()
    assert np.median(np.abs(places - 3.5)) < 3, "four items of forty have the first grade"


def test_the_whole_ranking_is_sought_among_neighbours(project):
    project.policy = Policy.WHOLE
    project.save()
    found = np.array(suggested(project, fit_of(project)))
    assert len(set(found[:80].ravel().tolist())) > 30, "everywhere"
    assert np.median(np.abs(np.diff(found[:20], axis=1))) <= 4, "of the first round"


def test_what_is_settled_or_tied_is_asked_no_more(project):
    assert suggested(project, fit_of(project, sd=0.02)) == [], "all are told apart"
    items = list(project.items.order_by("pk"))
    tied = [(item, 0.0, 0.01, 500) for item in items]
    assert suggested(project, make_fit(project, [tied], unit=1.0)) == [], "true ties end"


def test_only_items_of_one_context_are_suggested_together(project):
    items = list(project.items.order_by("pk"))
    for number in range(4):
        context = Context.objects.create(project=project, body=f"P{number}", digest=str(number))
        Item.objects.filter(pk__in=[item.pk for item in items[number::4]]).update(context=context)
    found = suggested(project, fit_of(project))
    assert found
    assert all(left % 4 == right % 4 for left, right in found)


def test_full_sets_are_left_out(project):
    fit = fit_of(project)
    first = suggested(project, fit)
    keys = list(SuggestedSet.objects.filter(project=project).values_list("key", flat=True)[:10])
    for key in keys:
        ItemSet.objects.create(project=project, key=key, n_taken=project.overlap)
    again = suggested(project, fit)
    assert not SuggestedSet.objects.filter(key__in=keys).exists()
    assert len(again) >= len(first) - 10 * project.overlap


def test_full_sets_of_another_size_are_no_hindrance(project):
    """As a second kind of task leaves them; two sets of three are six items, as three pairs would be."""
    fit = fit_of(project)
    suggested(project, fit)
    pair = SuggestedSet.objects.filter(project=project).values_list("key", flat=True)[0]
    ItemSet.objects.create(project=project, key=pair, n_taken=project.overlap)
    items = [str(pk) for pk in project.items.order_by("pk").values_list("pk", flat=True)]
    for number in range(2):
        key = "-".join(items[3 * number : 3 * number + 3])
        ItemSet.objects.create(project=project, key=key, n_taken=project.overlap)
    assert suggested(project, fit)
    assert not SuggestedSet.objects.filter(key=pair).exists()


@pytest.mark.parametrize(
    "values",
    [
        {"policy": Policy.BALANCED},
        {"n_sets": 10},
        {"given_order": "balanced"},
        {"top_k": 40},
        {"top_k": 400},
        {"policy": Policy.CLASSES},
    ],
)
def test_nothing_is_suggested_where_nothing_can_be(project, values):
    fit = fit_of(project)
    assert suggested(project, fit)
    Project.objects.filter(pk=project.pk).update(**values)
    assert suggested(project, fit) == []


def test_sets_of_several(project):
    project.task_type, project.k = "ranking", 4
    project.save()
    found = suggested(project, fit_of(project))
    assert found
    assert {len(one) for one in found} == {4}


def test_an_overtaken_fit_writes_nothing(project):
    old = fit_of(project)
    new = fit_of(project)
    assert suggested(project, new)
    kept = list(SuggestedSet.objects.values_list("key", flat=True))
    suggestions.write_suggestions(Criterion(project), old)
    assert list(SuggestedSet.objects.values_list("key", flat=True)) == kept
    assert set(SuggestedSet.objects.values_list("fit", flat=True)) == {new.number}


def test_a_change_of_policy_ends_what_was_suggested(project, alice):
    fit = fit_of(project)
    assert suggested(project, fit)
    change_project(project=project, actor=alice, values={"policy": Policy.WHOLE}, now=NOW)
    assert not SuggestedSet.objects.exists()
    stale = Project.objects.get(pk=project.pk)
    stale.policy = Policy.BEST
    suggestions.replace_suggestions(stale, fit, ["1-2"])
    assert not SuggestedSet.objects.exists(), "chosen by the policy before"


def test_a_failure_leaves_the_fit_and_no_suggestions(project, monkeypatch):
    fit = fit_of(project)
    assert suggested(project, fit)

    def fail(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(suggestions, "candidate_sets", fail)
    assert suggestions.write_suggestions(Criterion(project), fit) == 0
    assert not SuggestedSet.objects.exists()
    assert Fit.objects.get(pk=fit.pk).published


def collect(project: Project, n: int, rng: np.random.Generator, crowd: list, every: int) -> None:
    """Let the crowd give so many answers by a Bradley-Terry model of the items' order, fitting every so often."""
    quality = {
        item: 3 - 0.2 * place for place, item in enumerate(project.items.order_by("pk").values_list("pk", flat=True))
    }
    for number in range(n):
        annotator = crowd[number % len(crowd)]
        now = NOW + timedelta(seconds=number)
        shown = assignment.next_presentation(annotator=annotator, now=now, rng=random.Random(number))
        left, right = shown.presented.order_by("position").values_list("item_id", flat=True)
        wins = rng.random() < 1 / (1 + np.exp(quality[right] - quality[left]))
        record_label(presentation=shown, answer=Answer("choice", 0 if wins else 1), now=now)
        if number % every == every - 1:
            fit_now(project, now)


@pytest.mark.embedded
@pytest.mark.slow
def test_leaders_are_asked_more_and_everybody_enough(project):
    crowd = [make_annotator(project, f"Otter {i}") for i in range(10)]
    collect(project, 400, np.random.default_rng(1), crowd, every=50)
    by_rule = dict.fromkeys(AskedBy.values, 0)
    for rule in Presentation.objects.filter(project=project).values_list("asked_by", flat=True):
        by_rule[rule] += 1
    assert by_rule[AskedBy.ADAPTIVE] > 100
    assert by_rule[AskedBy.CONTROL] > 60, "about three in ten"
    shown = list(project.items.order_by("pk").values_list("n_taken", flat=True))
    assert min(shown) >= 4
    assert np.mean(shown[:10]) > 1.5 * np.mean(shown[15:])
    control = list(project.items.values_list("n_control", flat=True))
    assert max(control) - min(control) <= 2 * project.overlap, "a set at a time"
    assert max(ItemSet.objects.values_list("n_taken", flat=True)) <= project.overlap
    counts_are_true(project)
