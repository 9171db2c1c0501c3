"""Importing comparisons made elsewhere: what they become, what is refused and why, and never twice."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from annotate.imports.comparisons import actions as module
from annotate.imports.comparisons.actions import Comparison, ImportedBefore, import_comparisons
from annotate.labelling.actions import Answer, record_label
from annotate.labelling.assignment import next_presentation
from annotate.models import Annotator, Event, FitState, Item, ItemSet, Label, Presentation, PresentedItem
from tests.conftest import NOW, answer_one, make_annotator

LONG_AGO = datetime(2016, 1, 31, 16, 59, 52, tzinfo=UTC)


@pytest.fixture
def load(project, alice):
    def load(*rows, **values):
        comparisons = [
            Comparison(number, who, (left, right), *rest)
            for number, (who, left, right, *rest) in enumerate(rows, start=1)
        ]
        values = {"source": "answers.csv", "now": NOW, "rng": random.Random(0)} | values
        return import_comparisons(project=project, actor=alice, comparisons=comparisons, **values)

    return load


def test_it_works(project, load):
    report = load(
        ("worker 1", "item-0", "item-1", "left", LONG_AGO, 1500),
        ("worker 1", "item-2", "item-1", "right"),
        ("worker 2", "item-0", "item-1", "tie"),
    )
    assert (report.n_rows, report.n_labels, report.n_annotators, report.refused) == (3, 3, 2, [])
    first, second, third = Label.objects.order_by("pk")
    assert [label.annotator.pseudonym for label in (first, second, third)] == ["worker 1", "worker 1", "worker 2"]
    assert {label.annotator.source for label in (first, second, third)} == {"import"}
    assert (first.outcome, first.chosen.key, first.created_at, first.response_ms) == (
        "choice",
        "item-0",
        LONG_AGO,
        1500,
    )
    assert (second.outcome, second.chosen.key, second.created_at) == ("choice", "item-1", NOW)
    assert (third.outcome, third.chosen) == ("tie", None)
    shown = [[row.item.key for row in label.presentation.presented.all()] for label in (first, second, third)]
    assert shown == [["item-0", "item-1"], ["item-2", "item-1"], ["item-0", "item-1"]]
    assert set(Presentation.objects.values_list("state", flat=True)) == {"answered"}


def test_counts_are_as_if_the_answers_had_been_given_here(project, load):
    """The same answers, once by hand and once imported, leave the same numbers behind."""
    otter = make_annotator(project, "Otter")
    for _ in range(4):
        answer_one(otter)
    given = [
        ("worker", *(row.item.key for row in label.presentation.presented.all()), "left")
        for label in Label.objects.order_by("pk")
    ]
    by_hand = counts(project)
    load(*given)
    assert counts(project) == {name: [2 * n for n in numbers] for name, numbers in by_hand.items()}
    assert FitState.objects.get(project=project).wanted == 8


def counts(project) -> dict[str, list[int]]:
    return {
        "items": list(Item.objects.order_by("pk").values_list("n_taken", flat=True)),
        "sets": list(ItemSet.objects.order_by("key").values_list("n_taken", flat=True)),
    }


def test_counts_match_the_rows(project, load):
    rng = random.Random(3)
    rows = [(f"worker {rng.randrange(5)}", *(f"item-{i}" for i in rng.sample(range(6), 2)), "left") for _ in range(80)]
    load(*rows)
    for item in Item.objects.all():
        assert item.n_taken == PresentedItem.objects.filter(item=item).count()
    for item_set in ItemSet.objects.all():
        assert item_set.n_taken == item_set.presentations.count()


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("w", "item-0", "item-0", "left"), "itself"),
        (("w", "item-0", "item-99", "left"), "item-99"),
        (("w", "item-0", "item-1", "middle"), "middle"),
        (("w", "item-0", "item-1", "choice"), "choice"),
        (("", "item-0", "item-1", "left"), "0 characters"),
        (("w" * 101, "item-0", "item-1", "left"), "101 characters"),
        (("Otter", "item-0", "item-1", "left"), "in person"),
    ],
)
def test_a_row_that_cannot_be_a_label_is_reported_and_the_others_go_in(project, load, row, words):
    make_annotator(project, "Otter")
    report = load(("w", "item-0", "item-1", "left"), row, ("w", "item-1", "item-2", "left"))
    assert (report.n_rows, report.n_labels) == (3, 2)
    assert [refused.row for refused in report.refused] == [2]
    assert words in report.refused[0].reason
    assert Label.objects.count() == 2
    details = Event.objects.get(verb="comparisons imported").details
    assert (details["rows"], details["labels"], details["refused"]) == (3, 2, 1)
    assert details["refusals"] == [[2, report.refused[0].reason]]


def test_the_same_annotator_may_have_judged_a_pair_again(project, load):
    load(*[("w", "item-0", "item-1", "left")] * 2, ("w", "item-1", "item-0", "left"), ("v", "item-0", "item-1", "tie"))
    numbers = Presentation.objects.filter(annotator__pseudonym="w").order_by("pk").values_list("repeat", flat=True)
    assert list(numbers) == [0, 1, 2]
    load(("w", "item-0", "item-1", "left"), ("u", "item-0", "item-1", "left"))
    assert Presentation.objects.filter(annotator__pseudonym="w").latest("pk").repeat == 3
    assert Annotator.objects.filter(pseudonym="w").count() == 1


def test_overlap_rises_to_the_most_annotators_of_a_pair(project, load):
    """Repeats by one annotator are not more annotators."""
    load(*[(f"w{number}", "item-0", "item-1", "left") for number in (1, 2, 3, 3, 3, 4)])
    project.refresh_from_db()
    assert project.overlap == 4
    load(("w1", "item-2", "item-3", "left"))
    project.refresh_from_db()
    assert project.overlap == 4


def test_people_go_on_where_the_import_ended(project, load):
    project.overlap = 1
    project.save()
    pairs = [(a, b) for a in range(6) for b in range(a)]
    load(*[("w", f"item-{a}", f"item-{b}", "left") for a, b in pairs[:-1]])
    otter = make_annotator(project, "Otter")
    shown = next_presentation(annotator=otter, now=NOW, rng=random.Random(0))
    assert {row.item.key for row in shown.presented.all()} == {f"item-{place}" for place in pairs[-1]}
    record_label(presentation=shown, answer=Answer("choice", chosen=0), now=NOW)
    assert Label.objects.count() == 15


def test_the_same_rows_are_imported_once(project, load):
    rows = [("w", "item-0", "item-1", "left"), ("w", "item-1", "item-1", "left")]
    load(*rows)
    with pytest.raises(ImportedBefore, match="2 comparisons"):
        load(*rows)
    assert Label.objects.count() == 1


def test_an_import_that_was_cut_off_goes_on_where_it_stopped(project, load, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 10)
    rng = random.Random(1)
    rows = [(f"w{i % 3}", *(f"item-{j}" for j in rng.sample(range(6), 2)), "left") for i in range(35)]
    rows[12] = ("w", "item-1", "item-1", "left")

    def cut(done, of):
        if done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(*rows, progress=cut)
    assert Label.objects.count() == 20
    heard = []
    report = load(*rows, progress=lambda done, of: heard.append((done, of)))
    assert heard[-1] == (34, 34)
    assert (report.n_labels, len(report.refused)) == (34, 1)
    assert Label.objects.count() == 34
    assert FitState.objects.get(project=project).wanted == 34
    chosen = [label.chosen.key for label in Label.objects.order_by("pk")]
    assert chosen == [row[1] for place, row in enumerate(rows) if place != 12]
    for item_set in ItemSet.objects.all():
        assert item_set.n_taken == item_set.presentations.count()


def test_a_chunk_is_written_whole_or_not_at_all(project, load, monkeypatch):
    def fail(*args):
        raise RuntimeError("power cut")

    monkeypatch.setattr("annotate.imports.comparisons.rows.add_counts", fail)
    with pytest.raises(RuntimeError):
        load(("w", "item-0", "item-1", "left"))
    assert not Label.objects.exists()
    assert not Presentation.objects.exists()
    assert not ItemSet.objects.exists()


def test_the_number_of_queries_does_not_grow_with_the_rows(project, load, django_assert_max_num_queries):
    rng = random.Random(2)
    pairs = [(f"item-{a}", f"item-{b}", "left") for a in range(6) for b in range(a)]
    rows = [(f"w{i}", *rng.choice(pairs)) for i in range(400)]
    with django_assert_max_num_queries(70):
        load(*rows)
    assert Label.objects.filter(created_at__lt=NOW + timedelta(seconds=1)).count() == 400


def test_the_owner_is_told_what_was_refused_and_why(client, project, alice, load):
    load(("w", "item-0", "item-1", "left"), *[("worker 83", "item-2", "item-2", "left")] * 7)
    client.force_login(alice)
    page = client.get(f"/projects/{project.pk}/manage/").content.decode()
    assert "imported 1 label (answers.csv, rows: 8); 7 rows were refused: row 2: worker 83 compares" in page
    assert "row 6:" in page
    assert "row 7:" not in page
