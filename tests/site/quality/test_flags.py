"""Flags: raised with reason and figure where the labels say so surely, and nobody is excluded by one."""

import random

import numpy as np
import pytest

from annotate.annotators.exclusion import exclude_annotator, readmit_annotator
from annotate.criteria import Criterion
from annotate.fitting.reading import read_labels
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.models import IMPORTED_APP_VERSION, Label
from annotate.publishing.exports import annotators as table
from annotate.quality.flags.orders import chance_of_any
from annotate.quality.flags.queries import Share, agreement, annotator_checks
from tests.conftest import NOW, answer_one, make_annotator, make_items
from tests.site.gold_sets import answer_all, make_known
from tests.site.labelling.test_eligibility import set_up
from tests.site.pages import page, signed_in


def flags_of(annotator) -> dict[str, str]:
    return {flag.name: flag.words for flag in annotator_checks(annotator.project, [annotator.pk])[annotator.pk].flags}


def test_the_interval_is_wilsons():
    """Against the textbook's: 0 of 10 and 8 of 10 at z = 1.6449."""
    share = Share(0, 10)
    assert (share.low, share.high) == (pytest.approx(0, abs=1e-9), pytest.approx(0.2130, abs=1e-3))
    share = Share(8, 10)
    assert (share.low, share.high) == (pytest.approx(0.5408, abs=1e-3), pytest.approx(0.9314, abs=1e-3))


def test_a_careful_annotator_raises_none_and_a_careless_one_several(project, alice):
    make_items(project, 0)
    set_up(project, overlap=50)
    careful, careless = make_annotator(project, "Careful"), make_annotator(project, "Careless")
    for n in range(12):
        answer_one(careful, chosen=n % 2, now=NOW, seed=n)
        answer_one(careless, chosen=1, now=NOW, seed=n)
    Label.objects.filter(annotator=careful).update(response_ms=4000)
    Label.objects.filter(annotator=careless).update(response_ms=400)
    assert flags_of(careful) == {}
    assert flags_of(careless) == {
        "too_fast": "Too fast: 12 of 12 (90% interval .82 to >.99) answers in under 1.0 s",
        "one_side": "Mostly the same place: 12 of 12 (90% interval .82 to >.99) choices",
    }
    shown = page(signed_in(alice), project, "annotators")
    assert "Too fast: 12 of 12" in shown
    careless.refresh_from_db()
    assert careless.excluded_at is None
    names = [column.name for column in table.columns(project)]
    rows = {row[0]: dict(zip(names, row, strict=True)) for row in table.rows(Criterion(project))}
    assert (rows["Careful"]["flags"], rows["Careless"]["flags"]) == ("", "too_fast one_side")


def test_too_few_answers_raise_nothing(project):
    new = make_annotator(project, "New")
    for n in range(3):
        answer_one(new, chosen=0, now=NOW, seed=n)
    Label.objects.update(response_ms=100)
    assert flags_of(new) == {}


def test_many_that_cannot_be_judged(project):
    otter = make_annotator(project, "Quiet Otter")
    for n in range(8):
        answer_one(otter, chosen=None, outcome="cant_judge", now=NOW, seed=n)
    Label.objects.update(response_ms=4000)
    assert list(flags_of(otter)) == ["cant_judge"]


@pytest.mark.parametrize(
    ("rules", "tie"),
    [
        ({}, Answer("tie", response_ms=9000)),
        ({"task_type": "ranking", "k": 3, "shared_places": True}, Answer("ranking", None, "", (0, 1, 2), (1, 2), 9000)),
    ],
)
def test_who_calls_all_items_equal_again_and_again_is_flagged(project, rules, tie):
    """Ten ties in a row may still be honest (90% interval from .79), eleven are not; skips count neither way."""
    make_items(project, 0)
    set_up(project, overlap=50, **rules)
    person = make_annotator(project, "Always equal")
    for n in range(14):
        assert flags_of(person) == {}
        shown = assignment.next_presentation(annotator=person, now=NOW, rng=random.Random(n))
        answer = Answer("skip", response_ms=9000) if n % 5 == 4 else tie
        record_label(presentation=shown, answer=answer, now=NOW)
        if Label.objects.exclude(outcome="skip").count() == 11:
            break
    assert flags_of(person) == {
        "all_tied": "Nearly always calls the items equal: 11 of 11 (90% interval .80 to >.99) answers"
    }


