"""The benchmarks of ranking models: their scores by hand, and the published figures where the data are present."""

from itertools import permutations

import numpy as np
import pytest

from models_engine.benchmarks import angle, angle_constant, grades, weak_orders
from models_engine.benchmarks.sushi_data import read_sushi
from models_engine.data import Comparisons
from tests.paths import DATA

needs_sushi = pytest.mark.skipif(
    not (DATA / "sushi" / "sushi3a.5000.10.order").is_file(), reason=f"the Sushi data are not in {DATA}"
)


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
