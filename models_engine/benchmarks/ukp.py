"""Which argument is more convincing on an unseen topic (UKPConvArg1): one topic held out at a time, texts known."""

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit

from models_engine.analysis.metrics import accuracy, cross_entropy
from models_engine.analysis.text_features import log_lengths, text_features
from models_engine.benchmarks.crowd_data import read_ukp, read_ukp_texts
from models_engine.benchmarks.fits import measure_fit, parse_estimator_names
from models_engine.benchmarks.machine import describe_machine
from models_engine.data import Comparisons
from models_engine.errors import NotConverged
from models_engine.estimators.settings import build_estimator
from models_engine.estimators.table import ESTIMATORS
from models_engine.posterior import BasePosterior

__all__ = [
    "CHANCE",
    "LENGTH",
    "TopicScore",
    "length_slope",
    "main",
    "personal_probabilities",
    "run",
    "summarise_scores",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CHANCE, LENGTH = "chance", "longer text"
# For thirty-two fits to a thousand arguments; more inducing points do not improve predictions.
SETTINGS: dict[str, dict[str, Any]] = {"GPPL": {"n_inducing": 100, "tolerance": 1e-4}}
NO_TEXTS = "The folder has no texts, so arguments of a held-out topic cannot be distinguished: every P is 1/2."


@dataclass(frozen=True)
class TopicScore:
    """Score of one predictor on the untied answers of a held-out topic. loss: in nats.   cpu_s: of the fit."""

    predictor: str
    topic: int
    n_answers: int
    accuracy: float
    loss: float
    cpu_s: float | None = None


def length_slope(train: Comparisons, lengths: Floats) -> float:
    """Fit the slope of a logistic regression of untied answers on the difference in log length, prior N(0, 10^2)."""
    pairs = train.pairs()
    decided = pairs.outcome != 0.5
    longer = np.where(pairs.outcome == 1, 1, -1)[decided] * (lengths[pairs.left] - lengths[pairs.right])[decided]
    best = minimize_scalar(lambda slope: slope**2 / 200 - log_expit(slope * longer).sum(), bracket=(0.0, 1.0))
    return float(best.x)


def run(
    folder: Path,
    names: Sequence[str],
    width: int,
    n_topics: int | None = None,
    *,
    personal: bool = False,
    min_pairs: int = 0,
    sample: bool = False,
) -> list[TopicScore]:
    """Score every predictor on each of the first n_topics topics.

    personal: estimators that know of tastes also predict each answer by its annotator's own utilities ("NAME, own").
    min_pairs: of how many answers on the other topics an annotator needs more for theirs to be scored (0: any).
    sample: of the labels, as `read_ukp`.
    """
    data, topics = read_ukp(folder, sample=sample)
    texts = read_ukp_texts(folder)
    if texts is not None:
        data = replace(data, item_features=text_features(texts, width))
    lengths = None if texts is None else log_lengths(texts)
    own = topics[data.pairs().left]  # arguments are only compared within a topic
    scores = []
    for topic in np.unique(topics)[:n_topics]:
        train, test = data.subset(own != topic), data.subset(own == topic).pairs()
        known = np.bincount(train.annotators, minlength=data.n_annotators)[test.annotator]
        scoring = (test.outcome != 0.5) & ((known > min_pairs) | (min_pairs == 0))
        left, right, outcome, who = (
            column[scoring] for column in (test.left, test.right, test.outcome, test.annotator)
        )
        if not len(left):
            continue

        def scored(
            name: str, p: Floats, cpu_s: float | None = None, y: Floats = outcome, of: int = topic
        ) -> TopicScore:
            return TopicScore(name, int(of), len(y), accuracy(p, y), cross_entropy(p, y), cpu_s)

        scores.append(scored(CHANCE, np.full(len(left), 0.5)))
        if lengths is not None:
            scores.append(scored(LENGTH, expit(length_slope(train, lengths) * (lengths[left] - lengths[right]))))
        for name in names:
            estimator = build_estimator(ESTIMATORS[name].estimator, SETTINGS.get(name, {}))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotConverged)  # predictions are scored even if not converged
                posterior, cost = measure_fit(estimator, train)
            scores.append(scored(name, posterior.pairwise_probabilities(left, right), cost.cpu_s))
            if personal and posterior.is_personal:
                scores.append(scored(f"{name}, own", personal_probabilities(posterior, left, right, who)))
            print(f"{scores[-1]}", file=sys.stderr, flush=True)
    return scores


