"""Planning by simulation: expected reliability, interval width and top items for a number of people and answers."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from models_engine.analysis.plan_design import Design
from models_engine.analysis.scores import compute_scores
from models_engine.data import Comparisons
from models_engine.errors import NotConverged
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.estimators.plackett_luce import PlackettLuce
from models_engine.posterior import BasePosterior
from models_engine.simulate import Crowd, simulate_crowd

__all__ = ["Band", "Plan", "fit_answers", "plan_project", "simulate_answers", "top_share"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
N_CROWDS = 40
MAX_ITEMS, MAX_LABELS = 200, 6_000  # simulated; more of either is scaled
MAX_VARIATIONAL = 100  # items
N_TOPS = 8  # times the top is drawn from each simulated crowd, where there are more items than simulated
LEVEL = 0.9


@dataclass(frozen=True)
class Band:
    """Mean over simulated crowds, and the range of nine of ten."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class Plan:
    """Cost and expected results of a design.

    n_answers: with checks.   n_labels: those that count.   showings: how often each item is shown, on average.
    minutes_each, minutes, cost: of one person, of all.
    reliability: squared correlation of estimate and truth, which scale-separation reliability estimates.
    width: mean width of the items' 90% intervals, in logits.   score_width: the same in points of score.
    top: the chance that one of the true best `design.top` is placed among the first that many.
    is_scaled: the design is larger than what was simulated.
    """

    n_answers: int
    n_labels: int
    showings: float
    minutes_each: float
    minutes: float
    cost: float
    reliability: Band
    width: Band
    score_width: Band
    top: Band
    is_scaled: bool


def plan_project(design: Design, *, seed: int = 0, n_crowds: int = N_CROWDS) -> Plan:
    """Simulate the expected results of a design; the same design and seed give the same plan. Raises InvalidDesign.

    N_CROWDS crowds are drawn whose utilities spread by design.utility_sd, itself uncertain by design.spread_factor
    (log-normal, at evenly spaced quantiles). Each answers as many balanced sets as the design has answers that count,
    and is fitted: pairs by BradleyTerry, larger sets by PlackettLuce. The band holds nine of ten crowds; it does not
    count that people may differ in taste, unless design.taste_sd says so.

    Past MAX_ITEMS items, as many are simulated with as many showings of each, on which reliability and width depend,
    and the top is drawn from the simulated truths and errors. Past MAX_LABELS answers, errors shrink with the root of
    their number. `python -m models_engine.benchmarks plan` measures how far both are off.
    """
    n_items = min(design.n_items, MAX_ITEMS)
    wanted = design.n_labels * n_items / design.n_items
    n_labels = min(round(wanted), MAX_LABELS)
    shrink = float(np.sqrt(min(n_labels / wanted, 1.0)))
    rows = []
    for number in range(n_crowds):
        rng = np.random.default_rng([seed, number])
        sd = design.utility_sd * float(design.spread_factor ** ndtri((number + 0.5) / n_crowds))
        people = simulate_crowd(rng, n_items, design.n_people, utility_sd=sd, taste_sd=design.taste_sd)
        fit = fit_answers(simulate_answers(people, design, n_labels, rng), sd)
        rows.append(_figures(design, fit, people.utilities, shrink, rng))
    reliability, width, score_width, top = (_band(column) for column in np.array(rows).T)
    minutes = design.answers_each * design.minutes_per_answer
    return Plan(
        design.n_people * design.answers_each,
        design.n_labels,
        design.n_labels * design.k / design.n_items,
        minutes,
        minutes * design.n_people,
        minutes * design.n_people / 60 * design.cost_per_hour,
        reliability,
        width,
        score_width,
        top,
        n_items < design.n_items or shrink < 1,
    )


def simulate_answers(people: Crowd, design: Design, n_labels: int, rng: np.random.Generator) -> Comparisons:
    """Simulate n_labels answers of the design's kind to sets that show all items about equally often."""
    k, sets = design.k, _balanced_sets(people.n_items, design.k, n_labels, rng)
    if design.kind == "pairs":
        return people.pairs(n_labels, rng, shown=sets)
    if design.kind == "choices":
        return people.choices(n_labels, k, rng, shown=sets)
    if design.kind == "best_worst":
        return people.best_worst(n_labels, k, rng, shown=sets)
    return people.rankings(n_labels, k, rng, shown=sets)


def fit_answers(data: Comparisons, utility_sd: float) -> BasePosterior:
    """Fit pairs by BradleyTerry, larger sets by PlackettLuce, with the crowd's own standard deviation as the
    prior's.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        if data.n_labels and data.sizes[0] > 2:
            return PlackettLuce(prior_sd=utility_sd).fit(data)
        by_mode = data.n_items > MAX_VARIATIONAL
        return BradleyTerry(prior_sd=utility_sd, inference="map" if by_mode else "variational").fit(data)


def _balanced_sets(n_items: int, k: int, n_labels: int, rng: np.random.Generator) -> Ints:
    """Draw sets (n_labels, k) by repeatedly splitting the items in random order."""
    per_round = n_items // k
    n_rounds = -(-n_labels // per_round)
    rounds = rng.permuted(np.tile(np.arange(n_items), (max(n_rounds, 1), 1)), axis=1)[:, : per_round * k]
    return rounds.reshape(-1, k)[:n_labels]


def _figures(
    design: Design, fit: BasePosterior, truth: Floats, shrink: float, rng: np.random.Generator
) -> tuple[float, float, float, float]:
    """Return (reliability, width, score width, share of the top found) of one simulated crowd."""
    mean, deviation, found = fit.utilities(), fit.standard_deviations(), compute_scores(fit)
    width = 2 * float(ndtri((1 + LEVEL) / 2)) * float(deviation.mean()) * shrink
    estimate = truth + (mean - truth) * shrink
    reliability = float(np.corrcoef(estimate, truth)[0, 1] ** 2) if estimate.any() else 0.0
    if design.n_items <= len(truth):
        top = top_share(truth, estimate, design.top)
    else:
        drawn = [rng.integers(len(truth), size=design.n_items) for _ in range(N_TOPS)]
        jitter = 1e-9 * rng.standard_normal(design.n_items)  # the same item drawn twice: either may be the better
        top = float(np.mean([top_share(truth[one] + jitter, estimate[one], design.top) for one in drawn]))
    return reliability, width, float((found.high - found.low).mean()) * shrink, top


def top_share(truth: Floats, estimate: Floats, k: int) -> float:
    """Return share of the k truly best that are among the k estimated best; 1 where there are no more than k."""
    if k >= len(truth):
        return 1.0
    return len(np.intersect1d(np.argsort(-truth)[:k], np.argsort(-estimate)[:k])) / k


def _band(column: Floats) -> Band:
    low, high = np.quantile(column, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Band(float(low), float(column.mean()), float(high))
