"""The further exports: pairs and matrix, DPO, PrefLib, fits, JSON, and the report to print."""

import csv
import io
import json
import random
import re
from collections import Counter

import pytest
from django.urls import reverse

from annotate.core.numbers import format_number
from annotate.core.stored_messages import store_message
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.models import Annotator, Context, Item, Label, Project
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.factories import make_fit, make_labels, spread_fit
from tests.site.pages import page, signed_in


@pytest.fixture
def owner(alice):
    return signed_in(alice)


@pytest.fixture
def crowd(project) -> list[Annotator]:
    return [make_annotator(project, f"Otter {i}") for i in range(3)]


def body(client, project: Project, table: str, file_format: str, **query) -> str:
    response = client.get(reverse("export", args=[project.pk, table, file_format]), query)
    assert response.status_code == 200
    return b"".join(response.streaming_content).decode()


def lines(client, project, table: str, **query) -> list[dict]:
    return [json.loads(line) for line in body(client, project, table, "jsonl", **query).splitlines()]


def with_ties(project: Project, crowd: list[Annotator]) -> None:
    make_labels(project, crowd, 40)
    make_labels(project, crowd, 4, outcome="tie", seed=1)
    make_labels(project, crowd, 3, outcome="both_bad", seed=2)
    make_labels(project, crowd, 3, outcome="skip", seed=3)
    make_labels(project, crowd, 5, seed=4, voided_at=NOW, void_reason="excluded")


def facts(project: Project) -> list[tuple]:
    """(shown keys, key chosen or None) of each label that counts, read one by one."""
    found = []
    for label in Label.objects.filter(project=project, voided_at=None).exclude(outcome__in=["skip", "cant_judge"]):
        shown = [one.item.key for one in label.presentation.presented.select_related("item")]
        found.append((shown, label.chosen.key if label.chosen else None))
    return found


def test_pairs_and_matrix_count_every_answer_once(owner, project, crowd):
    with_ties(project, crowd)
    wins, ties = Counter(), Counter()
    for shown, chosen in facts(project):
        if chosen is None:
            ties[frozenset(shown)] += 1
        else:
            wins[chosen, next(key for key in shown if key != chosen)] += 1
    rows = lines(owner, project, "pairs")
    assert sum(row["n"] for row in rows) == 47
    for row in rows:
        first, second = row["first"], row["second"]
        assert row["first_wins"] == wins[first, second]
        assert row["second_wins"] == wins[second, first]
        assert row["ties"] == ties[frozenset((first, second))]
    header, *table = csv.reader(io.StringIO(body(owner, project, "matrix", "csv")))
    assert header == ["item", *(line[0] for line in table)]
    cells = {(line[0], key): int(n) for line in table for key, n in zip(header[1:], line[1:], strict=True)}
    assert {pair: n for pair, n in cells.items() if n} == dict(wins)


def test_preferences_are_what_trainers_read(owner, project, crowd):
    with_ties(project, crowd)
    rows = lines(owner, project, "preferences")
    assert len(rows) == 40
    bodies = {item.key: item.body for item in project.items.all()}
    chosen = Counter((key, next(one for one in shown if one != key)) for shown, key in facts(project) if key)
    assert Counter((row["chosen_item"], row["rejected_item"]) for row in rows) == chosen
    for row in rows:
        assert row["prompt"] == project.question
        assert (row["chosen"], row["rejected"]) == (bodies[row["chosen_item"]], bodies[row["rejected_item"]])
        assert row["annotator"] in {"Otter 0", "Otter 1", "Otter 2"}


def test_the_prompt_is_the_context_where_items_share_one(owner, project, crowd):
    context = Context.objects.create(project=project, body="Why is the sky blue?", digest="1" * 64)
    make_labels(project, crowd, 3)
    project.items.update(context=context)
    assert {row["prompt"] for row in lines(owner, project, "preferences")} == {"Why is the sky blue?"}


def read_preflib(text: str) -> tuple[dict[str, str], list[tuple[int, list[list[int]]]]]:
    """A reader of the published format, with none of our own code."""
    head, votes = {}, []
    for line in text.splitlines():
        if line.startswith("#"):
            name, _, value = line[2:].partition(": ")
            head[name] = value
        else:
            n, order = re.fullmatch(r"(\d+): ([\d,{}]+)", line).groups()
            groups = re.findall(r"\{([\d,]+)\}|(\d+)", order)
            votes.append((int(n), [[int(i) for i in (many or one).split(",")] for many, one in groups]))
    return head, votes


def test_preflib_of_pairs_round_trip(owner, project, crowd):
    with_ties(project, crowd)
    response = owner.get(reverse("export", args=[project.pk, "comparisons", "preflib"]))
    assert ".toi" in response["Content-Disposition"]
    head, votes = read_preflib(b"".join(response.streaming_content).decode())
    assert head["DATA TYPE"] == "toi"
    assert (head["NUMBER ALTERNATIVES"], head["NUMBER VOTERS"]) == ("6", "47")
    assert int(head["NUMBER UNIQUE ORDERS"]) == len(votes)
    names = {i: head[f"ALTERNATIVE NAME {i}"] for i in range(1, 7)}
    read = Counter()
    for n, order in votes:
        read[tuple(frozenset(names[i] for i in group) for group in order)] += n
    expected = Counter()
    for shown, chosen in facts(project):
        rest = frozenset(key for key in shown if key != chosen)
        expected[(frozenset([chosen]), rest) if chosen else (rest,)] += 1
    assert read == expected