def personal_probabilities(posterior: BasePosterior, left: Ints, right: Ints, annotators: Ints) -> Floats:
    """Return P(left preferred) of each answer by its annotator's own utilities, (n,)."""
    found = np.empty(len(left))
    for annotator in np.unique(annotators):
        rows = np.flatnonzero(annotators == annotator)
        found[rows] = posterior.pairwise_probabilities(left[rows], right[rows], int(annotator))
    return found


def summarise_scores(scores: Sequence[TopicScore]) -> list[dict[str, Any]]:
    """Summarise by predictor: means over topics, and differences from the longer text's with standard errors."""
    rows = []
    for name in dict.fromkeys(one.predictor for one in scores):
        own = {one.topic: one for one in scores if one.predictor == name}
        row: dict[str, Any] = {"predictor": name, "topics": len(own)}
        for figure in ("accuracy", "loss"):
            row[figure] = float(np.mean([getattr(one, figure) for one in own.values()]))
            other = {one.topic: getattr(one, figure) for one in scores if one.predictor == LENGTH}
            if other and name != LENGTH:
                over = np.array([getattr(one, figure) - other[topic] for topic, one in own.items()])
                error = float(over.std(ddof=1) / np.sqrt(len(over))) if len(over) > 1 else None
                row[f"{figure}_over_length"] = (float(over.mean()), error)
        seconds = [one.cpu_s for one in own.values() if one.cpu_s is not None]
        row["cpu_s"] = float(np.mean(seconds)) if seconds else None
        rows.append(row)
    return rows


def format_table(scores: Sequence[TopicScore]) -> str:
    """Format one line per topic, then the means."""
    names = list(dict.fromkeys(one.predictor for one in scores))
    lines = [f"{'topic':<8}{'answers':>8}" + "".join(f"{name:>24}" for name in names)]
    found = {(one.topic, one.predictor): one for one in scores}
    for topic in dict.fromkeys(one.topic for one in scores):
        cells = "".join(f"{found[topic, name].accuracy:>15.3f}{found[topic, name].loss:>9.4f}" for name in names)
        lines.append(f"{topic:<8}{found[topic, names[0]].n_answers:>8}{cells}")
    lines += ["", f"{'mean over topics':<22}{'accuracy':>10}{'log loss':>10}{'CPU s':>8}   minus the longer text's"]
    for row in summarise_scores(scores):
        seconds = "" if row["cpu_s"] is None else f"{row['cpu_s']:.1f}"
        line = f"{row['predictor']:<22}{row['accuracy']:>10.4f}{row['loss']:>10.4f}{seconds:>8}"
        for figure in ("accuracy", "loss"):
            mean, error = row.get(f"{figure}_over_length", (None, None))
            if mean is not None:
                line += f"   {mean:+.4f}" + ("" if error is None else f" ± {error:.4f}")
        lines.append(line)
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Run the command; progress on stderr, the table on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks ukp", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of ukpconvarg1")
    parser.add_argument("--estimators", default="GPPL,FeaturePlackettLuce", help="names, separated by commas")
    parser.add_argument("--width", type=int, default=50, help="number of singular vectors of the words")
    parser.add_argument("--topics", type=int, help="number of topics to hold out, one at a time (default all)")
    parser.add_argument("--personal", action="store_true", help="also by each annotator's own utilities")
    parser.add_argument("--min-pairs", type=int, default=0, help="score only annotators of more answers elsewhere")
    parser.add_argument("--sample", action="store_true", help="one label of each pair, as crowd_gppl's Table 3")
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    options = parser.parse_args(arguments)
    names = parse_estimator_names(options.estimators)
    texts = read_ukp_texts(options.data)
    chosen = {"personal": options.personal, "min_pairs": options.min_pairs, "sample": options.sample}
    scores = run(options.data, names, options.width, options.topics, **chosen)
    known = chosen | {
        "measured": describe_machine(),
        "width": options.width,
        "texts": texts is not None,
        "settings": SETTINGS,
    }
    print(known["measured"])
    print("Per topic: accuracy and log loss on its untied answers, all held out; its texts are known.")
    if texts is None:
        print(NO_TEXTS)
    print(format_table(scores))
    if options.json:
        found = {"facts": known, "means": summarise_scores(scores), "scores": [asdict(one) for one in scores]}
        options.json.write_text(json.dumps(found, indent=1))
    return 0
