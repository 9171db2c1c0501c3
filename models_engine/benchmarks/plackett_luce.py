"""python -m models_engine.benchmarks plackett-luce: FeaturePlackettLuce on Sushi-B rankings of held-out people."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from models_engine.benchmarks.sushi_data import SushiData, read_sushi
from models_engine.data import Comparisons
from models_engine.estimators.feature_plackett_luce import GRID, FeaturePlackettLuce
from models_engine.estimators.feature_posterior import FeaturePosterior, scaled_features

__all__ = ["SplitScore", "auc", "main", "run", "top_k"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
N_TRAIN = 100
MODELS = {
    "VI, features alone": FeaturePlackettLuce(item_sd=0.0, inference="vi"),
    "MAP, features alone": FeaturePlackettLuce(item_sd=0.0, inference="map"),
    "default": FeaturePlackettLuce(),
}


@dataclass(frozen=True)
class SplitScore:
    """One model on one split: AUC over test pairs and top-10 value."""

    model: str
    repeat: int
    auc: float
    top_10: float


def auc(score: Floats, wins: Floats) -> float:
    """Return the area under the curve of score[a, b] for "a beats b", every answered pair in both orders (paper, 5.2).

    score (n, n): P(a beats b).   wins (n, n): how often a beat b. Equal scores count half.
    """
    a, b = np.nonzero((wins + wins.T) > 0)
    values, which = np.unique(score[a, b], return_inverse=True)
    positive = np.bincount(which.ravel(), wins[a, b], minlength=len(values))
    negative = np.bincount(which.ravel(), wins[b, a], minlength=len(values))
    below = np.cumsum(negative) - negative / 2
    return float(positive @ below / (positive.sum() * negative.sum()))


def top_k(score: Floats, wins: Floats, k: int) -> float:
    """Return the true value of the k items estimated best over that of the truly best k, (27) and (28)."""
    answered = wins + wins.T
    total = np.maximum(answered.sum(axis=1), 1)
    value, estimate = wins.sum(axis=1) / total, (score * answered).sum(axis=1) / total
    return float(value[np.argsort(-estimate)[:k]].sum() / np.sort(value)[-k:].sum())


def count_wins(rankings: Ints, n_items: int) -> Floats:
    """Count how often the row's item was ranked above the column's, (n_items, n_items)."""
    wins = np.zeros((n_items, n_items))
    for better in range(rankings.shape[1]):
        for worse in range(better + 1, rankings.shape[1]):
            np.add.at(wins, (rankings[:, better], rankings[:, worse]), 1)
    return wins


def run(data: SushiData, repeats: int, seed: int) -> tuple[list[SplitScore], dict[float, float], float]:
    """Score every model on `repeats` splits; also the mean bound at each eta (features alone) and its largest
    decrease.
    """
    scores: list[SplitScore] = []
    bounds, fall = {float(sd): 0.0 for sd in GRID}, -np.inf
    for repeat in range(repeats):
        people = np.random.default_rng([seed, repeat]).permutation(len(data.rankings_b))
        train = Comparisons.from_rankings(data.rankings_b[people[:N_TRAIN]], item_features=data.items)
        wins = count_wins(data.rankings_b[people[-len(people) // 3 :]], train.n_items)
        for name, estimator in MODELS.items():
            posterior = estimator.fit(train)
            probability = _plug_in(posterior) if name.startswith("MAP") else _integrated(posterior)
            scores.append(SplitScore(name, repeat, auc(probability, wins), top_k(probability, wins, 10)))
        for sd in bounds:
            trace = FeaturePlackettLuce(prior_sd=sd, item_sd=0.0, inference="vi").fit(train).diagnostics.objective
            bounds[sd] += trace[-1] / repeats
            fall = max(fall, float(-np.diff(trace).min()))
    n_columns = scaled_features(data.items, data.items).shape[1]
    return scores, {n_columns / sd**2: bound for sd, bound in bounds.items()}, fall


def _plug_in(posterior: FeaturePosterior) -> Floats:
    mean = posterior.utilities()
    return expit(mean[:, None] - mean[None, :])


def _integrated(posterior: FeaturePosterior) -> Floats:
    items = np.arange(posterior.n_items)
    return posterior.pairwise_probabilities(items[:, None], items[None, :])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the tables on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks plackett-luce", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the Sushi data's original files")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="also write every score to this file")
    options = parser.parse_args(arguments)
    scores, bounds, fall = run(read_sushi(options.data), options.repeats, options.seed)
    print(f"Sushi-B, {N_TRAIN} training rankings, a third of all people held out, {options.repeats} repeats")
    print(f"{'model':<22}{'AUC':>8}{'s.e.':>8}{'top-10':>9}")
    for model in MODELS:
        own = [one for one in scores if one.model == model]
        area = np.array([one.auc for one in own])
        error = area.std(ddof=1) / np.sqrt(len(area)) if len(area) > 1 else float("nan")
        top = np.mean([one.top_10 for one in own])
        print(f"{model:<22}{area.mean():>8.4f}{error:>8.4f}{top:>9.4f}")
    print(
        "mean bound on log p(labels) by eta:", *(f"{eta:.4g}: {bound:.2f}" for eta, bound in bounds.items()), sep="\n  "
    )
    print(f"the bound increased by at least {-fall:.3g} in every step")
    if options.json:
        options.json.write_text(json.dumps({"scores": [asdict(one) for one in scores], "bounds": bounds}, indent=1))
    return 0
