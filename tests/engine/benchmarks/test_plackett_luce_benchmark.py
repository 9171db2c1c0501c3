"""The benchmark of FeaturePlackettLuce: its splits and scores by hand, and on the Sushi data where they are present."""

import numpy as np
import pytest

from models_engine.benchmarks import plackett_luce, plackett_luce_calibration, plackett_luce_splits
from models_engine.benchmarks.sushi_data import SushiData, read_sushi
from models_engine.covariance.forms import DenseCovariance
from models_engine.errors import InsufficientData
from models_engine.messages import Message
from models_engine.posterior import LOGIT, GaussianPosterior
from models_engine.summaries import Diagnostics
from tests.paths import DATA

needs_sushi = pytest.mark.skipif(
    not (DATA / "sushi" / "sushi3b.5000.10.order").is_file(), reason=f"the Sushi data are not in {DATA}"
)


@pytest.fixture
def rankings() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.stack([rng.permutation(9)[:5] for _ in range(60)])


def test_auc_is_the_share_of_right_orders_of_one_positive_and_one_negative():
    rng = np.random.default_rng(0)
    wins, score = rng.integers(0, 4, size=(4, 4)).astype(float), rng.random((4, 4)).round(1)
    np.fill_diagonal(wins, 0)
    cells = [(score[a, b], wins[a, b], wins[b, a]) for a in range(4) for b in range(4) if wins[a, b] + wins[b, a] > 0]
    agreed = sum(p * n * ((s > z) + (s == z) / 2) for s, p, _ in cells for z, _, n in cells)
    total = sum(p for _, p, _ in cells) * sum(n for _, _, n in cells)
    assert plackett_luce.auc(score, wins) == pytest.approx(agreed / total)


def test_top_k_compares_true_values():
    wins = plackett_luce_splits.count_wins(np.array([[0, 1, 2], [0, 2, 1]]), 3)
    assert wins.tolist() == [[0, 2, 2], [0, 0, 1], [0, 1, 0]]
    right = np.array([[0.5, 0.9, 0.9], [0.1, 0.5, 0.5], [0.1, 0.5, 0.5]])
    assert plackett_luce.top_k(right, wins, 1) == 1
    assert plackett_luce.top_k(1 - right, wins, 1) == pytest.approx(0.25)


def test_a_restricted_ranking_keeps_the_order_of_the_items_left():
    left = plackett_luce_splits.restrict(np.array([[4, 2, 0, 3], [1, 2, 3, 0], [1, 0, 3, 4]]), np.array([4, 0, 2]))
    assert left.tolist() == [[0, 2, 1, -1], [2, 1, -1, -1], [1, 0, -1, -1]]
    assert plackett_luce_splits.count_wins(left, 3).tolist() == [[0, 1, 1], [1, 0, 0], [0, 2, 0]]


def test_a_drawn_pair_is_in_the_order_of_its_ranking(rankings: np.ndarray):
    pairs = plackett_luce_splits.draw_pairs(rankings, np.random.default_rng(1))
    place = [[row.tolist().index(item) for item in pair] for row, pair in zip(rankings, pairs, strict=True)]
    assert all(better < worse for better, worse in place)
    assert len({tuple(one) for one in place}) == 10


@pytest.mark.parametrize("form", ["rankings", "pairs"])
def test_items_held_out_are_in_no_training_label(rankings: np.ndarray, form: plackett_luce_splits.Form):
    features = np.arange(18.0).reshape(9, 2) ** 2
    held = plackett_luce_splits.split(rankings, features, "items", form, 40, np.random.default_rng(2))
    known = held.train.item_features
    assert known is not None
    assert held.features is not None
    assert sorted([*known.tolist(), *held.features.tolist()]) == features.tolist()
    assert held.train.n_items == 6
    if form == "pairs":
        assert (held.train.sizes == 2).all()
        assert held.wins.sum() + held.train.n_labels < len(rankings)


def test_a_third_of_the_labels_is_held_out(rankings: np.ndarray):
    held = plackett_luce_splits.split(rankings, np.eye(9), "labels", "rankings", 25, np.random.default_rng(2))
    assert (held.train.n_labels, held.wins.sum(), held.features) == (25, 20 * 10, None)


def test_a_split_that_leaves_nothing_is_refused():
    with pytest.raises(InsufficientData, match="two items"):
        plackett_luce_splits.split(np.array([[0, 1]]), np.eye(3), "items", "rankings", 5, np.random.default_rng(0))


def test_cells_of_calibration_count_each_answer_once_and_meet_what_a_true_posterior_expects():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(12, 3))
    diagnostics = Diagnostics(True, 1, (0.0,), 0.0, Message.of("none"))
    fits = []
    for _ in range(40):  # truths drawn from the posterior, so that it is right by construction
        mean = rng.normal(size=12)
        truth = mean + root @ rng.normal(size=3)
        better, worse = np.triu_indices(12, 1)
        won = rng.binomial(20, 1 / (1 + np.exp(truth[worse] - truth[better])))
        wins = np.zeros((12, 12))
        wins[better, worse], wins[worse, better] = won, 20 - won
        fits.append((GaussianPosterior(mean, DenseCovariance.of(root @ root.T), diagnostics, LOGIT), wins))
    cells = plackett_luce_calibration.calibrate(fits)
    assert sum(one.n for one in cells) == 40 * 66 * 20
    for one in cells:
        assert one.positive == pytest.approx(one.expected, abs=4 * one.error)
    strong = [one.expected for one in cells if one.low == 1.5]
    assert strong == sorted(strong, reverse=True), "the larger the sd, the closer to a half"


@pytest.mark.slow
def test_people_fitted_alone_are_tested_on_items_seen_and_never_seen():
    rng = np.random.default_rng(0)
    items = rng.normal(size=(20, 3))
    order = np.argsort(-items[:, 0])
    rankings = np.stack([order[np.sort(rng.permutation(20)[:10])] for _ in range(10)])
    data = SushiData(rankings[:0], rankings, items, np.zeros((10, 1)))
    scores = plackett_luce_calibration.score_experts(data, 2, 0)
    assert [one.seen for one in scores] == [False, True] * 2
    assert np.mean([one.right for one in scores if one.seen]) > 0.7
    assert "never seen" in plackett_luce_calibration.format_experts(scores)


@pytest.mark.slow
@needs_sushi
def test_features_rank_sushi_for_held_out_people():
    scores, _ = plackett_luce.run(read_sushi(DATA), 2, 0, plackett_luce.Setting())
    bounds: dict[float, list[float]] = {}
    for one in scores:
        if one.eta is not None and one.bound is not None:
            bounds.setdefault(one.eta, []).append(one.bound)
    mean = {eta: float(np.mean(found)) for eta, found in bounds.items()}
    best = max(mean, key=lambda eta: mean[eta])
    assert best in list(mean)[1:-1], "the grid holds the best eta"
    assert mean[best] < 0
    area = {
        model: np.mean([one.auc for one in scores if one.model == model and one.eta in (best, None)])
        for model in ("VI", "MAP", plackett_luce.DEFAULT)
    }
    assert min(area.values()) >= 0.66
    assert area["VI"] >= area["MAP"] - 0.005
    assert max(one.fall for one in scores if one.fall is not None) <= 1e-9 * abs(mean[best])


@needs_sushi
@pytest.mark.slow
def test_features_rank_sushi_that_nobody_compared():
    scores, _ = plackett_luce.run(read_sushi(DATA), 2, 0, plackett_luce.Setting("items", "pairs"))
    assert np.mean([one.auc for one in scores if one.model == plackett_luce.DEFAULT]) > 0.6
