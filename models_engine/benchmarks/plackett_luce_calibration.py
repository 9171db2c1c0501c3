"""Whether FeaturePlackettLuce knows how sure it is: outcomes of test pairs by posterior mean and standard deviation."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from models_engine.benchmarks.plackett_luce_splits import count_wins
from models_engine.benchmarks.sushi_data import SushiData
from models_engine.data import Comparisons
from models_engine.estimators.feature_plackett_luce import FeaturePlackettLuce
from models_engine.posterior import GaussianPosterior

__all__ = ["CalibrationCell", "ExpertScore", "calibrate", "format_cells", "format_experts", "score_experts"]

Floats = NDArray[np.float64]
MEANS = (0.0, 0.25, 0.5, 1.0, 1.5, np.inf)
N_SDS = 3
N_OWN = 5  # items that a person's own fit learns from; the other five are tested


@dataclass(frozen=True)
class CalibrationCell:
    """Test pairs of one bin of mean and one third by sd, oriented so that the mean is positive.

    low, high: bounds of the mean; sd: mean posterior standard deviation; n: answers; positive: the share of them that
    the first item won (the paper's PR), error its standard error over splits; expected: mean of E[sigmoid(difference)].
    """

    low: float
    high: float
    third: int
    sd: float
    n: float
    positive: float
    error: float
    expected: float


@dataclass(frozen=True)
class ExpertScore:
    """One person's own fit. sd: mean posterior sd over test pairs; right: share of those whose likelier item won;
    expected: share that the fit expects. seen: the pairs are of items fitted, else of items that it never saw."""

    seen: bool
    sd: float
    right: float
    expected: float


def calibrate(fits: Sequence[tuple[GaussianPosterior, Floats]]) -> list[CalibrationCell]:
    """Bin test pairs of all splits by posterior mean and sd of the difference.

    fits: of each split the posterior of the tested items, and how often the row's item beat the column's.
    Thirds by sd are of all answered pairs, so that each has as many answers.
    """
    parts = [
        np.column_stack([_moments(posterior, wins), np.full(_n_pairs(wins), k)])
        for k, (posterior, wins) in enumerate(fits)
    ]
    mean, sd, expected, won, n, fold = np.concatenate(parts).T
    order = np.argsort(sd, kind="stable")
    third = np.empty(len(sd), dtype=np.int64)
    third[order] = np.minimum(np.cumsum(n[order]) / n.sum() * N_SDS, N_SDS - 1e-9).astype(np.int64)
    cells = []
    for low, high in pairwise(MEANS):
        for one in range(N_SDS):
            rows = (mean >= low) & (mean < high) & (third == one)
            if not n[rows].sum():
                continue
            total = n[rows].sum()
            each = [won[rows & (fold == k)].sum() / n[rows & (fold == k)].sum() for k in np.unique(fold[rows])]
            error = float(np.std(each, ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("nan")
            cells.append(
                CalibrationCell(
                    low,
                    high,
                    one,
                    float(sd[rows] @ n[rows] / total),
                    float(total),
                    float(won[rows].sum() / total),
                    error,
                    float(expected[rows] @ n[rows] / total),
                )
            )
    return cells


def _n_pairs(wins: Floats) -> int:
    return int(np.count_nonzero(np.triu(wins + wins.T, 1)))


def _moments(posterior: GaussianPosterior, wins: Floats) -> Floats:
    """Return mean >= 0, sd, P(the first wins), wins of the first and answers of each answered pair, (n_pairs, 5)."""
    a, b = np.nonzero(np.triu(wins + wins.T, 1))
    mean = posterior.utilities()[a] - posterior.utilities()[b]
    swap = mean < 0
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    sd = np.sqrt(np.maximum(posterior.difference_variance(a, b), 0.0))
    probability = posterior.pairwise_probabilities(a, b)
    return np.column_stack([np.abs(mean), sd, probability, wins[a, b], wins[a, b] + wins[b, a]])


def score_experts(data: SushiData, n_people: int, seed: int) -> list[ExpertScore]:
    """Fit people one by one, each on a ranking of half of their ten items; test pairs are of the other half, and of the
    ten on 15 of whose 45 pairs another fit learns.
    """
    rng = np.random.default_rng([seed, 5])
    scores = []
    estimator = FeaturePlackettLuce(item_sd=0.0, inference="vi")
    for person in rng.choice(len(data.rankings_b), n_people, replace=False):
        ranking = data.rankings_b[person]
        features = data.items[ranking]  # items are numbered by place from here on: 0 is the best
        own = np.sort(rng.permutation(len(ranking))[:N_OWN])
        other = np.setdiff1d(np.arange(len(ranking)), own)
        fit = estimator.fit(Comparisons.from_rankings([np.arange(N_OWN)], n_items=N_OWN, item_features=features[own]))
        scores.append(_expert(fit.at(features[other]), count_wins(np.arange(len(other))[None], len(other)), seen=False))
        better, worse = np.triu_indices(len(ranking), 1)
        order = rng.permutation(len(better))
        chosen, tested = np.split(order, [len(order) // 3])
        train = Comparisons.from_pairs(
            better[chosen],
            worse[chosen],
            np.ones(len(chosen), dtype=np.int64),
            n_items=len(ranking),
            item_features=features,
        )
        wins = np.zeros((len(ranking), len(ranking)))
        wins[better[tested], worse[tested]] = 1
        scores.append(_expert(estimator.fit(train), wins, seen=True))
    return scores


def _expert(posterior: GaussianPosterior, wins: Floats, *, seen: bool) -> ExpertScore:
    _, sd, expected, won, n = _moments(posterior, wins).T
    return ExpertScore(seen, float(sd.mean()), float(won.sum() / n.sum()), float(expected.mean()))


def format_cells(cells: Sequence[CalibrationCell]) -> str:
    """Format cells, a line each."""
    lines = [f"{'mean':>12}{'third':>7}{'sd':>7}{'answers':>10}{'positive':>10}{'s.e.':>8}{'expected':>10}"]
    for one in cells:
        lines.append(
            f"{f'{one.low:g} to {one.high:g}':>12}{one.third + 1:>7}{one.sd:>7.3f}{one.n:>10.0f}{one.positive:>10.4f}"
            f"{one.error:>8.4f}{one.expected:>10.4f}"
        )
    return "\n".join(lines)


def format_experts(scores: Sequence[ExpertScore]) -> str:
    """Format the share of right predictions by quarters of people ordered by their mean standard deviation."""
    lines = [f"{'pairs of items':<16}{'quarter':>8}{'sd':>8}{'right':>9}{'s.e.':>8}{'expected':>10}"]
    for seen in (True, False):
        own = sorted((one for one in scores if one.seen == seen), key=lambda one: one.sd)
        for quarter, group in enumerate(np.array_split(np.arange(len(own)), min(4, len(own))), 1):
            values = np.array([[own[k].sd, own[k].right, own[k].expected] for k in group])
            error = values[:, 1].std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
            sd, right, expected = values.mean(axis=0)
            name = "fitted" if seen else "never seen"
            lines.append(f"{name:<16}{quarter:>8}{sd:>8.3f}{right:>9.4f}{error:>8.4f}{expected:>10.4f}")
    return "\n".join(lines)
