"""The least share of the balanced rule's labels that narrow intervals need, whichever pairs are chosen: by arithmetic.

It is of people whose care is known and utilities whose spread is known. How narrow intervals get goes by what answers
tell: an answer about a difference z tells I(z), most at z = 0. Of all ways to spread so much over the pairs the mean
standard deviation is least where each pair gets as much (it is convex in what pairs get, and no item is different
beforehand); an item's precision is then 1/sd^2 + 2 labels I/(n - 1).

The balanced rule's pairs differ as any two items do. Another rule can look for pairs that are equal, and knows them no
better than by the labels so far: the difference of a pair believed to be equal is N(0, v) with v = 2/precision, an
average pair's variance then, and no other pair of that variance is expected to tell more. So precision grows with each
label by at most 2 E[I(z)]/(n - 1), z ~ N(0, v).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from models_engine.analysis.collecting.worlds import Scenario, World, draw_world

__all__ = ["format_bounds", "information", "least_ratio"]

Floats = NDArray[np.float64]
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
STEP = 10  # labels at once
# A fit is out once `lag` labels came in and in use for as many more: it is this many lags old on the average.
AGE = 1.5


def information(world: World, variance: float) -> float:
    """Return E[I(z)], z ~ N(0, variance): Fisher's information of an answer about a difference, over who comes."""
    z = np.sqrt(variance) * NODES[:, None]
    lapse = 1 - world.reliability
    up, down = expit(z), expit(-z)  # by themselves: 1 - up is 0 where z is large
    slope = (1 - 2 * lapse) * up * down
    per_answer = slope**2 / ((lapse + (1 - 2 * lapse) * up) * (lapse + (1 - 2 * lapse) * down))
    return float(WEIGHTS @ (per_answer @ world.activity) / WEIGHTS.sum())


def least_ratio(world: World, n_labels: int, *, share: float = 0.0, age: float = 0.0) -> float:
    """Return the least labels for the mean width that the balanced rule reaches with n_labels, over n_labels.

    share: of balanced questions.   age: labels by which the fit that chooses is behind.
    """
    prior, each = float(world.truth.var()), 2 / (world.n_items - 1)
    balanced = information(world, 2 * prior)
    goal = 1 / prior + n_labels * each * balanced
    precisions = [1 / prior]
    behind = round(age / STEP)
    while precisions[-1] < goal:
        known = precisions[max(0, len(precisions) - 1 - behind)]
        gained = share * balanced + (1 - share) * information(world, 2 / known)
        precisions.append(precisions[-1] + STEP * each * gained)
    before, after = precisions[-2:]
    steps = len(precisions) - 2 + (goal - before) / (after - before)
    return steps * STEP / n_labels


def format_bounds(scenarios: dict[str, tuple[Scenario, int, int]], seeds: Sequence[int]) -> str:
    """Format means over crowds by scenario; scenarios by name, with their places, which decide with the seed what is
    drawn, and with the labels of the balanced rule."""
    lines = [f"{'':<10}{'none balanced, fits at once':>30}{'10% balanced, fits late':>27}"]
    for name, (scenario, place, n_labels) in scenarios.items():
        worlds = [draw_world(scenario, np.random.default_rng([seed, place])) for seed in seeds]
        shown = []
        for share, age in ((0.0, 0.0), (0.1, AGE * float(np.mean(scenario.lag)))):
            found = np.array([least_ratio(world, n_labels, share=share, age=age) for world in worlds])
            shown.append(f"{found.mean():.3f} ±{found.std(ddof=1) / np.sqrt(len(found)):.3f}")
        lines.append(f"{name:<10}{shown[0]:>30}{shown[1]:>27}")
    return "\n".join(lines)
