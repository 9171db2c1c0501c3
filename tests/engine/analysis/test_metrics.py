"""Scores against their definitions, on cases small enough to count by hand."""

import math

import numpy as np
import pytest

from models_engine.analysis.metrics import (
    accuracy,
    auc_unequal_grades,
    calibration_slope,
    coverage,
    cross_entropy,
    kendall_tau_mean,
    kendall_tau_pooled,
    mean_width,
    spearman,
)
from models_engine.covariance.forms import DenseCovariance
from models_engine.posterior import Diagnostics, GaussianPosterior


def test_accuracy_ignores_ties_and_counts_one_half_as_half():
    assert accuracy([0.9, 0.2, 0.5, 0.9], [1, 1, 0, 0.5]) == pytest.approx((1 + 0 + 0.5) / 3)
    assert math.isnan(accuracy([0.9], [0.5]))


def test_cross_entropy():
    expected = -(math.log(0.9) + math.log(0.8) + (math.log(0.6) + math.log(0.4)) / 2) / 3
    assert cross_entropy([0.9, 0.2, 0.6], [1, 0, 0.5]) == pytest.approx(expected)
    assert cross_entropy([0.5, 0.5], [1, 0]) == pytest.approx(math.log(2))
    assert cross_entropy([1.0, 0.0], [1, 0]) == 0
    assert cross_entropy([0.0], [1]) == math.inf


def tau_b(a, b):
    """Kendall 1945 from its definition."""
    i, j = np.triu_indices(len(a), 1)
    x, y = np.sign(a[i] - a[j]), np.sign(b[i] - b[j])
    return (x * y).sum() / math.sqrt((x != 0).sum() * (y != 0).sum())


def test_kendall_tau_by_annotator_and_pooled():
    rng = np.random.default_rng(0)
    predicted, gold = rng.normal(size=(4, 7)), rng.integers(0, 5, size=(4, 7)).astype(float)
    each = [tau_b(a, b) for a, b in zip(predicted, gold, strict=True)]
    assert kendall_tau_mean(predicted, gold) == pytest.approx(np.mean(each))
    assert kendall_tau_pooled(predicted, gold) == pytest.approx(tau_b(predicted.ravel(), gold.ravel()))


def test_spearman_and_auc():
    assert spearman([1, 2, 3, 10], [4, 5, 6, 7]) == pytest.approx(1)
    score, grade = np.array([0.1, 0.4, 0.4, 0.9]), np.array([1, 1, 2, 3])
    # pairs of unequal grade: (2,0) right, (2,1) equal, (3,0) (3,1) (3,2) right
    assert auc_unequal_grades(score, grade) == pytest.approx(4.5 / 5)
    assert auc_unequal_grades(-score, grade) == pytest.approx(0.5 / 5)
    assert math.isnan(auc_unequal_grades(score, np.ones(4)))


def test_coverage_width_and_slope():
    spread = DenseCovariance(np.diag([1.0, 1.0, 0.01]))
    posterior = GaussianPosterior(np.array([1.0, 0.0, -1.0]), spread, Diagnostics(True, 1, (0.0,), 0.1, ""))
    truth = np.array([2.0, 0.1, -2.1])
    assert coverage(posterior, truth, level=0.9) == pytest.approx(2 / 3)
    assert coverage(posterior, truth + 5, level=0.9) == pytest.approx(2 / 3), "a common shift means nothing"
    assert mean_width(posterior, level=0.9) == pytest.approx(2 * 1.6448536 * 2.1 / 3)
    assert calibration_slope(posterior, truth) == pytest.approx((2.0 + 2.1) / 2)
