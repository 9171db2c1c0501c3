"""Fits of other libraries, run by their own Python: python -m models_engine.benchmarks.peer_fits.

Needs numpy and the one library that it measures; nothing else of the engine may be imported here.
"""

import importlib
import importlib.metadata
import json
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_engine.benchmarks.peak import peak_mib

__all__ = ["PEERS", "Fitted", "main"]

Floats = NDArray[np.float64]
Arrays = Mapping[str, NDArray]
# A fit returns a function for P(left is preferred) of every test pair, called after timing.
Fitted = Callable[[], Floats]
SPECTRAL = 0.01  # added to each rate in the spectral methods, so that the graph is connected


def choix(name: str, alpha: float | None = None) -> Callable[[Arrays], Callable[[], Fitted]]:
    """Wrap a function of choix for pairs or rankings; alpha: its regularisation, None for the precision of our
    prior.
    """

    def prepare(data: Arrays) -> Callable[[], Fitted]:
        fit, n = getattr(importlib.import_module("choix"), name), int(data["n_items"])
        answers = (data["rankings"] if name.endswith("rankings") else winners_first(data)).tolist()
        strength = float(data["prior_precision"]) if alpha is None else alpha

        def run() -> Fitted:
            found = fit(n, answers, alpha=strength)
            return logistic(found[0] if name.startswith("ep_") else found, data)

        return run

    return prepare


def crowdkit_bradley_terry(data: Arrays) -> Callable[[], Fitted]:
    """Fit crowd-kit's Bradley-Terry by minorisation-maximisation, without a prior."""
    model = importlib.import_module("crowdkit.aggregation").BradleyTerry(n_iter=100)
    frame = crowdkit_frame(data)
    return lambda: predict_by_strength(model.fit_predict(frame), data)


def crowdkit_noisy(data: Arrays) -> Callable[[], Fitted]:
    """Prepare crowd-kit's NoisyBradleyTerry: a skill and a left-right bias of each annotator."""
    model = importlib.import_module("crowdkit.aggregation").NoisyBradleyTerry()
    frame = crowdkit_frame(data)

    def fit() -> Fitted:
        model.fit(frame)

        def answer() -> Floats:
            score = np.full(int(data["n_items"]), 0.5)
            score[model.scores_.index.to_numpy(int)] = model.scores_.to_numpy()
            utility = log_odds(score)
            skill, habit = (np.full(int(data["n_annotators"]), 0.5) for _ in range(2))
            skill[model.skills_.index.to_numpy(int)] = model.skills_.to_numpy()
            habit[model.biases_.index.to_numpy(int)] = model.biases_.to_numpy()
            who = data["test_annotator"]
            followed = expit(utility[data["test_left"]] - utility[data["test_right"]])
            return skill[who] * followed + (1 - skill[who]) * habit[who]

        return answer

    return fit


def evalica_bradley_terry(data: Arrays) -> Callable[[], Fitted]:
    """Fit evalica's Bradley-Terry (Newman's iteration in Rust), without a prior."""
    evalica = importlib.import_module("evalica")
    left, right = data["left"].tolist(), data["right"].tolist()
    winners = [evalica.Winner.X if won else evalica.Winner.Y for won in data["outcome"] == 1]
    return lambda: predict_by_strength(evalica.bradley_terry(left, right, winners).scores, data)


def botorch_pairwise_gp(data: Arrays) -> Callable[[], Fitted]:
    """Prepare botorch's PairwiseGP (a gpytorch model; Laplace) over item features, kernel by marginal likelihood."""
    torch = importlib.import_module("torch")
    models = importlib.import_module("botorch.models.pairwise_gp")
    fit_mll = importlib.import_module("botorch.fit").fit_gpytorch_mll
    points = torch.tensor(data["item_features"], dtype=torch.float64)
    pairs = torch.tensor(winners_first(data))

    def fit() -> Fitted:
        model = models.PairwiseGP(points, pairs)
        fit_mll(models.PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model))
        with torch.no_grad():
            found = model.posterior(points)
            mean = found.mean.squeeze(-1).numpy()
            covariance = found.mvn.covariance_matrix.numpy()
        a, b = data["test_left"], data["test_right"]
        # botorch's probit divides the margin by sqrt 2.
        variance = covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]
        margin = (mean[a] - mean[b]) / np.sqrt(2 + np.maximum(variance, 0))
        return lambda: normal_cdf(margin)

    return fit


