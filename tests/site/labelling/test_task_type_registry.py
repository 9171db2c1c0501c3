"""The registry of task types: complete, consistent with the database, and the only place that tells them apart."""

import re

import pytest
from django.template.loader import get_template

from annotate.fitting.comparisons import LAYOUTS
from annotate.labelling.task_types.registry import BY_OUTCOME, TASK_TYPES, ordered_task_type
from annotate.models import ORDERED, Label, Project
from annotate.publishing.exports.comparisons import BY_NAME
from tests.paths import ROOT

NAMES = "PAIR|GRADED|BEST|BEST_WORST|RANKING|TOP"
NAMED_IN_CODE = re.compile(rf"(?:TaskType|Task)\.(?:{NAMES})\b|Outcome\.(?:BEST_WORST|RANKING|TOP)\b")
NAMED_IN_PAGES = re.compile(
    r"""task[._](?:type|layout|asked)\b[^%}]*[=!]=|\[value="(?:pair|graded|best|best_worst|top)"\]"""
)
# Places outside the registry that may name a task type: the schema, what a start or the demo begins with, the form's
# first choice and a hint at another, and the page of a task when nothing is asked.
ALLOWED = {
    "annotate/models/projects.py": 1,
    "annotate/projects/setup/presets.py": 9,
    "annotate/projects/setup/estimates.py": 1,
    "annotate/demo/jury.py": 1,
    "annotate/demo/projects.py": 1,
    "annotate/projects/forms.py": 2,
    "annotate/labelling/queries.py": 1,
    "annotate/fitting/best_worst_counts.py": 1,
    "annotate/publishing/methods/queries.py": 1,
}


def test_there_is_one_row_for_each_task_type_of_the_schema():
    assert set(TASK_TYPES) == set(Project.TaskType.values)
    assert {name: task_type.name for name, task_type in TASK_TYPES.items()} == {name: name for name in TASK_TYPES}


def test_ordered_outcomes_are_those_that_the_schema_gives_ranks():
    assert {outcome for outcome in Label.Outcome.values if ordered_task_type(outcome)} == set(ORDERED)


@pytest.mark.parametrize("name", TASK_TYPES)
def test_what_a_task_type_refers_to_is_there(name):
    task_type = TASK_TYPES[name]
    assert task_type.engine_layout in LAYOUTS
    assert set(task_type.export_columns) <= set(BY_NAME)
    for template in (
        task_type.options_template,
        task_type.item_template,
        task_type.bar_template,
        task_type.key_help_template,
    ):
        assert not template or get_template(template)


@pytest.mark.parametrize("outcome", sorted(ORDERED))
@pytest.mark.parametrize("k", [3, 5, 10])
def test_ranks_are_decoded_to_the_order_that_was_encoded(outcome, k):
    task_type = BY_OUTCOME[outcome]
    named = {"best_worst": 2, "ranking": k, "top": 2}[outcome]
    order = [*range(k)][::-1][:named]
    ranks = task_type.encode_ranks(order, k)
    assert len(ranks) == k
    assert task_type.decode_ranks(ranks) == order


def test_an_order_is_answered_as_the_exported_answer_says():
    """From people's orders to answers (imports) and from answers to exports: the same items are named."""
    project = Project(k=4, m=2)
    groups = [["d"], ["b"], ["c"], ["a"]]
    expected = {
        "pair": ["d"],
        "graded": ["d"],
        "best": ["d"],
        "best_worst": ["d", "a"],
        "ranking": ["d", "b", "c", "a"],
        "top": ["d", "b"],
    }
    for name, task_type in TASK_TYPES.items():
        named = task_type.answer_from_order(groups, project)
        assert named == expected[name]
        assert [item for cell in task_type.exported(groups, project) for item in cell] == named


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("best", [["a", "b"], ["c"]]),  # the best two are tied
        ("best_worst", [["a"], ["b", "c"]]),  # the worst is not told apart
        ("best_worst", [["a"]]),
        ("ranking", [["a"], ["b", "c"]]),
        ("top", [["a"], ["b"]]),  # nothing is left behind
        ("top", [["a"], ["b", "c"], ["d"]]),  # the second place is tied
    ],
)
def test_an_order_that_does_not_say_the_answer_gives_none(name, groups):
    assert TASK_TYPES[name].answer_from_order(groups, Project(k=4, m=2)) is None


def test_no_other_place_tells_task_types_apart():
    found = {}
    for path in [
        *(ROOT / "annotate").rglob("*.py"),
        *(ROOT / "templates").rglob("*.html"),
        *(ROOT / "static").rglob("*"),
    ]:
        own = path.relative_to(ROOT).as_posix()
        if path.suffix not in (".py", ".html", ".css", ".js") or re.search("labelling/task_types/|/migrations/", own):
            continue
        pattern = NAMED_IN_CODE if path.suffix == ".py" else NAMED_IN_PAGES
        if n := len(pattern.findall(path.read_text())):
            found[own] = n
    assert found == ALLOWED
