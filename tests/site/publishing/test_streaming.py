"""Exports are made as they are taken: chunk by chunk, the same bytes from either server, in flat memory."""

import asyncio
import re
import tracemalloc

import pytest
from django.db import connection
from django.test import AsyncClient
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.criteria import Criterion
from annotate.files import writers
from annotate.files.downloads import stepwise
from annotate.files.writers import csv_chunks, jsonl_chunks
from annotate.labelling import label_rows
from annotate.models import Project
from annotate.publishing.exports.registry import TABLES
from tests.conftest import make_annotator
from tests.site.factories import make_labels, spread_fit
from tests.site.pages import BACKEND, signed_in


def address(project: Project, table: str) -> str:
    return reverse("export", args=[project.pk, table, "csv"])


def body(alice, project: Project, table: str) -> bytes:
    return b"".join(signed_in(alice).get(address(project, table)).streaming_content)


def test_rows_are_made_only_as_they_are_taken():
    made = []

    def rows():
        for i in range(10_000):
            made.append(i)
            yield [i, "x"]

    chunks = csv_chunks(["i", "x"], rows())
    assert next(chunks) == b"i,x\r\n"
    assert made == []
    next(chunks)
    assert len(made) == writers.CHUNK
    lines = jsonl_chunks(["i", "x"], rows())
    next(lines)
    assert len(made) == 2 * writers.CHUNK


def test_an_asynchronous_server_is_given_chunk_by_chunk():
    made = []

    def chunks():
        for i in range(100):
            made.append(i)
            yield b"%d," % i

    async def first_three() -> list[bytes]:
        taken = []
        async for chunk in stepwise(chunks()):
            taken.append(chunk)
            if len(taken) == 3:
                return taken
        return taken

    assert asyncio.run(first_three()) == [b"0,", b"1,", b"2,"]
    assert made == [0, 1, 2]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("table", TABLES)
def test_both_servers_send_the_same_bytes_without_a_warning(project, alice, table):
    make_labels(project, [make_annotator(project, "P")], 20)
    spread_fit(project, list(project.items.all()))
    client = AsyncClient()
    client.force_login(alice, BACKEND)

    async def fetch() -> bytes:
        response = await client.get(address(project, table))
        assert response.is_async
        return b"".join([chunk async for chunk in response.streaming_content])

    assert asyncio.run(fetch()) == body(alice, project, table)


@pytest.mark.slow
def test_queries_grow_with_chunks_and_not_with_rows(alice, project):
    people = [make_annotator(project, f"P{i}") for i in range(5)]

    def n_queries() -> int:
        with CaptureQueriesContext(connection) as queries:
            body(alice, project, "labels")
        return len(queries)

    make_labels(project, people, 10)
    small = n_queries()
    make_labels(project, people, 700)
    assert n_queries() == small
    make_labels(project, people, 700)
    assert n_queries() == small + 4  # of one more chunk: labels, their items, tags of items, comments on items


@pytest.mark.parametrize("table", ["labels", "preferences"])
def test_chunks_of_other_items_take_the_same_statements(alice, project, table, monkeypatch):
    """SQLite compiles and keeps every other one, in memory that tracemalloc does not see."""
    make_labels(project, [make_annotator(project, "P")], 120)
    monkeypatch.setattr(label_rows, "CHUNK_SIZE", 3)
    seen = {
        len({item for one in shown.values() for item in one})
        for _labels, shown, _items in label_rows.label_chunks(Criterion(project))
    }
    with CaptureQueriesContext(connection) as queries:
        body(alice, project, table)
    lists = re.findall(r'"annotate_item"."id" IN \(([^)]+)\)', " ".join(query["sql"] for query in queries))
    assert seen == {3, 4, 5}
    assert {one.count(",") + 1 for one in lists} == {4, 8}


@pytest.mark.slow
def test_memory_stays_flat(project):
    people = [make_annotator(project, f"P{i}") for i in range(5)]

    def peak() -> int:
        tracemalloc.start()
        rows = TABLES["labels"].rows(Criterion(project))
        n_bytes = sum(map(len, csv_chunks(TABLES["labels"].names(project), rows)))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert n_bytes > 0
        return most

    make_labels(project, people, 2_000)
    small = peak()
    make_labels(project, people, 6_000)
    assert peak() < 1.3 * small
