"""The automatic choice of the estimator that predicts held-out labels best, with the reason in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.constants import MIN_LABELS_TO_CHOOSE
from models_engine.data import Comparisons
from models_engine.errors import Cancelled, EngineError, InsufficientData
from models_engine.estimators.base import Estimator
from models_engine.executor import map_tasks
from models_engine.linalg import sum_by_group
from models_engine.messages import Message, gettext_noop, message_of
from models_engine.progress import Progress

__all__ = ["AUTOMATIC", "Choice", "Trial", "assign_folds", "candidate_names", "choose_estimator", "paired_difference"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
AUTOMATIC = "Automatic"  # the name used in place of an estimator's
SIMPLEST_FIRST = ("BradleyTerry", "PlackettLuce", "AngleBased", "CrowdBT", "AngleBasedMixture", "CollaborativeGP")
OF_FULL_RANKINGS = frozenset({"AngleBased", "AngleBasedMixture"})
N_FOLDS = 5
MAX_LABELS_ALL_FOLDS = 2_000  # up to which every fold is held out in turn; above it one fifth is enough
MIN_CLUSTERS = 10  # annotators from which the standard error is clustered by annotator


@dataclass(frozen=True)
class Trial:
    """One candidate: mean loss, minus log probability of a held-out label in nats; difference from the best one.

    error: standard error of the difference.   failed: why there is no loss.
    """

    name: str
    loss: float = float("nan")
    difference: float = float("nan")
    error: float = float("nan")
    failed: str = ""


@dataclass(frozen=True)
class Choice:
    """The chosen name, the reason in a sentence, and all trials, simplest first. n_held_out: labels predicted."""

    name: str
    reason: str
    trials: tuple[Trial, ...]
    n_held_out: int


def candidate_names(data: Comparisons) -> list[str]:
    """List the estimators of an automatic choice, the simplest first; Plackett-Luce if sets have more than two
    items, angle-based models if every label ranks all items, three or more.
    """
    left_out: set[str] = set()
    if not (data.sizes > 2).any():
        left_out |= {"PlackettLuce"}
    if not _ranks_everything(data):
        left_out |= OF_FULL_RANKINGS
    return [name for name in SIMPLEST_FIRST if name not in left_out]


def _ranks_everything(data: Comparisons) -> bool:
    """Return whether each label, of one or more, is a ranking without ties of all items, three or more."""
    if data.n_items < 3 or not data.n_labels or (data.sizes != data.n_items).any():
        return False
    ranks = np.sort(data.ranks.reshape(data.n_labels, data.n_items), axis=1)
    return bool((np.diff(ranks, axis=1) > 0).all())


def assign_folds(data: Comparisons, seed: int, n_folds: int = N_FOLDS) -> Ints:
    """Assign each label to a fold, (n_labels,), as a function of data and seed.

    Answers of one annotator to one set of items share a fold, whatever the order shown, so that none is predicted from
    a repetition of itself.
    """
    asked: dict[tuple[int, ...], int] = {}
    question = np.empty(data.n_labels, dtype=np.int64)
    for label, (who, start, end) in enumerate(
        zip(data.annotators.tolist(), data.starts[:-1].tolist(), data.starts[1:].tolist(), strict=True)
    ):
        question[label] = asked.setdefault((who, *sorted(data.items[start:end].tolist())), len(asked))
    return (np.random.default_rng([seed, 1]).permutation(len(asked)) % n_folds)[question]


def paired_difference(worse: Floats, better: Floats, annotators: Ints) -> tuple[float, float]:
    """Return the mean of worse - better over labels (n,), and its standard error, clustered by annotator.

    With fewer than ten annotators labels count as independent. The standard error of a single label is infinite.
    """
    difference = worse - better
    _, cluster = np.unique(annotators, return_inverse=True)
    if cluster.max(initial=-1) + 1 < MIN_CLUSTERS:
        cluster = np.arange(len(difference))
    n_clusters = int(cluster.max(initial=-1)) + 1
    if n_clusters < 2:
        return float(difference.mean()), float("inf")
    apart = sum_by_group(cluster, difference - difference.mean(), n_clusters)
    error = np.sqrt(n_clusters / (n_clusters - 1) * (apart**2).sum()) / len(difference)
    return float(difference.mean()), float(error)


def choose_estimator(
    data: Comparisons, candidates: Mapping[str, Estimator], *, seed: int = 0, progress: Progress | None = None
) -> Choice:
    """Choose by the log probability of held-out labels: five folds in turn or, above 2,000 labels, one of five.

    candidates: the simplest first; the first one within one standard error of the best is chosen (Breiman et al. 1984,
    3.4.3). Candidates that fail are skipped. progress: as for a fit, called at each candidate's steps; on a cluster
    (use_executor), which fits each fold of each candidate apart, as each is done. The choice is the same there.
    Raises InsufficientData if none can be fitted; Cancelled, ClusterLost.
    """
    names = list(candidates)
    if len(names) == 1 or data.n_labels < MIN_LABELS_TO_CHOOSE:
        few = (
            f"there are fewer than {MIN_LABELS_TO_CHOOSE} labels to compare by"
            if len(names) > 1
            else "it is the only one"
        )
        return Choice(names[0], f"{names[0]}, the simplest, because {few}.", (), 0)
    fold = assign_folds(data, seed)
    tested = range(N_FOLDS) if data.n_labels <= MAX_LABELS_ALL_FOLDS else range(1)
    held_out = [fold == one for one in tested]
    tasks = [(name, one) for name in names for one in tested]
    shared = [dict(candidates), data, held_out, seed]
    losses: dict[str, list[Floats]] = {name: [] for name in names}
    failed: dict[str, str] = {}
    for (name, _), one in zip(tasks, map_tasks(_fold_losses, tasks, shared=shared, progress=progress), strict=True):
        if isinstance(one, EngineError):
            failed.setdefault(name, message_of(one))
        else:
            losses[name].append(one)
    found = {name: np.concatenate(parts) for name, parts in losses.items() if name not in failed}
    if not found:
        text = gettext_noop("no estimator could be fitted (%(estimators)s)")
        raise InsufficientData(Message.joined(Message.of(text, estimators=", ".join(failed)), *failed.values()))
    return _chosen(names, found, failed, np.concatenate([data.annotators[out] for out in held_out]))


def _fold_losses(
    task: tuple[str, int],
    candidates: Mapping[str, Estimator],
    data: Comparisons,
    held_out: Sequence[NDArray[np.bool_]],
    seed: int,
    progress: Progress | None,
) -> Floats | EngineError:
    """Return minus the log probability of each label of one fold, given the others, by the named candidate; or why it
    can't be fitted.

    Without how much better a winner is, which not every estimator predicts.
    """
    name, number = task
    out = held_out[number]
    try:
        posterior = candidates[name].fit(data.subset(~out), rng=np.random.default_rng(seed), progress=progress)
        return -posterior.log_predictive(data.subset(out).without_grades())
    except Cancelled:
        raise
    except EngineError as error:
        return error


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
