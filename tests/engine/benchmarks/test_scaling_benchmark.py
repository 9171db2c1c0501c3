"""python -m models_engine.benchmarks scaling."""

import numpy as np
import pytest

from models_engine.benchmarks.scaling import EVERY, FEW_ITEMS, fit_exponent, main, simulate
from models_engine.estimators.table import COUNT_ESTIMATORS, ESTIMATORS


def test_the_exponent_is_that_of_the_power_law():
    assert fit_exponent([(n, 3e-6 * n**1.7) for n in (1_000, 2_000, 4_000, 8_000)]) == pytest.approx(1.7)


@pytest.mark.process
@pytest.mark.slow
def test_it_prints_a_time_for_each_of_three_doublings_and_an_exponent(capsys):
    assert main(["--estimators", "BradleyTerry", "--labels", "500"]) == 0
    header, row = capsys.readouterr().out.splitlines()[-2:]
    assert header.split()[1:5] == ["500", "1,000", "2,000", "4,000"]
    assert len([float(cell) for cell in row.split()[1:]]) == 5


def test_every_estimator_is_measured_on_data_that_it_takes():
    assert set(EVERY) == {*ESTIMATORS, *COUNT_ESTIMATORS}
    rng = np.random.default_rng(0)
    pairs, rankings = simulate("BradleyTerry", 1_000, rng), simulate("AngleBased", 500, rng)
    assert (pairs.n_labels, pairs.n_items, set(pairs.sizes)) == (1_000, 20, {2})
    assert (rankings.n_labels, rankings.n_items, set(rankings.sizes)) == (500, FEW_ITEMS, {FEW_ITEMS})
    counts = simulate("CountFactorization", 1_000, rng)
    assert (counts.n_items, counts.n_annotators) == (20, 8)
