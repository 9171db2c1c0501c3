"""python -m models_engine.benchmarks plackett-luce: FeaturePlackettLuce on Sushi-B rankings, people or items held out.

Guo et al., Variational Inference from Ranked Samples with Features: Figures 1 to 5 and Tables 3 and 4.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from models_engine.benchmarks.plackett_luce_calibration import calibrate, format_cells, format_experts, score_experts
from models_engine.benchmarks.plackett_luce_splits import Form, Partition, RankingSplit, split
from models_engine.benchmarks.sushi_data import SushiData, read_sushi
from models_engine.estimators.feature_plackett_luce import GRID, FeaturePlackettLuce
from models_engine.estimators.feature_posterior import FeaturePosterior
from models_engine.posterior import GaussianPosterior

__all__ = ["SIZES", "Setting", "SplitScore", "auc", "main", "run", "top_k"]

Floats = NDArray[np.float64]
SIZES = (10, 15, 20)
N_TRAIN = {"rankings": 100, "pairs": 1_000}
DEFAULT = "default"


@dataclass(frozen=True)
class Setting:
    """What is held out. partition and form: see `split`; people: rankings in all, 500 in the paper's Table 2."""

    partition: Partition = "labels"
    form: Form = "rankings"
    people: int = 5_000


@dataclass(frozen=True)
class SplitScore:
    """One model on one split: AUC over test pairs and top-K values by K. eta None: averaged by the evidence.

    bound: of log p(labels), for "VI" alone; fall: its largest decrease in a step, at most rounding error.
    """

    model: str
    eta: float | None
    repeat: int
    auc: float
    top: tuple[float, ...]
    bound: float | None = None
    fall: float | None = None


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


def run(data: SushiData, repeats: int, seed: int, setting: Setting) -> tuple[list[SplitScore], list[RankingSplit]]:
    """Score VI and MAP at every eta, features alone, and the default estimator on `repeats` splits; also the splits."""
    scores: list[SplitScore] = []
    splits = []
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, repeat])
        people = rng.permutation(len(data.rankings_b))[: setting.people]
        held = split(data.rankings_b[people], data.items, setting.partition, setting.form, N_TRAIN[setting.form], rng)
        splits.append(held)
        for sd in GRID:
            scores += [_score(model, held, float(sd), data.items.shape[1], repeat) for model in ("VI", "MAP")]
        scores.append(_score(DEFAULT, held, None, data.items.shape[1], repeat))
        print(f"split {repeat + 1} of {repeats}", file=sys.stderr, flush=True)
    return scores, splits


def _score(model: str, held: RankingSplit, sd: float | None, n_columns: int, repeat: int) -> SplitScore:
    inference: Literal["map", "vi"] = "vi" if model == "VI" else "map"
    estimator = FeaturePlackettLuce() if sd is None else FeaturePlackettLuce(sd, item_sd=0.0, inference=inference)
    fit = estimator.fit(held.train)
    tested = tested_items(fit, held)
    score = _plug_in(tested) if model == "MAP" else _integrated(tested)
    top = tuple(top_k(score, held.wins, min(k, len(score))) for k in SIZES)
    trace = fit.diagnostics.objective
    eta = None if sd is None else n_columns / sd**2
    bound = (trace[-1], float(-np.diff(trace).min(initial=0.0))) if model == "VI" else (None, None)
    return SplitScore(model, eta, repeat, auc(score, held.wins), top, *bound)


def tested_items(fit: FeaturePosterior, held: RankingSplit) -> GaussianPosterior:
    """Return the posterior of the tested items' utilities."""
    return fit if held.features is None else fit.at(held.features)


def _plug_in(posterior: GaussianPosterior) -> Floats:
    mean = posterior.utilities()
    return expit(mean[:, None] - mean[None, :])


def _integrated(posterior: GaussianPosterior) -> Floats:
    items = np.arange(posterior.n_items)
    return posterior.pairwise_probabilities(items[:, None], items[None, :])


