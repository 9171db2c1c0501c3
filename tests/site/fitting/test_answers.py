"""Answers read column by column say what their rows do, one by one."""

from datetime import timedelta

import numpy as np
import pytest

from annotate.criteria import Criterion
from annotate.fitting.answers import GRADES, KINDS, RULES, Answers, read_answers
from annotate.labelling.outcomes import INFORMATIVE
from annotate.labelling.undo import undo_label
from annotate.models import Annotator, CriterionAnswer, Label, Presentation, Project
from tests.conftest import NOW, make_annotator
from tests.site.factories import make_labels
from tests.site.labelling.test_mixed_tasks import BEST_WORST, TOP, WEAK, answer, change
from tests.site.labelling.test_task_types import make_items_more
from tests.site.task_types import set_task


def one_by_one(project: Project, criterion: int = 1) -> list[tuple]:
    """What each label that counts says, asked of its row: items shown, annotator, chosen, ranks, grade, rule, kind."""
    found = []
    labels = Label.objects.filter(project=project, voided_at=None).order_by("pk").select_related("presentation")
    for label in labels.prefetch_related("presentation__presented", "further"):
        said = label if criterion == 1 else {one.criterion: one for one in label.further.all()}.get(criterion)
        if said is None or said.outcome not in INFORMATIVE:
            continue
        items = [one.item_id for one in sorted(label.presentation.presented.all(), key=lambda one: one.position)]
        numbers = (said.chosen_id or 0, int(said.ranks or 0), GRADES.get(said.grade, 0))
        found.append((items, label.annotator_id, *numbers, RULES.get(label.presentation.asked_by, 0), said.outcome))
    return found


def rows_of(answers: Answers) -> list[tuple]:
    items = [part.tolist() for part in np.split(answers.items, answers.starts[1:])] if len(answers) else []
    others = (answers.annotators, answers.chosen, answers.ranks, answers.grades, answers.rules)
    return list(zip(items, *(column.tolist() for column in others), strict=True))


@pytest.fixture
def people(project) -> list[Annotator]:
    return [make_annotator(project, name) for name in ("Otter", "Heron")]


def test_answers_to_several_kinds_of_task(project, people):
    make_items_more(project, 8)
    set_task(project, "graded", 2, overlap=9)
    mixed = change(project, further_tasks=[BEST_WORST, TOP, WEAK])
    for n in range(24):
        answer(people[n % 2], n)
    undo_label(annotator=people[1], now=NOW)
    expected = one_by_one(mixed)
    assert len({len(items) for items, *_ in expected}) > 2
    assert {grade for _, _, _, _, grade, _, _ in expected} > {0}
    found = read_answers(Criterion(mixed))
    assert rows_of(found) == [one[:-1] for one in expected]
    assert found.kinds.tolist() == [KINDS[outcome] for *_, outcome in expected]
    kept = np.arange(len(found)) % 3 == 0
    assert rows_of(found.select(kept)) == [one[:-1] for one in expected[::3]]
    both = Answers.concatenate([found.select(kept), found])
    assert rows_of(both) == [one[:-1] for one in expected[::3] + expected]


def test_more_answers_than_are_turned_at_a_time_in_one_query(project, people, django_assert_num_queries):
    make_labels(project, people, 520, every=timedelta(seconds=1))
    labels = Label.objects.filter(project=project).order_by("pk")
    keys = list(labels.values_list("pk", flat=True))
    Label.objects.filter(pk__in=keys[3::7]).update(outcome="tie", chosen=None)
    Label.objects.filter(pk__in=keys[4::7]).update(outcome="skip", chosen=None)
    asked = list(Presentation.objects.filter(project=project).order_by("pk").values_list("pk", flat=True))
    for rule, start in (("control", 0), ("adaptive", 1), ("balanced", 2)):
        Presentation.objects.filter(pk__in=asked[start::5]).update(asked_by=rule)
    expected = [one[:-1] for one in one_by_one(project)]
    with django_assert_num_queries(1):
        found = read_answers(Criterion(project))
    assert rows_of(found) == expected
    assert set(found.rules.tolist()) == {0, 1, 2}

    counted = list(labels.filter(outcome__in=INFORMATIVE).values_list("pk", flat=True))
    between = read_answers(Criterion(project), after=counted[9], up_to=counted[29])
    assert rows_of(between) == expected[10:30]
    item = expected[0][0][1]
    assert rows_of(read_answers(Criterion(project), about=[item])) == [one for one in expected if item in one[0]]
    assert len(read_answers(Criterion(project), about=[])) == 0


def test_answers_by_a_criterion_after_the_first(project, people):
    project.criteria = [
        {"name": "A", "question": "A?"},
        {"name": "B", "question": "B?"},
        {"name": "C", "question": "C?"},
    ]
    project.save()
    for n, label in enumerate(make_labels(project, people, 12)):
        first, second = label.presentation.presented.order_by("position").values_list("item_id", flat=True)
        for number, chosen in ((2, second if n % 4 else None), (3, first)):
            outcome = "choice" if chosen else "skip"
            CriterionAnswer.objects.create(label=label, criterion=number, outcome=outcome, chosen_id=chosen)
    for number in (1, 2, 3):
        found = read_answers(Criterion(project, number))
        assert rows_of(found) == [one[:-1] for one in one_by_one(project, number)]
    assert len(read_answers(Criterion(project, 2))) == 9
