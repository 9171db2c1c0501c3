"""Sets with a right answer: by a table, one on a page, for every task."""

from urllib.parse import urlencode

import pytest
from django.urls import reverse

from annotate.core import errors
from annotate.items.actions import delete_item
from annotate.labelling import assignment, special_tasks
from annotate.labelling.actions import Answer, record_label
from annotate.models import GoldSet, Item, Label
from annotate.quality.gold.actions import add_gold_sets
from annotate.quality.gold.table import parse_table
from tests.conftest import NOW, make_annotator
from tests.site.gold_sets import answer_all
from tests.site.labelling.test_eligibility import set_up
from tests.site.pages import page, signed_in
from tests.site.task_types import set_task


@pytest.fixture
def otter(project):
    return make_annotator(project, "Quiet Otter")


@pytest.mark.parametrize(
    ("task", "answer", "right", "wrong"),
    [
        (("pair", 2, None), "item-1", Answer("choice", 1), Answer("choice", 0)),
        (("graded", 2, None), "item-1", Answer("choice", 1, grade="slightly"), Answer("choice", 0, grade="clearly")),
        (("pair", 2, None), "tie", Answer("tie"), Answer("choice", 1)),
        (("best", 3, None), "item-2", Answer("choice", 2), Answer("skip")),
        (
            ("best_worst", 3, None),
            "item-2 > item-0",
            Answer("best_worst", order=(2, 0)),
            Answer("best_worst", order=(2, 1)),
        ),
        (
            ("ranking", 3, None),
            "item-1>item-0>item-2",
            Answer("ranking", order=(1, 0, 2)),
            Answer("ranking", order=(1, 2, 0)),
        ),
        (("top", 3, 2), "item-1 > item-0", Answer("top", order=(1, 0)), Answer("top", order=(0, 1))),
    ],
)
def test_every_task_has_right_answers(project, otter, alice, task, answer, right, wrong):
    set_task(project, *task)
    keys = dict(project.items.values_list("key", "pk"))
    names = [f"item-{n}" for n in range(project.k)]
    text = ",".join(["purpose", *(f"item_{n + 1}" for n in range(project.k)), "answer"])
    rows, problems = parse_table(project, f"{text}\n" + ",".join(["Gold", *names, answer]), keys)
    assert not problems
    add_gold_sets(project=project, actor=alice, rows=rows, only_for_checks=False, now=NOW)
    for given, expected in ((right, True), (wrong, False)):
        annotator = make_annotator(project, f"Crowd {expected}")
        special = special_tasks.next_gold(annotator, "gold")
        shown = assignment.create_presentation(
            annotator, special.item_set_id, [keys[name] for name in names], NOW, special=special
        )
        label = record_label(presentation=shown, answer=given, now=NOW)
        assert special_tasks.correctness(Label.objects.filter(pk=label.pk)) == {label.pk: expected}


def test_a_table_is_taken_whole_or_told_row_by_row(project, alice):
    client, url = signed_in(alice), reverse("known-sets", args=[project.pk])
    head = "purpose;item_1;item_2;answer;why\n"
    rows = [
        "gold;item-0;item-1;item-0;",
        "silver;item-0;item-1;item-0;",
        "gold;item-0;nowhere;item-0;",
        "gold;item-2;item-2;item-2;",
        "gold;item-2;item-3;item-4;",
        "gold;item-1;item-0;item-1;",
        "gold;item-2;item-3;item-2 > item-3;",
    ]
    refused = client.post(url, {"table": head + "\n".join(rows)})
    assert refused.status_code == 400
    told = " ".join(refused.content.decode().split())
    for text in (
        "6 rows are wrong, so nothing was added",
        'Row 3.</strong> <span class="break-anywhere">The purpose “silver” is unknown',
        "no item with the key “nowhere”",
        "An item is named twice",
        "The answer “item-4” is neither an item of the set",
        "Line 2 already has the same set",
        "names 2 items; this task needs 1",
    ):
        assert text in told
    assert not GoldSet.objects.exists()
    for bad, words in (("", "The table is empty"), ("a;b\n1;2", "Missing: purpose"), ('x;"y', "never closed")):
        assert words in client.post(url, {"table": bad}).content.decode()
    context = project.contexts.create(body="About zoos", digest="0" * 64)
    project.items.filter(key="item-5").update(context=context)
    apart = client.post(url, {"table": head + "gold;item-4;item-5;item-4;"}).content.decode()
    assert "different contexts" in apart
    good = head + "gold;item-0;item-1;item-0;\nattention;item-2;item-3;tie;Read it.\n"
    assert client.post(url, {"table": good, "only_for_checks": "on"}).status_code == 302
    assert project.items.filter(retired_at=None).count() == 2
    shown = page(client, project, "known-sets")
    assert "1 gold questions, 1 attention checks" in shown
    client.post(url, {"table": "purpose,item_1,item_2,answer\ngold,item-0,item-1,item-1"})
    gold = GoldSet.objects.get(purpose="gold")
    assert gold.named == [project.items.get(key="item-1").pk], "a new right answer takes the place of the old"
    client.post(reverse("known-set-remove", args=[project.pk, gold.pk]))
    assert not GoldSet.objects.filter(purpose="gold").exists()
    item = project.items.get(key="item-2")
    with pytest.raises(errors.UserError, match="right answer"):
        delete_item(item=item, actor=alice, now=NOW)


