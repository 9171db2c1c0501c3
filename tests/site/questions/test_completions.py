"""Rows with a list of completions: items with competitors, a question of each set, votes by the scores."""

import csv
import io
import json

import pytest

from annotate.files.limits import Unusable
from annotate.imports.questions.columns import guess
from annotate.imports.questions.completions import completions_in, groups_by_score
from annotate.models import Project
from tests.site.questions.test_import import asked, brought  # noqa: F401 (a fixture)
from tests.site.task_types import set_task

ROWS = [
    {
        "source": "flan",
        "instruction": "Name a bird.",
        "completions": [
            {"model": "Tern", "response": "A tern.", "overall_score": 8.5, "annotations": {"help": {"Rating": "4"}}},
            {"model": "Gull", "response": "A stone.", "overall_score": 2},
            {"model": "Auk", "response": "An auk.", "overall_score": "8.5"},
            {"model": "Rail", "response": "Who knows?", "overall_score": "N/A"},
        ],
    },
    {
        "source": "flan",
        "instruction": "Name a fish.",
        "completions": [
            {"model": "Tern", "response": "A cod.", "fine-grained_score": 4.5},
            {"model": "Gull", "response": "A tern.", "fine-grained_score": 1.0},
        ],
    },
]


def lines(*rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def said(project) -> set[tuple[str, str, str]]:
    """(better, worse or tied) of each vote by who made the answers."""
    found = set()
    for label in project.labels.all():
        makers = list(
            label.presentation.presented.order_by("item__competitor").values_list("item__competitor", flat=True)
        )
        found.add((*makers, label.chosen.competitor if label.chosen else label.outcome))
    return found


def test_each_pair_of_completions_is_asked_and_scores_are_votes(project, brought):  # noqa: F811
    set_task(project, "pair", 2)
    project.items.all().delete()
    job = brought(lines(*ROWS), "some.jsonl", someone="a scorer")
    assert (job.state, job.n_bad) == ("done", 0)
    items = project.items.values_list("competitor", "body", "context__body")
    assert len(items) == 6
    assert ("Auk", "An auk.", "Name a bird.") in set(items)
    assert len(asked(project)) == 6 + 1
    assert said(project) == {
        ("Gull", "Tern", "Tern"),
        ("Auk", "Tern", "tie"),
        ("Auk", "Gull", "Auk"),
    }
    assert project.labels.count() == 4  # none with the completion that has no score
    assert set(project.labels.values_list("annotator__pseudonym", flat=True)) == {"a scorer"}


def test_the_owner_says_which_field_is_the_score(project, brought):  # noqa: F811
    project.items.all().delete()
    row = {
        "prompt": "Name a fish.",
        "completions": [
            {"model": "Tern", "text": "A cod.", "score": 1, "kindness": 5},
            {"model": "Gull", "text": "A ray.", "score": 9, "kindness": 2},
        ],
    }
    brought(lines(row), "some.jsonl", score="kindness")
    assert said(project) == {("Gull", "Tern", "Tern")}


@pytest.mark.parametrize(
    ("task", "n_questions", "outcomes"),
    [
        (("best", 3, None), 4, {("choice",)}),
        (("best_worst", 3, None), 4, {("best_worst",)}),
        (("ranking", 4, None), 1, {("ranking",)}),
    ],
)
def test_larger_sets_take_the_answer_that_the_scores_give(project, brought, task, n_questions, outcomes):  # noqa: F811
    set_task(project, *task)
    project.items.all().delete()
    row = {
        "prompt": "Name a bird.",
        "completions": [
            {"model": name, "response": f"A {name}.", "score": score}
            for score, name in enumerate(["auk", "gull", "rail", "tern"])
        ],
    }
    assert brought(lines(row), "some.jsonl").n_bad == 0
    assert len(asked(project)) == n_questions
    assert set(project.labels.values_list("outcome")) == outcomes
    assert project.labels.count() == n_questions


def test_equal_scores_share_a_place_only_where_the_task_says_so(project, brought):  # noqa: F811
    row = {
        "prompt": "Name a bird.",
        "completions": [
            {"model": name, "response": f"A {name}.", "score": score}
            for name, score in (("auk", 1), ("gull", 1), ("tern", 3))
        ],
    }
    set_task(project, "ranking", 3)
    project.items.all().delete()
    brought(lines(row), "some.jsonl")
    assert project.labels.count() == 0
    Project.objects.filter(pk=project.pk).update(shared_places=True)
    project.refresh_from_db()
    brought(lines({**row, "prompt": "Another?"}), "other.jsonl")
    assert sorted(project.labels.get().ranks) == ["0", "1", "1"]


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("Tern: A tern.", "is no list of completions"),
        ("[1, 2]", "is no list of completions"),
        ("[" * 100_000, "is no list of completions"),
        ('[{"response": "alone"}]', "has 1 completions; give 2 to 50"),
        ('[{"response": "a"}, {"model": "Gull"}]', "Completion 2 has no text"),
        ('[{"response": "a"}, {"response": {"deep": 1}}]', "Completion 2 has no text"),
    ],
)
def test_what_can_not_be_read_is_told(cell, words):
    with pytest.raises(Unusable, match=words):
        completions_in(cell)


