"""Parquet and the counted exports, read back by Arrow: the same rows with types, in row groups, in flat memory."""

import io
import json
import tracemalloc
from collections import Counter
from datetime import datetime

import numpy as np
import pyarrow
import pytest
from django.urls import reverse
from pyarrow import parquet

from annotate.files import parquet_writer as writing
from annotate.files.columns import Column, Kind
from annotate.files.counting import Tally
from annotate.files.parquet_writer import parquet_chunks
from annotate.labelling.plan.given import NewQuestion, add_questions
from annotate.models import CohortComparison, Count, Deviation, Idea
from annotate.publishing.exports.registry import TABLES
from models_engine.models import Leaderboard
from tests.conftest import NOW, make_annotator
from tests.site.competitions import example_board, example_cohort, example_total
from tests.site.factories import estimate_annotator, make_labels, make_overall, spread_fit
from tests.site.machines import let_judge, make_machine
from tests.site.pages import signed_in

CRITERIA = [{"name": "Idea", "question": "Which is better?"}, {"name": "Craft", "question": "Which is better made?"}]


def comparable(value):
    """What JSON would say of the value."""
    return value.isoformat() if isinstance(value, datetime) else value


@pytest.mark.parametrize("table", TABLES)
def test_parquet_holds_the_rows_of_json_with_their_types(alice, project, table):
    project.grades = [{"name": "Pass", "limit": 50.0}, {"name": "Fail", "limit": None}]
    if table in ("overall", "overall_leaderboard"):
        project.criteria = CRITERIA
        project.has_competitors = table == "overall_leaderboard"
    project.save()
    people = [make_annotator(project, f"=Otter {i}") for i in range(3)]
    make_labels(project, people, 12, comment="=1+1")
    make_labels(project, people, 3, outcome="tie", seed=1, voided_at=NOW, void_reason="excluded")
    Idea.objects.create(project=project, annotator=people[0], text="=1+1", created_at=NOW)
    Deviation.objects.create(project=project, field="cap", before=None, after=5, n_labels=2, at=NOW, reason="=1+1")
    let_judge(make_machine(project, prompt="=1+1"), lambda first, second: first)
    fit = spread_fit(project, list(project.items.all()))
    estimate_annotator(fit, people[0])
    make_overall(project, fit, leaderboard=example_total())
    make_overall(project, fit, criterion=1, track="even")
    Leaderboard.objects.create(fit=fit, board=example_board())
    boards = {"problem": "", "has_contexts": True, "k": 1, "converged": True, "cohorts": [example_cohort()]}
    asked = {"by": "tag", "first": "early", "asked_by": alice, "asked_at": NOW}
    CohortComparison.objects.create(project=project, status="ready", boards=boards, **asked)
    Count.objects.create(project=project, annotator=people[0], item=project.items.first(), count=3, imported_at=NOW)
    if table == "questions":
        items = tuple(project.items.order_by("pk").values_list("pk", flat=True)[:2])
        add_questions(project=project, actor=alice, questions=[NewQuestion(items, 3)], now=NOW)
    client = signed_in(alice)

    def content(file_format: str) -> bytes:
        response = client.get(reverse("export", args=[project.pk, table, file_format]))
        return b"".join(response.streaming_content)

    read = parquet.read_table(io.BytesIO(content("parquet")))
    rows = [{name: comparable(value) for name, value in row.items()} for row in read.to_pylist()]
    for row in rows:
        row.update({name: json.loads(row[name]) for name in ("settings", "translations", "metadata") if name in row})
    assert rows == [json.loads(line) for line in content("jsonl").splitlines()] != []
    told = {field.name: field.metadata[b"meaning"].decode() for field in read.schema}
    assert told == {column.name: str(column.meaning) for column in TABLES[table].columns(project)}
    assert not any(pyarrow.types.is_null(field.type) for field in read.schema)


def test_row_groups_are_sent_as_they_are_made(monkeypatch):
    monkeypatch.setattr(writing, "BATCH", 50)
    made, size = [], writing.BATCH * writing.BATCHES

    def rows():
        for i in range(2 * size + 5):
            made.append(i)
            yield [i, "x" * 10]

    chunks = parquet_chunks([Column("i", "", Kind.INTEGER), Column("x", "")], rows())
    assert next(chunks) == b"PAR1"
    assert made == []
    first = next(chunks)
    assert len(made) == size
    file = parquet.ParquetFile(io.BytesIO(b"PAR1" + first + b"".join(chunks)))
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [size, size, 5]
    assert file.read(["i"])["i"].to_pylist() == made


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows():
    columns = [Column("i", "", Kind.INTEGER), Column("x", "")]

    def peak(n: int) -> int:
        tracemalloc.start()
        before = pyarrow.total_allocated_bytes()
        most = max(
            pyarrow.total_allocated_bytes() - before + tracemalloc.get_traced_memory()[1]
            for _chunk in parquet_chunks(columns, ([i, f"text {i}"] for i in range(n)))
        )
        tracemalloc.stop()
        return most

    peak(10)  # what is loaded once
    assert peak(160_000) < 1.3 * peak(40_000)


def test_a_tally_counts_like_a_counter(monkeypatch):
    monkeypatch.setattr("annotate.files.counting.LEAST", 20)
    rng = np.random.default_rng(1)
    rows = rng.integers(-2, 3, size=(500, 2)).tolist()
    tally = Tally(2)
    for start in range(0, 500, 7):
        tally.add(rows[start : start + 7])
    tally.add([])
    tally.add([(9, 9), (-2, -2)], [3, 1_000_000])
    expected = Counter(map(tuple, rows)) + Counter({(9, 9): 3, (-2, -2): 1_000_000})
    found, counts = tally.result()
    assert dict(zip(map(tuple, found.tolist()), counts.tolist(), strict=True)) == expected
    assert found.tolist() == sorted(found.tolist())
    empty = Tally(2).result()
    assert [len(part) for part in empty] == [0, 0]