def format_scores(scores: Sequence[SplitScore]) -> str:
    """Format Tables 3 and 4 (eta* best on the held-out labels, eta_L by the bound), then every eta (Figures 1 to 3)."""
    etas = list(dict.fromkeys(one.eta for one in scores if one.eta is not None))
    means = {(model, eta): _mean_row(scores, model, eta) for model in ("VI", "MAP") for eta in etas}
    bounds = {
        eta: np.mean([float(one.bound or 0) for one in scores if one.model == "VI" and one.eta == eta]) for eta in etas
    }
    by_bound = max(etas, key=lambda eta: bounds[eta])
    names = ["AUC", *(f"top-{k}" for k in SIZES)]
    lines = [f"{'':<14}{'VI, eta*':>18}{'MAP, eta*':>18}{'VI, eta_L':>18}{'MAP, eta_L':>18}{'default':>18}"]
    for row, name in enumerate(names):
        best = [max((means[model, eta][row] for eta in etas), key=lambda found: found[0]) for model in ("VI", "MAP")]
        cells = [*best, means["VI", by_bound][row], means["MAP", by_bound][row], _mean_row(scores, DEFAULT, None)[row]]
        lines.append(f"{name:<14}" + "".join(f"{mean:>10.4f} ±{error:.4f}" for mean, error in cells))
    lines.append(
        f"{'eta':>10}{'bound':>12}{'VI: AUC':>9}"
        + "".join(f"{name:>8}" for name in names[1:])
        + f"{'MAP: AUC':>10}"
        + "".join(f"{name:>8}" for name in names[1:])
    )
    for eta in etas:
        vi, mode = ([mean for mean, _ in means[model, eta]] for model in ("VI", "MAP"))
        lines.append(
            f"{eta:>10.4g}{bounds[eta]:>12.2f}{vi[0]:>9.4f}"
            + "".join(f"{one:>8.4f}" for one in vi[1:])
            + f"{mode[0]:>10.4f}"
            + "".join(f"{one:>8.4f}" for one in mode[1:])
        )
    fall = max(one.fall for one in scores if one.fall is not None)
    lines.append(f"eta_L = {by_bound:.4g}; the bound increased by at least {-fall:.3g} in every step")
    return "\n".join(lines)


def _mean_row(scores: Sequence[SplitScore], model: str, eta: float | None) -> list[tuple[float, float]]:
    """Return mean and standard error of AUC and of each top-K over splits."""
    values = np.array([[one.auc, *one.top] for one in scores if one.model == model and one.eta == eta])
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.full(values.shape[1], np.nan)
    return list(zip(values.mean(axis=0).tolist(), error.tolist(), strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; progress on stderr, the tables on stdout."""
    options = _parser().parse_args(arguments)
    data = read_sushi(options.data)
    setting = Setting(options.partition, options.form, options.people)
    scores, splits = run(data, options.repeats, options.seed, setting)
    n_train, n_tested = np.mean([held.train.n_labels for held in splits]), np.mean([held.wins.sum() for held in splits])
    print(f"Sushi-B, {setting}: {n_train:.0f} training labels, {n_tested:.0f} test pairs, {options.repeats} repeats")
    print(format_scores(scores))
    if options.calibration:
        estimators = [FeaturePlackettLuce(item_sd=0.0, inference="vi"), FeaturePlackettLuce(item_sd=0.0)]
        for estimator in estimators:
            cells = calibrate([(tested_items(estimator.fit(held.train), held), held.wins) for held in splits])
            print(
                f"{estimator.inference}: test pairs by posterior mean and sd of the difference (Figure 4)",
                format_cells(cells),
                sep="\n",
            )
    if options.experts:
        print(f"{options.experts} people, each fitted alone (Figure 5)")
        print(format_experts(score_experts(data, options.experts, options.seed)))
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in scores], indent=1))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks plackett-luce", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the Sushi data's original files")
    parser.add_argument(
        "--partition", choices=("labels", "items"), default="labels", help="what is held out: L or N partition"
    )
    parser.add_argument("--form", choices=("rankings", "pairs"), default="rankings", help="pairs: one of each ranking")
    parser.add_argument("--people", type=int, default=5_000, help="rankings in all; the paper's Table 2 says 500")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--calibration", action="store_true", help="bins of mean and standard deviation (Figure 4)")
    parser.add_argument("--experts", type=int, default=0, help="people to fit alone (Figure 5)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="also write every score to this file")
    return parser