def test_a_row_with_too_few_or_too_many_completions_is_refused(project, brought):  # noqa: F811
    set_task(project, "best", 3)
    few = {"prompt": "Name a fish.", "completions": [{"response": "A cod."}, {"response": "A ray."}]}
    many = {"prompt": "Count.", "completions": [{"response": str(n)} for n in range(20)]}
    job = brought(lines(few, many), "some.jsonl")
    assert job.n_bad == 2
    assert project.item_sets.filter(number__isnull=False).count() == 0


def test_scores_that_are_no_numbers_are_none():
    cell = json.dumps([{"text": "a", "score": value} for value in ("NaN", "1e999", True, [3], "3", -2.5)])
    found = completions_in(cell)
    assert [one.score for one in found] == [None, None, None, None, 3.0, -2.5]
    assert groups_by_score([4, 5], found) == [[4], [5]]
    assert groups_by_score([0, 4], found) is None


def test_columns_are_guessed():
    assert guess(["source", "instruction", "models", "completions"]).format == "completions"
    assert guess(["item_1", "item_2", "completions"]).format == "keys"


def parallel(rows) -> list[dict]:
    """The same rows with texts, models and ratings as lists of their own."""
    return [
        {
            "instruction": row["instruction"],
            "responses": [one["response"] for one in row["completions"]],
            "models": [one["model"] for one in row["completions"]],
            "ratings": [one.get("overall_score", one.get("fine-grained_score")) for one in row["completions"]],
        }
        for row in rows
    ]


def as_csv(rows) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    for row in rows:
        writer.writerow({name: json.dumps(v) if isinstance(v, list) else v for name, v in row.items()})
    return text.getvalue()


def stored(project) -> tuple:
    items = sorted(project.items.values_list("key", "competitor", "body", "context__body"))
    return items, sorted(sorted(keys) for keys, _priority in asked(project)), said(project), project.labels.count()


@pytest.mark.parametrize(("write", "name"), [(lambda rows: lines(*rows), "some.jsonl"), (as_csv, "some.csv")])
def test_parallel_lists_give_what_a_list_of_objects_gives(project, brought, write, name):  # noqa: F811
    set_task(project, "pair", 2)
    project.items.all().delete()
    content = write(parallel(ROWS))
    assert guess(list(parallel(ROWS)[0])).format == "completions"
    job = brought(content, name, someone="a scorer")
    assert (job.state, job.n_bad) == ("done", 0)
    items, questions, votes, n_labels = stored(project)
    assert ("Auk", "An auk.", "Name a bird.") in {one[1:] for one in items}
    assert (len(items), len(questions), n_labels) == (6, 7, 4)
    assert votes == {("Gull", "Tern", "Tern"), ("Auk", "Tern", "tie"), ("Auk", "Gull", "Auk")}
    again = brought(lines(*ROWS), "objects.jsonl", someone="a second scorer")
    assert again.n_bad == 0
    assert again.mapping["merged"] == 7, "the same items and questions as from lists of objects"
    assert stored(project)[:2] == (items, questions)


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        ((["a", "b"], ["M"], ""), "2 completions and 1 models"),
        ((["a", "b"], "", "[1, 2, 3]"), "2 completions and 3 scores"),
        ((["a", "b"], "Tern, Gull", ""), "“Tern, Gull” is no list of models"),
        ((["a", "b"], ["M", "N"], '[{"deep": 1}, 2]'), "is no list of scores"),
        (('[{"response": "a"}, "b"]', "", ""), "is no list of completions"),
        (("[1, 2]", "", ""), "is no list of completions"),
    ],
)
def test_lists_that_do_not_fit_are_told(lists, words):
    texts, models, scores = lists
    with pytest.raises(Unusable, match=words):
        completions_in(texts, models=models, scores=scores)


def test_what_a_completion_says_itself_goes_before_a_list():
    cell = json.dumps([{"text": "a", "model": "Tern", "score": 1}, {"text": "b", "score": 2}])
    found = completions_in(cell, models=["Auk", "Gull"], scores="[9, 9]")
    assert [(one.model, one.score) for one in found] == [("Tern", 1.0), ("Gull", 2.0)]
    whole = json.dumps([{"text": "a", "model": "Tern"}, {"text": "b", "model": "Auk"}])
    assert [one.model for one in completions_in(whole, models=["other"])] == ["Tern", "Auk"], "a list nobody needs"
    half = completions_in(["a", "b"], models='["Tern", null]', scores="[null, 3]")
    assert [(one.model, one.score) for one in half] == [("Tern", None), ("", 3.0)]


def test_the_owner_chooses_the_columns_of_lists(project, brought):  # noqa: F811
    set_task(project, "pair", 2)
    rows = [{"q": "Name.", "what": ["A tern.", "A gull."], "who": ["Tern", "Gull"], "points": [2, 5]}]
    job = brought(
        lines(*rows), "some.jsonl", columns={"prompt": "q", "completions": "what", "models": "who", "scores": "points"}
    )
    assert (job.state, job.n_bad) == ("done", 0)
    assert said(project) == {("Gull", "Tern", "Gull")}
