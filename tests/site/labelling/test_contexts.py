"""Shared contexts: imported once, shown above the items, and only items of the same context are compared."""

import random
from collections import Counter
from itertools import combinations

import pytest
from django.urls import reverse

from annotate.core.errors import NothingToCompare
from annotate.items.actions import delete_item, import_items
from annotate.items.rows import NewItem
from annotate.labelling import choosing
from annotate.models import Context, Item, Project
from annotate.projects.actions import TooFewItems, change_project, delete_project, set_state
from annotate.publishing.exports import items as table
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.factories import make_fit
from tests.site.pages import page, signed_in
from tests.site.task_types import set_task

PROMPTS = ["Explain *rain*.", "<script>alert(1)</script>", "Why \u202ered?"]


def add(project, alice, rows, upload="upload"):
    return import_items(
        project=project, actor=alice, rows=rows, upload=upload, source="test", now=NOW, rng=random.Random(1)
    )


@pytest.fixture
def prompted(project, alice):
    """Three prompts with three, two and one answers."""
    project.items.all().delete()
    rows = [
        NewItem(n, f"{prompt}-{n}", f"Answer {n}", kind, context=PROMPTS[prompt])
        for n, (prompt, kind) in enumerate(
            [(0, "markdown"), (0, "text"), (0, "text"), (1, "text"), (1, "html"), (2, "text")]
        )
    ]
    add(project, alice, rows)
    return project


def shown(presentation) -> list[Item]:
    return list(presentation.items.select_related("context"))


def answer_all(annotator) -> None:
    for step in range(100):
        try:
            answer_one(annotator, seed=step)
        except NothingToCompare:
            return
    pytest.fail("there is always something left")


def test_a_text_named_often_is_one_context_written_as_the_first_row_says(prompted, alice):
    assert [(context.body, context.kind) for context in prompted.contexts.order_by("pk")] == [
        (PROMPTS[0], "markdown"),
        (PROMPTS[1], "text"),
        (PROMPTS[2], "text"),
    ]
    add(prompted, alice, [NewItem(1, "later", "Another answer", "text", context=PROMPTS[0])], "another")
    assert prompted.contexts.count() == 3
    columns = [column.name for column in table.COLUMNS]
    rows = [dict(zip(columns, row, strict=True)) for row in table.rows(prompted)]
    assert [(row["item"], row["kind"], row["context"]) for row in rows][3:5] == [
        ("1-3", "text", PROMPTS[1]),
        ("1-4", "html", PROMPTS[1]),
    ]


def test_every_pair_within_a_context_is_compared_to_its_overlap_and_no_other(prompted):
    for n in range(prompted.overlap + 1):
        annotator = make_annotator(prompted, f"Annotator {n}")
        answer_all(annotator)
    pairs = Counter(
        frozenset(item.key for item in shown(presentation)) for presentation in prompted.presentations.all()
    )
    items = list(prompted.items.all())
    same = {frozenset((a.key, b.key)) for a, b in combinations(items, 2) if a.context_id == b.context_id}
    assert pairs == dict.fromkeys(same, prompted.overlap)


def test_sets_come_in_the_order_of_their_least_compared_items():
    order = [(1, 7), (2, 8), (3, 7), (4, 8), (5, 7), (6, None), (9, None)]
    assert list(choosing.possible_sets(order, 2)) == [(1, 3), (1, 5), (2, 4), (3, 5), (6, 9)]
    assert list(choosing.possible_sets(order, 3)) == [(1, 3, 5)]
    plain = [(item, None) for item in range(6)]
    assert list(choosing.possible_sets(plain, 3)) == list(combinations(range(6), 3))


@pytest.mark.embedded
@pytest.mark.slow
def test_companions_are_found_behind_the_first_look(project, alice):
    project.items.all().delete()
    rows = [NewItem(n, f"{n}", f"{n}", "text", context=f"Prompt {n % 60}") for n in range(120)]
    add(project, alice, rows)
    annotator = make_annotator(project, "Quiet Otter")
    for step in range(60):
        answer_one(annotator, seed=step)
    assert set(project.items.values_list("n_taken", flat=True)) == {1}


