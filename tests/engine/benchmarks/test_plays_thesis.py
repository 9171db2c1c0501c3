"""Ko's thesis on counts: rounded roots held out, errors by prior variance and by time."""

import gzip

import numpy as np
import pytest
from scipy.optimize import minimize

from models_engine.benchmarks.count_modes import CountModes
from models_engine.benchmarks.plays import WORLDS, main, simulate
from models_engine.benchmarks.plays_thesis import as_thesis, by_time, by_variance, only_drawn, split, thesis_scales
from models_engine.errors import InvalidSetting
from models_engine.inference.counts.cells import CountCells


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::models_engine.errors.NotConverged")
def test_the_thesis_counts_rounded_roots():
    cells = simulate(WORLDS[0], 0)[0]
    rows = {row.rule: row for row in as_thesis(cells, 2)}
    assert set(rows) >= {"one mean, negative binomial", "effects, negative binomial"}
    roots = np.floor(np.sqrt(cells.counts) + 0.5)
    assert roots.max() < cells.counts.max()
    share = np.bincount(roots.astype(int)) / len(roots)
    entropy = -float(share[share > 0] @ np.log(share[share > 0]))
    assert abs(rows["one mean, negative binomial"].nats - entropy) < 0.2, "one mean knows no more than the shares"
    assert rows["effects, Poisson"].error < 0.2
    for way in ("MAP", "EM"):
        assert rows[f"the same, {way}"].nats < rows["one mean, negative binomial"].nats, "effects know more"


def some_counts(n_items=9, n_annotators=7, seed=1):
    rng = np.random.default_rng(seed)
    rate = np.exp(1 + rng.normal(0, 0.9, (n_items, 1)) @ rng.normal(0, 0.9, (1, n_annotators)))
    item, who = np.nonzero(rng.random(rate.shape) < 0.7)
    return CountCells.from_rows(item, who, rng.poisson(rate[item, who]), n_items=n_items, n_annotators=n_annotators)


@pytest.mark.parametrize("variance", [0.05, 4.0])
def test_items_have_the_prior_variance_and_annotators_one(variance):
    """The mode is that of v ~ N(0, variance) and w ~ N(0, 1), although the fit has one variance for both."""
    cells = some_counts()
    scales = thesis_scales(cells, variance, 1)
    found = CountModes("MAP", scales, max_evaluations=5_000).fit(cells).effects

    def loss(x):
        constant, b, a, v, w = np.split(x, [1, 10, 17, 26])
        f = constant + b[cells.items] + a[cells.annotators] + v[cells.items] * w[cells.annotators]
        prior = (b @ b + v @ v) / variance + a @ a + w @ w + (constant[0] - scales.constant) ** 2 / 9
        return -(cells.counts * f - np.exp(f)).sum() + prior / 2

    parts = [[found.constant], found.item_mean[:, 0], found.annotator_mean[:, 0]]
    root = variance**0.25
    at = np.concatenate([*parts, found.item_mean[:, 1] * root, found.annotator_mean[:, 1] / root])
    assert loss(at) == pytest.approx(minimize(loss, at + 0.01, method="BFGS").fun, abs=1e-3)


def test_only_what_was_drawn_is_numbered():
    cells = CountCells.from_rows([0, 2, 5, 7], [1, 4, 4, 6], [3, 1, 4, 1], n_items=9, n_annotators=8)
    train, test = only_drawn(cells.subset(np.array([1, 0, 0, 1], bool)), cells.subset(np.array([0, 1, 0, 0], bool)))
    assert (train.items.tolist(), train.annotators.tolist(), train.counts.tolist()) == ([0, 2], [0, 2], [3, 1])
    assert (test.items.tolist(), test.annotators.tolist(), test.counts.tolist()) == ([1], [1], [1])
    assert (test.n_items, test.n_annotators) == (train.n_items, train.n_annotators) == (3, 3)


def test_a_quarter_of_the_cells_is_held_out_and_none_is_in_both_parts():
    cells = simulate(WORLDS[0], 0)[0]
    train, test = split(cells, 0)
    assert test.n_cells == cells.n_cells // 4
    pairs = {*zip(train.items, train.annotators, strict=True)} & {*zip(test.items, test.annotators, strict=True)}
    assert not pairs
    assert train.n_cells + test.n_cells == cells.n_cells
    assert split(cells, 1)[1].items.tolist() != test.items.tolist()


@pytest.mark.slow
def test_the_errors_by_time_end_where_those_by_variance_are():
    cells = simulate(WORLDS[2], 0)[0]
    cells = cells.subset(cells.items < 15)
    by_steps = by_time(cells, 2, evaluations=(5, 60), variance=0.3, n_factors=1, n_draws=50)
    ends = {row.method: row for row in by_steps if row.evaluations != 5}
    starts = {row.method: row for row in by_steps if row.evaluations == 5}
    fixed = by_variance(cells, 2, variances=(0.3, 1e-6), n_factors=1, max_evaluations=60, n_draws=50)
    at = {row.method: row.nats for row in fixed if row.variance != 1e-6}
    assert at == {method: row.nats for method, row in ends.items()}
    assert set(starts) == {"MAP", "EM", "MF"}
    for method, row in starts.items():
        assert row.nats != pytest.approx(ends[method].nats, abs=1e-3), "five evaluations are too few"
    small = {row.method: row.nats for row in fixed if row.variance == 1e-6}
    assert small["MF"] > at["MF"] + 0.05, "a prior variance of nearly 0 leaves out the items' effects"


@pytest.mark.parametrize(("arguments", "message"), [
    (["--parts", "time"], "--thesis"), (["--thesis", "2", "--parts", "time"], "--data"),
])  # fmt: skip
def test_parts_need_splits_and_plays(arguments, message):
    with pytest.raises(InvalidSetting, match=message):
        main(arguments)


def test_parts_are_known_ones(tmp_path):
    with gzip.open(tmp_path / "lastfm_plays.csv.gz", "wt", encoding="utf-8") as file:
        file.write("user,artist,plays\n1,1,3\n2,1,4\n")
    with pytest.raises(InvalidSetting, match="no part 'speed'"):
        main(["--data", str(tmp_path), "--thesis", "2", "--parts", "time,speed"])
