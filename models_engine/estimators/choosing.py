"""The automatic choice: which of several estimators predicts labels it has not seen best, and why, in words."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.data import Comparisons
from models_engine.errors import Cancelled, EngineError, InsufficientData
from models_engine.estimators.base import Estimator
from models_engine.linalg import sums
from models_engine.progress import Progress

__all__ = ["AUTOMATIC", "Choice", "Trial", "choose", "folds_of", "names_for", "paired_difference"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
AUTOMATIC = "Automatic"  # what is named in place of an estimator
SIMPLEST_FIRST = ("BradleyTerry", "PlackettLuce", "CrowdBT", "CollaborativeGP")
N_FOLDS = 5
ALL_FOLDS = 2_000  # labels up to which every fold is held out in turn; past them one fifth says enough
FEWEST_LABELS = 50
FEWEST_CLUSTERS = 10  # annotators from which the error allows for labels of one annotator going together


@dataclass(frozen=True)
class Trial:
    """One candidate: mean loss, minus log probability of a held-out label in nats; how much worse than the best one
    (0 for the best) and the standard error of that; `failed` says why there is no loss."""

    name: str
    loss: float = float("nan")
    difference: float = float("nan")
    error: float = float("nan")
    failed: str = ""


@dataclass(frozen=True)
class Choice:
    """The name chosen, the reason in a sentence, and all trials, simplest first. n_held_out: labels predicted."""

    name: str
    reason: str
    trials: tuple[Trial, ...]
    n_held_out: int


def names_for(data: Comparisons) -> list[str]:
    """The estimators an automatic choice tries, the simplest first; Plackett-Luce where more than two were shown."""
    return [name for name in SIMPLEST_FIRST if name != "PlackettLuce" or (data.sizes > 2).any()]


def folds_of(data: Comparisons, seed: int, n_folds: int = N_FOLDS) -> Ints:
    """(n_labels,) fold of each label, a function of the data and the seed alone.

    Answers of one annotator to one set of items share a fold, in whatever order it was shown: none is predicted from
    its own repetition.
    """
    asked: dict[tuple[int, ...], int] = {}
    question = np.empty(data.n_labels, dtype=np.int64)
    for label, (who, start, end) in enumerate(
        zip(data.annotators.tolist(), data.starts[:-1].tolist(), data.starts[1:].tolist(), strict=True)
    ):
        question[label] = asked.setdefault((who, *sorted(data.items[start:end].tolist())), len(asked))
    return (np.random.default_rng([seed, 1]).permutation(len(asked)) % n_folds)[question]


def paired_difference(worse: Floats, better: Floats, annotators: Ints) -> tuple[float, float]:
    """Mean of worse - better over labels (n,), and its standard error, labels of an annotator going together.

    With fewer than ten annotators labels count as independent. The error of a single label is infinite.
    """
    difference = worse - better
    _, cluster = np.unique(annotators, return_inverse=True)
    if cluster.max(initial=-1) + 1 < FEWEST_CLUSTERS:
        cluster = np.arange(len(difference))
    n_clusters = int(cluster.max(initial=-1)) + 1
    if n_clusters < 2:
        return float(difference.mean()), float("inf")
    apart = sums(cluster, difference - difference.mean(), n_clusters)
    error = np.sqrt(n_clusters / (n_clusters - 1) * (apart**2).sum()) / len(difference)
    return float(difference.mean()), float(error)


def choose(
    data: Comparisons, candidates: Mapping[str, Estimator], *, seed: int = 0, progress: Progress | None = None
) -> Choice:
    """Choose by the log probability of labels held out, five folds in turn or, past 2,000 labels, one of five.

    candidates: the simplest first; the first one within one standard error of the best is chosen (Breiman et al. 1984,
    3.4.3). One that fails is passed over. progress: as of a fit; it hears of every candidate's own steps.
    Raises InsufficientData where none can be fitted, Cancelled.
    """
    names = list(candidates)
    if len(names) == 1 or data.n_labels < FEWEST_LABELS:
        few = f"there are fewer than {FEWEST_LABELS} labels to compare by" if len(names) > 1 else "it is the only one"
        return Choice(names[0], f"{names[0]}, the simplest, because {few}.", (), 0)
    fold = folds_of(data, seed)
    tested = range(N_FOLDS) if data.n_labels <= ALL_FOLDS else range(1)
    held_out = np.concatenate([np.flatnonzero(fold == one) for one in tested])
    found: dict[str, Floats] = {}
    failed: dict[str, str] = {}
    for name, estimator in candidates.items():
        try:
            found[name] = np.concatenate([_losses(data, fold == one, estimator, seed, progress) for one in tested])
        except Cancelled:
            raise
        except EngineError as error:
            failed[name] = str(error)
    if not found:
        raise InsufficientData("no estimator could be fitted: " + " ".join(failed.values()))
    return _chosen(names, found, failed, data.annotators[held_out])


def _losses(
    data: Comparisons, out: NDArray[np.bool_], estimator: Estimator, seed: int, progress: Progress | None
) -> Floats:
    """Minus log probability of each label held out, given the others."""
    posterior = estimator.fit(data.subset(~out), rng=np.random.default_rng(seed), progress=progress)
    return -posterior.log_predictive(data.subset(out))


def _chosen(names: list[str], found: dict[str, Floats], failed: dict[str, str], annotators: Ints) -> Choice:
    best = min(found, key=lambda name: float(found[name].mean()))
    trials = []
    for name in names:
        if name in failed:
            trials.append(Trial(name, failed=failed[name]))
            continue
        difference, error = paired_difference(found[name], found[best], annotators) if name != best else (0.0, 0.0)
        trials.append(Trial(name, float(found[name].mean()), difference, error))
    chosen = next(one for one in trials if not one.failed and one.difference <= one.error)
    loss, n = float(found[best].mean()), len(annotators)
    if chosen.name == best:
        reason = f"{best} predicts {n:,} labels it had not seen best: it loses {loss:.4f} nats to a label."
    else:
        reason = (
            f"{chosen.name} predicts {n:,} labels it had not seen as well as the more elaborate {best}, within one "
            f"standard error: {chosen.difference:.4f} ± {chosen.error:.4f} nats a label worse. The simpler one wins."
        )
    return Choice(chosen.name, reason, tuple(trials), n)
