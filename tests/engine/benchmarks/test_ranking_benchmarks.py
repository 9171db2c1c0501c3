"""The benchmarks of ranking models: their scores by hand, and the published figures where the data are present."""

from itertools import permutations

import numpy as np
import pytest

from models_engine.benchmarks import angle, angle_constant, grades, plackett_luce, weak_orders
from models_engine.benchmarks.sushi_data import read_sushi
from models_engine.data import Comparisons
from tests.paths import DATA

needs_sushi = pytest.mark.skipif(
    not (DATA / "sushi" / "sushi3a.5000.10.order").is_file(), reason=f"the Sushi data are not in {DATA}"
)


def test_auc_is_the_share_of_right_orders_of_one_positive_and_one_negative():
    rng = np.random.default_rng(0)
    wins, score = rng.integers(0, 4, size=(4, 4)).astype(float), rng.random((4, 4)).round(1)
    np.fill_diagonal(wins, 0)
    cells = [(score[a, b], wins[a, b], wins[b, a]) for a in range(4) for b in range(4) if wins[a, b] + wins[b, a] > 0]
    agreed = sum(p * n * ((s > z) + (s == z) / 2) for s, p, _ in cells for z, _, n in cells)
    total = sum(p for _, p, _ in cells) * sum(n for _, _, n in cells)
    assert plackett_luce.auc(score, wins) == pytest.approx(agreed / total)


def test_top_k_compares_true_values():
    wins = plackett_luce.count_wins(np.array([[0, 1, 2], [0, 2, 1]]), 3)
    assert wins.tolist() == [[0, 2, 2], [0, 0, 1], [0, 1, 0]]
    right = np.array([[0.5, 0.9, 0.9], [0.1, 0.5, 0.5], [0.1, 0.5, 0.5]])
    assert plackett_luce.top_k(right, wins, 1) == 1
    assert plackett_luce.top_k(1 - right, wins, 1) == pytest.approx(0.25)


needs_tournesol = pytest.mark.skipif(
    not (DATA / "tournesol_tiny" / "comparisons.csv.gz").is_file(), reason=f"the Tournesol data are not in {DATA}"
)


@pytest.mark.slow
@needs_tournesol
def test_how_much_better_predicts_graded_answers_better_than_their_shares():
    data = grades.read_tournesol(DATA, "importance")
    row = grades.compare("importance", data.annotator_subset([3]))
    assert row.difference < -5 * row.error
    assert row.width < row.width_winners


def test_the_benchmark_of_grades_says_what_it_left_out(capsys, tmp_path):
    assert grades.main(["--crowds", "0"]) == 0
    assert "no --data" in capsys.readouterr().out
    assert grades.main(["--crowds", "0", "--data", str(tmp_path)]) == 0
    assert "does not exist" in capsys.readouterr().out


def test_ties_broken_by_lot_keep_what_the_ranking_said_and_no_tie():
    data = Comparisons.from_ranks([[0, 1, 1, 2], [0, 0, 0]], [[3, 1, 2, 0], [0, 1, 2]], tied=True)
    broken = weak_orders.break_ties(data, np.random.default_rng(0))
    assert broken.tied is None
    assert broken.ranks[[0, 3]].tolist() == [0, 3]
    assert sorted(broken.ranks[4:].tolist()) == [0, 1, 2]


def test_the_benchmark_of_weak_orders_says_what_it_left_out(capsys, tmp_path):
    assert weak_orders.main(["--data", str(tmp_path)]) == 0
    assert "left out" in capsys.readouterr().out


@needs_sushi
def test_table_2_of_the_angle_paper_is_reproduced():
    found = angle.run(read_sushi(DATA))
    assert [found[region].n for region in ("East", "West")] == [3258, 1742]
    for region, printed in angle.PUBLISHED.items():
        for name in ("beta", "a", "b"):
            assert getattr(found[region], name) == pytest.approx(getattr(printed, name), rel=1e-3)
        assert found[region].kappa == pytest.approx(printed.kappa, abs=0.01)
        assert found[region].kappa_sampled == pytest.approx(printed.kappa, abs=0.03)


@pytest.mark.slow
@needs_sushi
def test_features_rank_sushi_for_held_out_people():
    scores, bounds, fall = plackett_luce.run(read_sushi(DATA), repeats=2, seed=0)
    mean = {name: np.mean([one.auc for one in scores if one.model == name]) for name in plackett_luce.MODELS}
    assert min(mean.values()) >= 0.66
    assert mean["VI, features alone"] >= mean["MAP, features alone"] - 0.005
    assert fall <= 1e-9 * abs(max(bounds.values()))
    inside = list(bounds.values())[1:-1]
    assert max(inside) == max(bounds.values()), "the grid holds the best eta"
    assert max(bounds.values()) < 0


def test_table_1_of_the_angle_paper_is_reproduced():
    rows = [row for row in angle_constant.run(8) if row.printed is not None]
    assert len(rows) == 4 * 6
    for row in rows:
        assert row.even == pytest.approx(row.printed, abs=6e-6), (row.t, row.kappa)


def test_the_constant_is_that_of_a_sum_over_all_rankings():
    theta = np.array([0.3, -1.0, 0.2, 0.9])
    theta = (theta - theta.mean()) / np.linalg.norm(theta - theta.mean())
    scores = (np.arange(4) - 1.5) / np.sqrt(5)
    exact = np.log(sum(np.exp(3 * theta @ scores[list(order)]) for order in permutations(range(4))))
    mean = (np.exp(3) - np.exp(-3)) / 6  # of exp(kappa u) over the sphere in three dimensions: sinh(kappa) / kappa
    approximate = np.log(24) + np.log(mean)
    assert angle_constant.error_rate(theta, 3.0) == pytest.approx(100 * abs(exact - approximate) / exact)