def test_a_set_is_made_of_chosen_items_changed_and_keeps_its_past(project, alice, otter):
    client = signed_in(alice)
    new, items = (reverse(name, args=[project.pk]) for name in ("known-set-new", "items"))
    one, two, *_ = project.items.order_by("pk")
    assert '<button class="button" name="action" value="right-answer">' in client.get(items).content.decode()
    led = client.post(items, {"action": "right-answer", "items": [one.pk, two.pk]})
    assert led.url == f"{new}?item={one.pk}&item={two.pk}"
    form = " ".join(client.get(led.url).content.decode().split())
    assert 'value="item-0"' in form
    assert one.title in form
    assert "You chose 1 items; a set of this project has 2." in client.get(f"{new}?item={one.pk}").content.decode()
    given = {"purpose": "practice", "item_1": "item-0", "item_2": "item-1", "answer": "2", "why": "B says why."}
    for wrong, words in (
        ({"item_2": "nowhere"}, "no item with the key “nowhere”"),
        ({"item_2": "item-0"}, "An item is named twice"),
        ({"answer": "9"}, "Select a valid choice"),
    ):
        refused = client.post(new, {**given, **wrong})
        assert refused.status_code == 400
        assert words in refused.content.decode()
    assert not GoldSet.objects.exists()
    assert client.post(new, given).status_code == 302
    known = GoldSet.objects.get()
    assert (known.purpose, known.outcome, known.named, known.why) == ("practice", "choice", [two.pk], "B says why.")

    change = reverse("known-set-change", args=[project.pk, known.pk])
    assert change in page(client, project, "known-sets")
    assert '<option value="2" selected>' in client.get(change).content.decode()
    client.post(change, {**given, "why": "Better said."})
    assert GoldSet.objects.get().pk == known.pk
    set_up(project, practice_pass=1)
    answer_all(otter, 1, chosen=0)
    client.post(change, {**given, "answer": "tie"})
    old, now = GoldSet.objects.order_by("pk")
    assert (old.pk, old.retired_at is None, old.named) == (known.pk, False, [two.pk])
    assert (now.outcome, now.named, now.retired_at) == ("tie", [], None)
    assert client.get(change).status_code == 404


@pytest.mark.parametrize(
    ("task", "places", "named"),
    [
        (("ranking", 3, None), ["2", "1", "3"], [1, 0, 2]),
        (("top", 3, 2), ["", "2", "1"], [2, 1]),
        (("best_worst", 3, None), ["2", "", "1"], [2, 0]),
    ],
)
def test_a_set_in_order_is_given_by_places(project, alice, task, places, named):
    set_task(project, *task)
    client, new = signed_in(alice), reverse("known-set-new", args=[project.pk])
    items = list(project.items.order_by("pk")[:3])
    given = {"purpose": "gold", "answer": "order", "only_for_checks": "on"}
    given |= {f"item_{n}": item.key for n, item in enumerate(items, 1)}
    assert "The answer names 0 items" in client.post(new, given).content.decode()
    twice = {**given, "place_1": "1", "place_2": "1"}
    assert "the same place" in client.post(new, twice).content.decode()
    assert client.post(new, {**given, **{f"place_{n}": place for n, place in enumerate(places, 1)}}).status_code == 302
    known = GoldSet.objects.get()
    assert known.named == [items[place].pk for place in named]
    assert not Item.objects.filter(pk__in=[item.pk for item in items], retired_at=None).exists()
    shown = client.get(reverse("known-set-change", args=[project.pk, known.pk])).content.decode()
    for place in filter(None, places):
        assert f'<option value="{place}" selected>' in shown


def test_items_are_told_as_text_beside_the_fields_that_name_them(project, alice):
    Item.objects.filter(project=project).update(body='<b id="bold">Hello</b> & <form action="https://evil.example/">')
    items = [("item", pk) for pk in project.items.values_list("pk", flat=True)[:2]]
    page = signed_in(alice).get(f"{reverse('known-set-new', args=[project.pk])}?{urlencode(items)}").content.decode()
    offered = project.items.count()  # each is offered by its key and its first words
    assert page.count("&lt;b id=&quot;bold&quot;&gt;Hello") == 2 + offered
    assert "<b id=" not in page
    assert "evil.example/&quot;" in page
