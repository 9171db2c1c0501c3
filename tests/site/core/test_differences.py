"""Marking the words in which two texts differ: rebuilt from its runs, safe, bounded, told in words."""

import re

import pytest
from django.utils.html import strip_tags
from hypothesis import given
from hypothesis import strategies as st

from annotate.core.differences import MAX_WORDS, compare, mark_differences
from annotate.labelling.queries import current_task
from annotate.models import Item, Project
from tests.conftest import NOW, make_annotator
from tests.site.labelling.test_task_types import next_for
from tests.site.task_types import set_task

WORDS = st.lists(st.sampled_from(["one", "two", "three", "four,", "<b>", "&"]), max_size=12)


@pytest.mark.embedded
@given(WORDS, WORDS, st.sampled_from([" ", "\n", "  "]))
def test_runs_are_the_texts_and_what_is_not_marked_is_the_same_in_both(first, second, space):
    texts = space.join(first), space.join(second)
    found = compare(*texts)
    if found is None:
        return
    for text, runs in zip(texts, found, strict=True):
        assert "".join(run.text for run in runs) == text
    same = ["".join("".join(run.text.split()) for run in runs if not run.differs) for runs in found]
    assert same[0] == same[1]


def test_words_that_only_one_text_has_are_marked_and_told():
    first, second = mark_differences("The old cat sat.", "The young cat sat down.")
    assert re.findall(r"<mark[^>]*>(.*?)</mark>", first) == [
        '<span class="visually-hidden"> [differs: </span>old<span class="visually-hidden"> end] </span>'
    ]
    assert [strip_tags(one) for one in re.findall(r"<mark[^>]*>.*?</mark>", second)] == [
        " [differs: young end] ",
        " [differs: down end] ",
    ]
    assert strip_tags(first.replace("[differs:", "").replace("end]", "")).split() == ["The", "old", "cat", "sat."]


def test_texts_are_escaped():
    first, second = mark_differences("same <script>alert(1)</script> words here", "same <b> words here")
    assert "<script>" not in first
    assert "<b>" not in second
    assert "script&gt;alert(1)" in first


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a " * (MAX_WORDS + 1), "a b"),
        ("one two three four five six", "seven eight nine ten eleven twelve"),
        ("one two", ""),
    ],
)
def test_texts_too_long_or_with_little_in_common_stay_as_they_are(first, second):
    assert mark_differences(first, second) is None


def test_long_texts_are_compared_once(monkeypatch):
    first, second = "word " * 400 + "one", "word " * 400 + "two"
    before = mark_differences(first, second)
    monkeypatch.setattr("annotate.core.differences.compare", None)
    assert mark_differences(first, second) == before


@pytest.mark.parametrize(
    ("kind", "task", "marked"),
    [("text", ("pair", 2, None), True), ("markdown", ("pair", 2, None), False), ("text", ("best", 3, None), False)],
)
def test_only_two_plain_texts_are_marked_where_the_project_says_so(project, kind, task, marked):
    project.items.all().delete()
    for i in range(3):
        Item.objects.create(project=project, key=f"i{i}", kind=kind, body=f"A sentence with the number {i} in it")
    otter = make_annotator(set_task(project, *task), "Otter")
    next_for(otter)
    assert not any(option.marked for option in current_task(annotator=otter, now=NOW).options)
    Project.objects.update(marks_differences=True)
    otter.project.refresh_from_db()
    options = current_task(annotator=otter, now=NOW).options
    assert [bool(option.marked) for option in options] == [marked] * len(options)
