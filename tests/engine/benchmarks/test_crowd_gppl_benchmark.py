"""The simulations of crowdGPPL: what they draw, how components are matched, and their chart."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from models_engine.benchmarks import crowd_gppl
from models_engine.benchmarks.line_chart import draw_lines
from models_engine.errors import InvalidSetting
from models_engine.estimators.crowd_gppl import MAX_DENSE_ITEMS
from models_engine.kernels import ItemKernel


def test_the_crowd_has_the_variances_asked_for():
    rng = np.random.default_rng(0)
    crowds = [crowd_gppl.simulate(3, 4, 0.25, 2.0, 50, rng) for _ in range(250)]
    grid = crowds[0].labels.item_features
    assert grid is not None
    correlation = ItemKernel(grid, 9, share=1.0).matrix()
    consensus = np.stack([crowd.consensus for crowd in crowds])
    assert np.cov(consensus.T, bias=True) == pytest.approx(4 * correlation, abs=1.2)
    taste = np.stack([crowd.own - crowd.consensus for crowd in crowds])
    assert (taste**2).mean() == pytest.approx(4 / 2.0, rel=0.09)
    assert (crowds[0].labels.n_labels, crowds[0].own.shape) == (50, (crowd_gppl.N_USERS, 9))


def test_answers_follow_the_persons_own_utilities():
    crowd = crowd_gppl.simulate(3, 2, 0.001, 0.001, 2_000, np.random.default_rng(0))
    items, ranks = crowd.labels.items.reshape(-1, 2), crowd.labels.ranks.reshape(-1, 2)
    best = np.argmin(ranks, axis=1)
    rows, who = np.arange(len(items)), crowd.labels.annotators
    margin = crowd.own[who, items[rows, best]] - crowd.own[who, items[rows, 1 - best]]
    assert (margin > 0).mean() > 0.95


def test_components_are_matched_one_to_one_whatever_their_order_and_sign():
    rng = np.random.default_rng(0)
    true, _ = np.linalg.qr(rng.normal(size=(30, 3)) - rng.normal(size=(30, 3)).mean(axis=0))
    true -= true.mean(axis=0)
    found = np.column_stack([np.zeros(30), -2 * true[:, 2], true[:, 0] + 5, 3 * true[:, 1]])
    assert crowd_gppl.match_components(true, found) == pytest.approx(1.0)
    assert crowd_gppl.match_components(true, found[:, :3]) == pytest.approx(2 / 3, abs=0.15)
    assert crowd_gppl.match_components(true, np.zeros((30, 1))) == 0


def test_the_chart_holds_every_line_and_mark():
    svg = draw_lines(
        "A < B", "labels", "tau", {"one": [(1, 0.2, 0.1), (10, 0.8, 0.0)], "two & three": [(10, 0.5, 0.2)]}
    )
    root = ET.fromstring(svg)
    name = "{http://www.w3.org/2000/svg}"
    lines = [one.get("points", "").split() for one in root.iter(f"{name}polyline")]
    assert [len(points) for points in lines] == [2, 1]
    first, last = (tuple(map(float, point.split(","))) for point in lines[0])
    assert first[0] < last[0]
    assert first[1] > last[1], "larger values stand higher"
    texts = [one.text for one in root.iter(f"{name}text")]
    assert {"A < B", "two & three", "labels", "10", "0.2", "0.8"} <= set(texts)
    with pytest.raises(ValueError, match="no points"):
        draw_lines("", "", "", {})


@pytest.mark.slow
def test_the_command_measures_seconds_and_draws_them(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch):
    monkeypatch.setitem(crowd_gppl.LEVELS, "items", (9, 16))
    assert crowd_gppl.main(["--parts", "items", "--repeats", "1", "--plots", str(tmp_path)]) == 0
    assert "Figure 2b" in capsys.readouterr().out
    ET.parse(tmp_path / "crowd-gppl-items.svg")
    assert all(x > MAX_DENSE_ITEMS for x in crowd_gppl.LEVELS["crowd-items"]), "the crowd's are through inducing points"
    monkeypatch.setitem(crowd_gppl.LEVELS, "crowd-items", (9,))
    assert crowd_gppl.main(["--parts", "crowd-items", "--repeats", "1"]) == 0
    assert "CrowdGPPL " in capsys.readouterr().out
    with pytest.raises(InvalidSetting, match="there is no part"):
        crowd_gppl.main(["--parts", "weather"])


@pytest.mark.slow
def test_people_are_found_better_by_their_tastes_than_by_one_ranking():
    crowd = crowd_gppl.simulate(3, 1, 10.0, 0.1, 300, np.random.default_rng(1), n_users=6)
    found = dict(crowd_gppl._taus("personal", crowd, 0))
    assert list(found) == ["CrowdGPPL", "GPPL", "GPPL per person"]
    assert found["CrowdGPPL"] > found["GPPL"] + 0.1
