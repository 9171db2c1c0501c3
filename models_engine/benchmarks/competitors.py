"""Ranking competitors: held-out answers about new contexts, halves of the contexts, simulations, seconds."""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_engine.benchmarks.competitor_data import SETS, Contest, build_contest, pool_contexts, read_contest
from models_engine.benchmarks.grades import grade_shares
from models_engine.benchmarks.machine import describe_machine
from models_engine.benchmarks.peer_data import HeldOutData
from models_engine.benchmarks.peers import find_installed, measure_peer
from models_engine.benchmarks.ukp_pairs import cluster_mean
from models_engine.constants import Z90
from models_engine.errors import InvalidSetting, NotConverged
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.estimators.competitors import Competitors
from models_engine.linalg import centre
from models_engine.posterior import GaussianPosterior
from models_engine.simulate import Competition, competition

__all__ = [
    "GRADED_CUTS",
    "N_CARELESS",
    "OURS",
    "POOLED",
    "UNWEIGHED",
    "WINNERS",
    "Coverage",
    "Loss",
    "main",
    "measure_grades",
    "measure_halves",
    "measure_held_out",
    "measure_simulated",
    "shared_prior_errors",
]

Floats = NDArray[np.float64]
OURS, POOLED, UNWEIGHED = "Competitors", "BradleyTerry pooled", "Competitors unweighed"
WINNERS = "Competitors, winners"
PEERS = ("choix opt_pairwise", "choix ilsr_pairwise", "evalica bradley_terry")
N_FOLDS = 5
SIMULATED_TASTE, SIMULATED_PEOPLE = 0.4, 30
GRADED_CUTS = (0.3, 1.2)  # a tie, slightly, clearly
N_CARELESS = 6  # of them, in the simulation with careless annotators


@dataclass(frozen=True)
class Loss:
    """Mean -log P of held-out pairs about contexts left out, in nats: of win, tie and loss, and of the winner where
    there is one. over: the loss in `untied` beyond that of Competitors, and its standard error over contexts."""

    predictor: str
    answers: float | None
    untied: float | None
    over: tuple[float, float] | None = None
    note: str = ""


@dataclass(frozen=True)
class Coverage:
    """Of 90% intervals: the share that hold, and the standard deviation of error over stated error (1 is right).

    loss: log loss of new answers in nats, where it was measured.
    """

    estimator: str
    coverage: float
    error: float
    spread: float
    width: float
    loss: float | None = None