@pytest.mark.parametrize("purpose", ["gold", "attention"])
def test_right_answers_missed(project, purpose):
    set_up(project, overlap=50, **{f"{purpose}_every": 2})
    make_known(project, purpose, 4)
    for name, right in (("Good", True), ("Bad", False)):
        person = make_annotator(project, name)
        for n in range(8):
            shown = assignment.next_presentation(annotator=person, now=NOW, rng=random.Random(n))
            place = n % 2
            if shown.known:
                first = list(shown.presented.values_list("item", flat=True)).index(shown.known.named[0])
                place = first if right else 1 - first
            record_label(presentation=shown, answer=Answer("choice", place, response_ms=4000), now=NOW)
        found = annotator_checks(project, [person.pk])[person.pk]
        share = found.gold if purpose == "gold" else found.attention
        assert (share.k, share.n) == (4 * right, 4)
        assert (f"{purpose}_failed" in flags_of(person)) != right


def test_repeats_answered_otherwise(project):
    """Who always takes the left one contradicts every mirrored repeat; exclusion and re-admission, with the fit."""
    set_up(project, overlap=50, repeat_percent=50)
    lefty = make_annotator(project, "Lefty")
    answer_all(lefty, 16, chosen=0)
    found = annotator_checks(project, [lefty.pk])[lefty.pk]
    assert found.repeats.k == 0
    assert found.repeats.n >= 3
    assert "inconsistent" in flags_of(lefty)
    asked = lefty.presentations.filter(purpose="ordinary")
    asked.update(asked_by="adaptive")
    assert annotator_checks(project, [lefty.pk])[lefty.pk].repeats is None, "of items close to each other"
    asked.update(asked_by="control")
    owner = project.memberships.get(role="owner").user
    n = read_labels(Criterion(project)).data.n_labels
    exclude_annotator(annotator=lefty, actor=owner, reason="flags", now=NOW)
    assert read_labels(Criterion(project)).data.n_labels == 0
    assert flags_of(lefty) == {}, "what was voided is not held against anybody"
    readmit_annotator(annotator=lefty, actor=owner, now=NOW)
    assert read_labels(Criterion(project)).data.n_labels == n
    assert "inconsistent" in flags_of(lefty)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((0, 1), (0, 1), 1),
        ((0, 1), (1, 0), 0),
        ((0, 0), (0, 1), 0),
        ((0, 0), (0, 0), 1),
        ((0, 1, 2), (0, 2, 1), 2 / 3),
        ((0, 1, 1), (1, 0, 1), 0),
    ],
)
def test_answers_agree_by_the_pairs_that_they_tell_apart(one, other, expected):
    assert agreement(dict(enumerate(one)), dict(enumerate(other))) == pytest.approx(expected)


def test_a_judge_with_one_order_is_flagged_once_it_is_no_chance(project):
    """Three times A, B, C, D may be chance (1 in 576), four times is none; a file's order says nothing."""
    make_items(project, 0)
    set_up(project, overlap=50, task_type="ranking", k=4)
    judge, careful = make_annotator(project, "Always ABCD"), make_annotator(project, "Careful")
    for n in range(4):
        assert "same_order" not in flags_of(judge)
        for person, order in ((judge, (0, 1, 2, 3)), (careful, random.Random(n).sample(range(4), 4))):
            shown = assignment.next_presentation(annotator=person, now=NOW, rng=random.Random(n))
            record_label(presentation=shown, answer=Answer("ranking", order=tuple(order), response_ms=9000), now=NOW)
    assert flags_of(judge) == {
        "same_order": "Mostly the same order on the screen, whatever is shown: "
        "4 of 4 (90% interval .60 to >.99) answers"
    }
    assert flags_of(careful) == {}
    Label.objects.update(app_version=IMPORTED_APP_VERSION)
    assert flags_of(judge) == {}


def test_the_chance_of_one_order_holds_by_simulation():
    """12 of 20 answers from 3 equal outcomes, counted in 20,000 simulated annotators; never below the truth."""
    drawn = np.random.default_rng(1).multinomial(20, [1 / 3] * 3, size=20_000)
    share = (drawn.max(axis=1) >= 12).mean()
    assert share - 0.004 <= chance_of_any(12, 20, 3) <= share + 0.006
    assert chance_of_any(4, 4, 24) == pytest.approx(24**-3)
    assert chance_of_any(5, 5, 1) == 1
