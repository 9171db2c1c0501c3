"""`make bench-check` fails where a figure is slower than kept, and only there."""

import json

import pytest

from tests.load import ratios
from tests.load.ratios import TOLERANCE, compare, has_failed, table

KEPT = {"a": 2.0, "b": 0.5}


def test_what_is_as_kept_passes():
    rows = compare(KEPT, KEPT)
    assert [(row.name, row.times, row.verdict) for row in rows] == [("a", 1.0, ""), ("b", 1.0, "")]
    assert not has_failed(rows)


@pytest.mark.parametrize(
    ("times", "verdict", "failed"),
    [
        (TOLERANCE * 0.999, "", False),
        (TOLERANCE * 1.001, "slower", True),
        (1.001 / TOLERANCE, "", False),
        (0.999 / TOLERANCE, "faster", False),
    ],
)
def test_only_what_is_slower_beyond_the_tolerance_fails(times, verdict, failed):
    rows = compare(KEPT, {**KEPT, "b": KEPT["b"] * times})
    assert [row.verdict for row in rows] == ["", verdict]
    assert has_failed(rows) is failed


def test_a_figure_that_is_not_kept_or_not_measured_fails():
    assert [(row.name, row.verdict) for row in compare({"a": 1.0}, {"b": 1.0})] == [("b", "new"), ("a", "gone")]
    assert has_failed(compare({}, {"a": 1.0}))
    assert has_failed(compare({"a": 1.0}, {}))


def test_the_table_names_each_figure_with_its_verdict():
    lines = table(compare(KEPT, {"a": 4.0, "c": 1.0})).splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["a", "2.000", "4.000", "2.00", "slower"],
        ["c", "-", "1.000", "-", "new"],
        ["b", "0.500", "-", "-", "gone"],
    ]


def test_what_is_written_is_read_again(tmp_path):
    file = tmp_path / "figures.json"
    assert ratios.read(file) == {}
    ratios.write(file, {"a": 1.23456, "b": 0.01})
    assert ratios.read(file) == {"a": 1.2346, "b": 0.01}
    assert list(json.loads(file.read_text())) == ["a", "b"]


def test_every_kept_figure_is_a_positive_number():
    kept = ratios.read(ratios.FILE)
    assert len(kept) == 6
    assert all(ratio > 0 for ratio in kept.values())