def fit_contest(name: str, one: Contest) -> GaussianPosterior:
    """Fit Competitors to the items, with or without weighing annotators by P(attentive), or BradleyTerry with a learned
    prior to the pooled pairs.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        if name in (OURS, UNWEIGHED):
            return Competitors(tied_ranks=True, careless=name == OURS).fit(one.data, one.table)
        return BradleyTerry(prior_sd=None, inference="map", side=bool((one.data.sizes == 2).all())).fit(
            pool_contexts(one)
        )


def assign_context_folds(one: Contest, seed: int) -> NDArray[np.int64]:
    """Return (n_contexts,) the fold in which each context is left out."""
    return np.asarray(np.random.default_rng(seed).permutation(one.n_contexts) % N_FOLDS)


def measure_held_out(one: Contest, python: Path | None, seed: int, limit: int = 120) -> Iterator[Loss]:
    """Evaluate on held-out contexts in five folds. Peers get untied pairs without weights, which they do not
    support.
    """
    fold = assign_context_folds(one, seed)
    versions = find_installed(python) if python else {}
    losses: dict[str, list[tuple[Floats, Floats]]] = {OURS: [], POOLED: []}
    peers: dict[str, list[float]] = {name: [] for name in PEERS}
    notes, where, weights = {}, [], []
    for k in range(N_FOLDS):
        train, test = one.part(fold != k), one.part(fold == k)
        answers = pool_contexts(test)
        pairs, decided = answers.pairs(), answers.pairs().outcome != 0.5
        where.append(test.context[test.data.pairs_with_ties().label])
        weights.append(decided)
        for name in (OURS, POOLED):
            posterior = fit_contest(name, train)
            own = -posterior.log_predictive(answers)
            p = posterior.pairwise_probabilities(pairs.left, pairs.right)
            losses[name].append((own, -np.log(np.where(pairs.outcome == 1, p, 1 - p))))
        held = HeldOutData.of(pool_contexts(train), answers)
        for name in PEERS:
            library = name.split()[0]
            if python is None or versions.get(library) is None:
                notes[name] = "not installed in --python" if python else "no --python: make bench PEERS=1 makes one"
                continue
            found = measure_peer(python, "", name, POOLED, held, limit)
            peers[name].append(np.nan if found.loss is None else found.loss * decided.sum())
            notes[name] = found.note
        print(f"fold {k + 1} of {N_FOLDS}", file=sys.stderr, flush=True)
    context, decided = np.concatenate(where), np.concatenate(weights)
    whole = {name: [np.concatenate(part) for part in zip(*found, strict=True)] for name, found in losses.items()}
    for name, (own, untied) in whole.items():
        over = cluster_mean((untied - whole[OURS][1])[decided], context[decided]) if name != OURS else None
        yield Loss(name, float(own.mean()), float(untied[decided].mean()), over)
    for name in PEERS:
        whole_loss = float(np.sum(peers[name]) / decided.sum()) if len(peers[name]) == N_FOLDS else None
        yield Loss(name, None, whole_loss, None, notes[name])


def shared_prior_errors(one: GaussianPosterior, other: GaussianPosterior) -> Floats:
    """Return (n,) standard deviation of the difference of two posterior means of the same utilities from different
    data.

    C + C' - (C P C' + C' P C) with the prior's precision P, which both fits share: the errors of both are counted, and
    that both are shrunk towards the same mean.
    """
    first, second = one.covariance(), other.covariance()
    precision = 2 / ((one.prior_sd or np.inf) ** 2 + (other.prior_sd or np.inf) ** 2)
    both = np.einsum("ij,ji->i", first, second)
    variance = np.diagonal(first) + np.diagonal(second) - 2 * precision * both
    return np.asarray(np.sqrt(np.maximum(variance, 1e-12)))


def measure_halves(one: Contest, n_splits: int, seed: int) -> list[Coverage]:
    """Measure how often fits to two halves of the contexts agree within the 90% interval of their difference."""
    rng = np.random.default_rng(seed)
    scores: dict[str, list[Floats]] = {OURS: [], POOLED: []}
    for split in range(n_splits):
        first = rng.permutation(one.n_contexts) % 2 == 0
        for name, found in scores.items():
            a, b = fit_contest(name, one.part(first)), fit_contest(name, one.part(~first))
            error = shared_prior_errors(a, b)
            found.append(np.stack([(a.utilities() - b.utilities()) / error, error]))
        print(f"split {split + 1} of {n_splits}", file=sys.stderr, flush=True)
    return [summarise_coverage(name, found) for name, found in scores.items()]


def measure_simulated(n_crowds: int, seed: int, n_careless: int = 0) -> list[Coverage]:
    """Measure coverage of the truth: 12 competitors, 40 contexts, items of spread 0.8, 30 annotators, tastes of 0.4.

    n_careless: of the annotators, so many answer at random. The truth is that of an average attentive annotator's
    answer: tastes of spread t draw logits together by the root of 1 + 2 t^2 (16 sqrt 3 / 15 pi)^2 (the logistic's
    nearest normal). loss: of 2,000 new answers by attentive annotators, contexts unknown.
    """
    flatter = np.sqrt(1 + 2 * SIMULATED_TASTE**2 * (16 * np.sqrt(3) / (15 * np.pi)) ** 2)
    scores: dict[str, list[Floats]] = {OURS: [], UNWEIGHED: [], POOLED: []}
    losses: dict[str, list[float]] = {name: [] for name in scores}
    for crowd in range(n_crowds):
        rng = np.random.default_rng([seed, crowd])
        known: dict[str, Any] = {"item_sd": 0.8, "taste_sd": SIMULATED_TASTE, "side": 0.2, "tie": 0.5}
        truth = replace(competition(rng, 12, 40, SIMULATED_PEOPLE, **known), n_careless=n_careless)
        own = contest_of(truth, rng)
        answers = pool_contexts(contest_of(replace(truth, n_careless=0), rng))
        for name, found in scores.items():
            posterior = fit_contest(name, own)
            error = posterior.standard_deviations()
            found.append(np.stack([(posterior.utilities() - centre(truth.utilities) / flatter) / error, error]))
            losses[name].append(float(-posterior.log_predictive(answers).mean()))
    return [
        replace(summarise_coverage(name, found), loss=float(np.mean(losses[name]))) for name, found in scores.items()
    ]


def contest_of(truth: Competition, rng: np.random.Generator) -> Contest:
    data = truth.pairs(2_000, rng)
    return build_contest(data, truth.context[data.items[data.starts[:-1]]], 12)


def summarise_coverage(name: str, found: list[Floats]) -> Coverage:
    """Summarise. found: by repetition (2, n), error over stated error, and the stated error."""
    holds = np.array([np.mean(np.abs(one[0]) <= Z90) for one in found])
    error = float(holds.std(ddof=1) / np.sqrt(len(holds))) if len(holds) > 1 else float("nan")
    every = np.concatenate(found, axis=1)
    spread, width = float(np.sqrt(np.mean(every[0] ** 2))), float(2 * Z90 * every[1].mean())
    return Coverage(name, float(holds.mean()), error, spread, width)


def measure_grades(n_crowds: int, seed: int) -> list[Coverage]:
    """Measure as measure_simulated does where answers are graded with cut points GRADED_CUTS, with grades and by
    winners alone.

    loss: of the graded answers about a fifth of the contexts, left out; the fit of winners predicts the grade by its
    share.
    """
    flatter = np.sqrt(1 + 2 * SIMULATED_TASTE**2 * (16 * np.sqrt(3) / (15 * np.pi)) ** 2)
    scores: dict[str, list[Floats]] = {OURS: [], WINNERS: []}
    losses: dict[str, list[float]] = {name: [] for name in scores}
    for crowd in range(n_crowds):
        rng = np.random.default_rng([seed, crowd])
        truth = competition(rng, 12, 40, SIMULATED_PEOPLE, item_sd=0.8, taste_sd=SIMULATED_TASTE, side=0.2)
        data = truth.graded(2_000, GRADED_CUTS, rng)
        one = build_contest(data, truth.context[data.items[data.starts[:-1]]], 12)
        out = np.arange(one.n_contexts) % N_FOLDS == 0
        train, test = one.part(~out), pool_contexts(one.part(out))
        for name, found in scores.items():
            estimator = Competitors(grades="ordered" if name == OURS else "ignore")
            posterior = estimator.fit(one.data, one.table)
            error = posterior.standard_deviations()
            found.append(np.stack([(posterior.utilities() - centre(truth.utilities) / flatter) / error, error]))
            own = estimator.fit(train.data, train.table).log_predictive(test)
            if name == WINNERS and test.grades is not None:
                own = own + grade_shares(train.data)[test.grades]
            losses[name].append(float(-own.mean()))
    return [
        replace(summarise_coverage(name, found), loss=float(np.mean(losses[name]))) for name, found in scores.items()
    ]


def simulate_large(seed: int) -> Contest:
    """Simulate 60 competitors, 5,000 contexts, 200 annotators, 100,000 labels."""
    rng = np.random.default_rng(seed)
    data = competition(rng, 60, 5_000, 200, item_sd=0.8, side=0.2, tie=0.5).pairs(100_000, rng)
    return build_contest(data, data.items[data.starts[:-1]] // 60, 60)


def measure_speed(seed: int) -> str:
    """Measure CPU and wall seconds of one large fit."""
    one = simulate_large(seed)
    cpu, wall = time.process_time(), time.perf_counter()
    posterior = Competitors().fit(one.data, one.table)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    verdict = "converged" if posterior.diagnostics.converged else "not converged"
    return (
        f"60 competitors, 5,000 contexts, 100,000 labels: {cpu:.2f} CPU s, {wall:.2f} wall s, "
        f"{posterior.diagnostics.n_iterations} steps, {verdict}"
    )


def loss_table(rows: Sequence[Loss]) -> str:
    """Format one line per predictor."""
    lines = [f"{'':<24}{'win, tie, loss':>15}{'winner':>9}{'over ' + OURS:>22}"]
    for row in rows:
        cells = [f"{row.predictor:<24}", f"{row.answers:>15.4f}" if row.answers is not None else f"{'':>15}"]
        cells.append(f"{row.untied:>9.4f}" if row.untied is not None else f"{'':>9}")
        cells.append(f"{row.over[0]:>+13.4f} ± {row.over[1]:.4f}" if row.over else "")
        lines.append(("".join(cells) + f"  {row.note}").rstrip())
    return "\n".join(lines)


def coverage_table(rows: Sequence[Coverage]) -> str:
    """Format one line per estimator."""
    lines = [f"{'':<24}{'coverage of 90%':>17}{'error / stated':>16}{'width':>8}{'log loss':>10}"]
    lines += [
        f"{row.estimator:<24}{row.coverage:>10.3f} ±{row.error:.3f}{row.spread:>16.2f}{row.width:>8.2f}"
        + ("" if row.loss is None else f"{row.loss:>10.4f}")
        for row in rows
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; progress on stderr, the tables on stdout."""
    options = _parser().parse_args(arguments)
    parts = options.parts.split(",")
    for name in parts:
        if name not in PARTS:
            raise InvalidSetting(f"there is no part {name!r}; choose from {', '.join(PARTS)}.")
    known: dict[str, Any] = {"seed": options.seed, "measured": describe_machine()}
    print(", ".join(f"{key} {value}" for key, value in known.items()))
    sets = options.sets.split(",") if options.data else []
    for name in sets:
        one = read_contest(name, options.data)
        n_contexts = len(np.unique(one.context))
        print(f"\n{name}: {one.table.n_competitors} competitors, {n_contexts} contexts, {one.data.n_labels} labels")
        if "losses" in parts:
            rows = list(measure_held_out(one, options.python, options.seed))
            known[f"{name} losses"] = [asdict(row) for row in rows]
            print("answers about contexts left out, one in five at a time:\n" + loss_table(rows))
        if "halves" in parts:
            found = measure_halves(one, options.splits, options.seed)
            known[f"{name} halves"] = [asdict(row) for row in found]
            print(f"halves of the contexts, fitted apart, {options.splits} splits:\n" + coverage_table(found))
    if "simulated" in parts:
        for name, n_careless in (("simulated", 0), ("simulated careless", N_CARELESS)):
            found = measure_simulated(options.crowds, options.seed, n_careless)
            known[name] = [asdict(row) for row in found]
            print(f"\n{options.crowds} simulated crowds, {n_careless} of {SIMULATED_PEOPLE} people careless:")
            print(coverage_table(found))
    if "grades" in parts:
        found = measure_grades(options.crowds, options.seed)
        known["grades"] = [asdict(row) for row in found]
        print(f"\n{options.crowds} simulated crowds with graded answers:\n" + coverage_table(found))
    if "speed" in parts:
        known["speed"] = measure_speed(options.seed)
        print("\n" + known["speed"])
    if options.json:
        options.json.write_text(json.dumps(known, indent=1))
    return 0


PARTS = ("losses", "halves", "simulated", "grades", "speed")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks competitors", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder that holds wmt13_fr_en and llmfao, or one of them")
    parser.add_argument("--sets", default=",".join(SETS), help=f"of {', '.join(SETS)}, separated by commas")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}, separated by commas")
    parser.add_argument(
        "--python", type=Path, help="of the peers' environment (make bench PEERS=1); without, ours only"
    )
    parser.add_argument("--splits", type=int, default=10, help="random halves of the contexts")
    parser.add_argument("--crowds", type=int, default=40, help="simulated crowds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    return parser