def test_a_plan_of_sets_stays_within_contexts_and_gives_each_sets_as_it_has_items(project, alice):
    project.items.all().delete()
    sizes = {"big": 8, "small": 4, "alone": 1}
    rows = [
        NewItem(n, f"{name}-{n}", f"{n}", "text", context=name) for name, size in sizes.items() for n in range(size)
    ]
    add(project, alice, rows)
    change_project(project=project, actor=alice, values={"n_sets": 18}, now=NOW)
    names = dict(project.items.values_list("pk", "context__body"))
    planned = [key.split("-") for key in project.item_sets.order_by("place").values_list("key", flat=True)]
    contexts = [{names[int(item)] for item in members} for members in planned]
    assert all(len(names) == 1 for names in contexts)
    assert Counter(min(names) for names in contexts) == {"big": 12, "small": 6}
    assert Counter(min(names) for names in contexts[:6]) == {"big": 4, "small": 2}
    uses = Counter(item for members in planned for item in members)
    assert set(uses.values()) == {3}


def test_a_plain_project_is_asked_no_statement_for_them(project, django_assert_num_queries):
    annotator = make_annotator(project, "Quiet Otter")
    project.overlap = 1
    with django_assert_num_queries(2):
        choosing.least_compared_set(project, annotator)


def test_a_context_that_has_too_few_items_does_not_open_a_project(prompted, alice):
    Project.objects.filter(pk=prompted.pk).update(state="draft")
    prompted.items.filter(key__startswith="0-").update(retired_at=NOW)
    set_task(prompted, "ranking", 3)
    with pytest.raises(TooFewItems, match="has 2 items"):
        set_state(project=prompted, actor=alice, state="open", now=NOW)


def test_the_context_stands_above_the_items_as_it_is_written(client, prompted):
    client.post(reverse("join", args=[prompted.join_token]), {"pseudonym": "Quiet Otter"})
    seen = set()
    annotator = prompted.annotators.get()
    for step in range(4):
        response = client.get(reverse("label", args=[prompted.pk]))
        html = response.content.decode()
        context = response.context["task"].context
        assert {item.context_id for item in shown(annotator.presentations.get(state="open", ahead=False))} == {
            context.pk
        }
        expected = {PROMPTS[0]: "Explain <em>rain</em>.", PROMPTS[1]: "&lt;script&gt;alert(1)&lt;/script&gt;"}
        assert expected[context.body] in html
        seen.add(context.body)
        answer_one(annotator, seed=step)
        client.post(reverse("label", args=[prompted.pk]))
    assert seen == set(PROMPTS[:2])


def test_the_preview_compares_within_a_context_too(prompted, alice):
    owner = signed_in(alice)
    for n in range(4):
        task = owner.get(reverse("preview", args=[prompted.pk]) + f"?n={n}").context["task"]
        contexts = {Item.objects.get(pk=option.item_id).context_id for option in task.options}
        assert contexts == {task.context.pk}


def test_a_context_goes_with_its_last_item_and_with_its_project(prompted, alice):
    delete_item(item=prompted.items.get(key="2-5"), actor=alice, now=NOW)
    assert not prompted.contexts.filter(body=PROMPTS[2]).exists()
    delete_project(project=prompted)
    assert not Context.objects.exists()


def test_a_part_of_the_ranking_is_named_after_its_context(prompted, alice):
    items = [list(prompted.items.filter(key__startswith=f"{n}-")) for n in range(2)]
    make_fit(prompted, [[(item, -n / 2, 0.3, 5) for n, item in enumerate(part)] for part in items])
    html = page(signed_in(alice), prompted)
    assert "Part 1: <bdi>Explain rain.</bdi>" in html
    assert "Part 2: <bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>" in html
    assert "<bdi>Explain rain.</bdi>" in page(signed_in(alice), prompted, "items")
