"""The table of how often "done" was said too early: what may be read from it, and what is not known."""

import json

import pytest
from numpy.testing import assert_allclose

from models_engine.analysis.done import LEVELS, PLAIN, Wrong, threshold
from models_engine.analysis.stopping_errors import MIN_SAID, TABLE, StoppingError, stopping_error


def row(what: Wrong, goal, n_false, n_said, *, fit="CrowdBT", adaptive=False, level=LEVELS[0], limit=None):
    limit = threshold(what, goal, level=level, plain=fit in PLAIN) if limit is None else limit
    told = {"what": what, "goal": goal, "fit": fit, "adaptive": adaptive, "level": level, "limit": limit}
    return told | {"n_projects": 300, "n_said": n_said, "n_false": n_false, "labels": 500.0}


@pytest.fixture
def table(tmp_path):
    rows = [
        row("reliability", 0.1, 2, 100),
        row("reliability", 0.2, 10, 200),
        row("reliability", 0.2, 0, 200, adaptive=True),
        row("reliability", 0.2, 50, 200, fit="BradleyTerry", limit=0.19),
        row("places", 1.0, 3, MIN_SAID - 1),
        row("boundary", 0.05, 1, 2),
        row("boundary", 0.1, 8, 16),
        row("places", 2.0, 1, MIN_SAID),
        row("top", 0.1, 0, MIN_SAID - 1),
    ]
    path = tmp_path / "errors.json"
    path.write_text(json.dumps({"rows": rows}))
    return path


def test_the_error_is_the_largest_over_the_goals_that_were_simulated(table):
    found = stopping_error("reliability", "CrowdBT", adaptive=False, table=table)
    assert (found.share, found.n_said) == (0.05, 200)
    assert_allclose([found.low, found.high], [0.0301, 0.0819], atol=1e-4)  # Wilson's interval by another program
    assert stopping_error("reliability", "CrowdBT", adaptive=True, table=table).share == 0
    assert stopping_error("places", "CrowdBT", adaptive=False, table=table) == StoppingError.of(1, MIN_SAID)


def test_few_projects_are_enough_to_show_that_it_is_said_too_early_too_often(table):
    assert stopping_error("boundary", "CrowdBT", adaptive=False, table=table) == StoppingError.of(8, 16)


def test_what_was_not_simulated_often_enough_is_not_known(table):
    assert stopping_error("top", "CrowdBT", adaptive=False, table=table) is None
    assert stopping_error("widest", "CrowdBT", adaptive=False, table=table) is None
    assert stopping_error("reliability", "CollaborativeGP", adaptive=False, table=table) is None
    assert stopping_error("reliability", "CrowdBT", adaptive=False, level=LEVELS[1], table=table) is None
    assert stopping_error("reliability", "BradleyTerry", adaptive=False, table=table) is None, "of another threshold"


def test_the_table_in_use_holds_today_s_thresholds():
    """Otherwise the pages would say of every goal that nothing was measured."""
    rows = json.loads(TABLE.read_text())["rows"]
    assert {one["fit"] for one in rows} >= {"CrowdBT", "BradleyTerry"}
    for one in rows:
        limit = threshold(one["what"], one["goal"], level=one["level"], plain=one["fit"] in PLAIN)
        assert_allclose(one["limit"], limit)