@pytest.fixture
def rankings(project, crowd) -> Project:
    """Rankings of all six items by three people."""
    Project.objects.filter(pk=project.pk).update(task_type="ranking", k=6, overlap=10)
    project.refresh_from_db()
    for i, otter in enumerate(Annotator.objects.filter(project=project)):
        shown = assignment.next_presentation(annotator=otter, now=NOW, rng=random.Random(i))
        order = tuple(random.Random(i + 10).sample(range(6), 6))
        record_label(presentation=shown, answer=Answer("ranking", order=order), now=NOW)
    return project


def test_rankings_say_something_of_every_two(owner, rankings):
    shown_and_ranks = [
        [(one.item.key, int(rank)) for one, rank in zip(label.presentation.presented.all(), label.ranks, strict=True)]
        for label in Label.objects.filter(project=rankings)
    ]
    head, votes = read_preflib(body(owner, rankings, "comparisons", "preflib"))
    assert (head["DATA TYPE"], head["NUMBER VOTERS"]) == ("soc", "3")
    names = {i: head[f"ALTERNATIVE NAME {i}"] for i in range(1, 7)}
    read = sorted(tuple(names[group[0]] for group in order) for n, order in votes for _ in range(n))
    assert read == sorted(tuple(key for key, _ in sorted(one, key=lambda cell: cell[1])) for one in shown_and_ranks)
    above = Counter((a, b) for one in shown_and_ranks for a, rank_a in one for b, rank_b in one if rank_a < rank_b)
    pairs = lines(owner, rankings, "pairs")
    assert sum(row["n"] for row in pairs) == 3 * 15
    assert all(row["first_wins"] == above[row["first"], row["second"]] for row in pairs)
    preferences = lines(owner, rankings, "preferences")
    assert Counter((row["chosen_item"], row["rejected_item"]) for row in preferences) == above


def test_json_is_one_list_of_the_same_objects(owner, project, crowd):
    assert json.loads(body(owner, project, "labels", "json")) == []
    with_ties(project, crowd)
    assert json.loads(body(owner, project, "labels", "json")) == lines(owner, project, "labels")


def test_fits_tell_how_they_went(owner, project):
    items = list(project.items.all())
    spread_fit(project, items, settings={"prior_sd": 1.5}, data_hash="ab" * 32)
    spread_fit(project, items, converged=False, message="=stopped")
    first, second = lines(owner, project, "fits")
    assert (first["fit"], first["status"], first["settings"]) == (1, "replaced", {"prior_sd": 1.5})
    assert (first["objective"], first["n_iterations"], first["data_hash"]) == (-20.2, 4, "ab" * 32)
    assert (second["status"], second["converged"]) == ("published", False)
    rows = list(csv.DictReader(io.StringIO(body(owner, project, "fits", "csv"))))
    assert rows[1]["message"] == "'=stopped"
    assert json.loads(rows[0]["settings"]) == {"prior_sd": 1.5}


def test_fits_tell_of_the_cluster(owner, project):
    items = list(project.items.all())
    no_workers = store_message("the cluster has no workers")
    for where in ({}, {"cluster": {"n_workers": 3}}, {"cluster": {"failure": no_workers}}):
        spread_fit(project, items, diagnostics={"objective": []} | where)
    found = [(row["cluster_workers"], row["cluster_failure"]) for row in lines(owner, project, "fits")]
    assert found == [(None, ""), (3, ""), (None, "the cluster has no workers")]


def test_the_report_says_what_stands_on_the_ranking(owner, project, crowd):
    assert "Nothing to report yet" in page(owner, project, "report")
    items = list(project.items.all())
    Item.objects.filter(pk=items[0].pk).update(body="<b>Bold</b> claim")
    parts = [[(item, 2.0 - i, 0.2, 9) for i, item in enumerate(items[:4])], [(item, 0.5, 0.6, 2) for item in items[4:]]]
    fit = make_fit(project, parts, n_annotators=3, converged=False)
    html = page(owner, project, "report")
    assert project.question in html
    assert "&lt;b&gt;Bold&lt;/b&gt; claim" in html
    assert "3 people saw two items at a time and chose one" in html
    for caution in ("did not converge", "2 groups of items were never compared", "2 of 6 items have fewer than 5"):
        assert caution in html
    for estimate in fit.estimates.filter(part=0):
        assert f">{format_number(estimate.score, 0)}<" in html
    assert f"fit {fit.number}" in html


def test_an_excluded_annotator_is_in_no_derived_table(owner, project, crowd):
    answer_one(crowd[0])
    make_labels(project, crowd[1:2], 6, voided_at=NOW, void_reason="excluded")
    assert sum(row["n"] for row in lines(owner, project, "pairs")) == 1
    assert {row["annotator"] for row in lines(owner, project, "preferences")} == {"Otter 0"}