def normal_cdf(margin: Floats) -> Floats:
    """Return the standard normal distribution function."""
    return np.asarray(importlib.import_module("scipy.special").ndtr(margin))


def expit(z: Floats) -> Floats:
    """Return the logistic, without overflow."""
    return np.exp(-np.logaddexp(0.0, -z))


def log_odds(p: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log1p(-p)


def winners_first(data: Arrays) -> NDArray[np.int64]:
    """Return winner and loser of each label, (n_labels, 2)."""
    won = data["outcome"] == 1
    return np.column_stack(
        [np.where(won, data["left"], data["right"]), np.where(won, data["right"], data["left"])]
    ).astype(np.int64)


def crowdkit_frame(data: Arrays) -> Any:
    """Build the data frame for crowd-kit."""
    columns = {"worker": data["annotator"], "left": data["left"], "right": data["right"]}
    columns |= {"label": np.where(data["outcome"] == 1, data["left"], data["right"])}
    return importlib.import_module("pandas").DataFrame(columns)


def logistic(utilities: Floats, data: Arrays) -> Fitted:
    """Predict P by the logistic of the difference of utilities (n_items,)."""
    return lambda: expit(utilities[data["test_left"]] - utilities[data["test_right"]])


def predict_by_strength(scores: Any, data: Arrays) -> Fitted:
    """Predict P = s_a / (s_a + s_b) from strengths, a Series by item; 1/2 where both are 0 or unknown."""

    def answer() -> Floats:
        strength = np.zeros(int(data["n_items"]))
        strength[scores.index.to_numpy(int)] = scores.to_numpy()
        a, b = strength[data["test_left"]], strength[data["test_right"]]
        return np.divide(a, a + b, out=np.full(len(a), 0.5), where=a + b > 0)

    return answer


# name: (distribution that has it, how to prepare, whether it returns intervals)
PEERS: dict[str, tuple[str, Callable[[Arrays], Callable[[], Fitted]], bool]] = {
    "choix opt_pairwise": ("choix", choix("opt_pairwise"), False),
    "choix ilsr_pairwise": ("choix", choix("ilsr_pairwise", SPECTRAL), False),
    "choix ep_pairwise": ("choix", choix("ep_pairwise"), True),
    "choix opt_rankings": ("choix", choix("opt_rankings"), False),
    "choix ilsr_rankings": ("choix", choix("ilsr_rankings", SPECTRAL), False),
    "crowd-kit BradleyTerry": ("crowd-kit", crowdkit_bradley_terry, False),
    "crowd-kit NoisyBradleyTerry": ("crowd-kit", crowdkit_noisy, False),
    "evalica bradley_terry": ("evalica", evalica_bradley_terry, False),
    "botorch PairwiseGP": ("botorch", botorch_pairwise_gp, True),
}


def main(arguments: Sequence[str]) -> int:
    """Run NAME INPUT.npz OUTPUT.npz LIMIT: fit, write P of the test pairs, print seconds and memory as JSON.

    The system stops the process after LIMIT seconds of CPU. Without arguments: the version of each library or null.
    """
    if not arguments:
        print(json.dumps({distribution: version(distribution) for distribution, _, _ in PEERS.values()}))
        return 0
    name, source, target, limit = arguments
    with np.load(Path(source), allow_pickle=False) as file:
        data = {key: file[key] for key in file.files}
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
    fit = PEERS[name][1](data)
    wall, cpu = time.perf_counter(), time.process_time()
    answer = fit()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = peak_mib()
    np.savez(Path(target), probability=answer())
    print(json.dumps({"wall_s": wall, "cpu_s": cpu, "peak_mib": peak}))
    return 0


def version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
