"""What annotators do next, and who comes back: counts, recurrent networks and two numbers, on tails held out."""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import entropy, rankdata

from models_engine.analysis.returning import forecast_returns
from models_engine.benchmarks.forecast import Crowd, read_crowd
from models_engine.benchmarks.machine import describe_machine
from models_engine.benchmarks.sequence_data import (
    Endings,
    Split,
    read_check_ins,
    read_submissions,
    simulate_transitions,
)
from models_engine.errors import InvalidSetting, NotConverged
from models_engine.inference.returns import fit_beta_geometric
from models_engine.inference.sequences.choosing import COUNTS, gain
from models_engine.inference.sequences.data import Sequences, mean_loss
from models_engine.inference.sequences.gru_fit import RecurrentNetwork
from models_engine.inference.sequences.ngrams import Ngrams

__all__ = [
    "DifficultyRow",
    "Row",
    "area_under_curve",
    "by_difficulty",
    "main",
    "run_endings",
    "run_returns",
    "run_split",
]

Floats = NDArray[np.float64]
WIDTHS = {"simulated": 12}
FLOORS = {  # the most that a mean loss may be
    ("simulated", COUNTS): 1.32,
    ("check-ins A", COUNTS): 3.15,
    ("check-ins A", "own"): 4.1,
    ("submissions", "pooled"): 1.40,
    ("last submission", "two numbers"): 0.275,
}
N_ORIGINS = 36
HOURS = (24.0, 168.0)


@dataclass(frozen=True)
class Row:
    """loss: mean of minus log probability, nats, over annotators of tokens, or over cases. gain, error: over the rule
    that it is held against, with the standard error. auc: where a yes or no is predicted."""

    data: str
    model: str
    n: int
    loss: float
    gain: float | None
    error: float | None
    auc: float | None
    cpu_s: float


@dataclass(frozen=True)
class DifficultyRow:
    """Losses, nats, of a third of the n annotators by difficulty, the entropy of what each did (Ko's thesis, Figure
    3.9): mean, and the quarters of the annotators."""

    model: str
    third: str
    n: int
    entropy: float
    mean: float
    quartiles: tuple[float, float, float]


def by_difficulty(split: Split, losses: Mapping[str, Floats]) -> list[DifficultyRow]:
    """Divide annotators with a tail into thirds by the entropy of their whole sequence, and say each model's losses."""
    sequences = split.sequences
    judged = np.flatnonzero(split.tails < sequences.lengths)
    counts = np.zeros((sequences.n_annotators, sequences.n_tokens))
    np.add.at(counts, (sequences.annotators, sequences.tokens), 1.0)
    difficulty = np.asarray(entropy(counts[judged], axis=1))
    parts = np.array_split(np.argsort(difficulty, kind="stable"), 3)
    rows = []
    for model, loss in losses.items():
        for third, part in zip(("easy", "middle", "hard"), parts, strict=True):
            quarters = tuple(np.quantile(loss[part], [0.25, 0.5, 0.75]).tolist())
            figures = (float(difficulty[part].mean()), float(loss[part].mean()), quarters)
            rows.append(DifficultyRow(model, third, len(part), *figures))
    return rows


def run_split(split: Split, variants: Sequence[str], kept: dict[str, Floats] | None = None) -> list[Row]:
    """Fit each model to all before the tails and return its mean loss on them.

    kept: where given, takes the losses of each model by annotator.
    """
    heads, everything = split.sequences.heads(split.tails), split.sequences
    shares = np.bincount(heads.tokens, minlength=heads.n_tokens) + 1 / heads.n_tokens
    rows = []

    def add(model: str, log_tokens: Floats, against: Floats | None, began: float) -> Floats:
        losses = mean_loss(log_tokens, everything, split.tails)
        if kept is not None:
            kept[model] = losses
        gained, error = (None, None) if against is None else gain(against, losses)
        used = time.process_time() - began
        rows.append(Row(split.name, model, len(losses), float(losses.mean()), gained, error, None, used))
        return losses

    began = time.process_time()
    add("1-gram", np.log(shares / shares.sum())[everything.tokens], None, began)
    add("2-gram", bigram(heads, everything), None, began)
    began = time.process_time()
    counts = add(COUNTS, Ngrams().fit(heads).log_tokens(everything), None, began)
    for name in variants:
        print(f"{split.name}, {name} ...", file=sys.stderr, flush=True)
        began = time.process_time()
        network = RecurrentNetwork(name, width=WIDTHS.get(split.name, 24)).fit(heads)
        add(name, network.log_tokens(everything), counts, began)
    return rows


def bigram(heads: Sequences, everything: Sequences) -> Floats:
    """Return log P of each token after the one before from shared counts, the unigram worth one count."""
    alone = np.bincount(heads.tokens, minlength=heads.n_tokens) + 1 / heads.n_tokens
    alone = alone / alone.sum()
    table = np.tile(alone, (heads.n_tokens + 1, 1))
    for sequences, counted in ((heads, True), (everything, False)):
        before = np.where(sequences.places > 0, np.roll(sequences.tokens, 1), sequences.n_tokens)
        if counted:
            np.add.at(table, (before, sequences.tokens), 1.0)
    return np.asarray(np.log((table / table.sum(axis=1, keepdims=True))[before, everything.tokens]))


def run_endings(endings: Endings) -> list[Row]:
    """Was this submission the worker's last? Two numbers against one rate, both fitted to what was known before."""
    began = time.process_time()
    visits, is_last = endings.seen.T
    found = fit_beta_geometric(np.bincount(visits - 1, is_last), np.bincount(visits - 1, 1 - is_last))
    stopped = endings.test[:, 1] == 1
    chances = found.stop(endings.test[:, 0])
    used = time.process_time() - began
    rate = np.full(len(stopped), is_last.mean())
    of_rate, own = loss_of(rate, stopped), loss_of(chances, stopped)
    n, mean, area = len(stopped), float(own.mean()), area_under_curve(chances, stopped)
    return [
        Row("last submission", "one rate", n, float(of_rate.mean()), None, None, None, 0.0),
        Row("last submission", "two numbers", n, mean, *gain(of_rate, own), area, used),
    ]


def run_returns(crowd: Crowd, hours: float) -> list[Row]:
    """Who comes within so many hours, at moments spread over the time; the rule: the share that came before as long.

    gain and its error are over the moments, since people answer to the same new tasks.
    """
    rng = np.random.default_rng(0)
    edges = np.linspace(crowd.times[0] + max(48.0, hours), crowd.times[-1] - hours, N_ORIGINS + 1)
    losses, areas, n, seconds = [], [], 0, 0.0
    for now in edges[:-1] + np.diff(edges) * rng.uniform(size=N_ORIGINS):
        known = crowd.times <= now
        began = time.process_time()
        found = forecast_returns(crowd.times[known], crowd.annotators[known], float(now))
        people = found.visits
        chances = found.posterior.returns_within(people.n_visits, people.silence, hours)
        seconds += time.process_time() - began
        came = np.isin(people.annotators, crowd.annotators[(crowd.times > now) & (crowd.times <= now + hours)])
        before = np.unique(crowd.annotators[crowd.times <= now - hours])
        back = np.isin(before, crowd.annotators[(crowd.times > now - hours) & known]).sum()
        rate = np.full(len(came), (back + 0.5) / (len(before) + 1))
        losses.append([loss_of(rate, came).mean(), loss_of(chances, came).mean()])
        areas.append(area_under_curve(chances, came))
        n += len(came)
    of_rate, own = np.array(losses).T
    name = f"back within {hours:g} h"
    return [
        Row(name, "last share", n, float(of_rate.mean()), None, None, None, 0.0),
        Row(name, "returns", n, float(own.mean()), *gain(of_rate, own), float(np.nanmean(areas)), seconds / N_ORIGINS),
    ]


def loss_of(chances: Floats, happened: NDArray[np.bool_]) -> Floats:
    kept = np.clip(chances, 1e-6, 1 - 1e-6)
    return -np.log(np.where(happened, kept, 1 - kept))


def area_under_curve(scores: Floats, happened: NDArray[np.bool_]) -> float:
    """Return P(one that happened has the higher score), ties a half; nan where all are alike."""
    n = int(happened.sum())
    if n in (0, len(happened)):
        return float("nan")
    return float((rankdata(scores)[happened].sum() - n * (n + 1) / 2) / (n * (len(happened) - n)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 where a floor is missed."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks sequences", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with ukpconvarg1 and activity; none: simulated alone")
    parser.add_argument("--variants", nargs="*", default=["pooled", "own"], help="of the network")
    parser.add_argument("--difficulty", action="store_true", help="only check-ins, by the entropy of what people did")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if options.difficulty:
        return _print_difficulty(options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        rows = run_split(simulate_transitions(0), options.variants)
        if options.data:
            submissions, endings = read_submissions(options.data)
            rows += run_split(submissions, options.variants) + run_endings(endings)
            crowd = read_crowd(options.data, "ukp")
            rows += [row for hours in HOURS for row in run_returns(crowd, hours)]
            rows += run_split(read_check_ins(options.data, "A"), options.variants)
    if options.json:
        print(json.dumps({"machine": describe_machine(), "rows": [asdict(row) for row in rows]}, indent=2))
    else:
        print(format_table(rows))
    return int(any(row.loss > FLOORS.get((row.data, row.model), np.inf) for row in rows))


def _print_difficulty(options: argparse.Namespace) -> int:
    """Print the losses of check-ins by thirds of the people."""
    if options.data is None:
        raise InvalidSetting("--difficulty needs the check-ins; give --data the folder with activity.")
    split, losses = read_check_ins(options.data, "A"), dict[str, Floats]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        run_split(split, options.variants, losses)
    rows = by_difficulty(split, losses)
    if options.json:
        print(json.dumps({"machine": describe_machine(), "difficulty": [asdict(row) for row in rows]}, indent=2))
        return 0
    print(f"{'model':<14}{'third':<8}{'n':>5}{'entropy':>9}{'mean':>8}{'lower':>8}{'median':>8}{'upper':>8}")
    for row in rows:
        quarters = "".join(f"{one:>8.3f}" for one in row.quartiles)
        print(f"{row.model:<14}{row.third:<8}{row.n:>5}{row.entropy:>9.3f}{row.mean:>8.3f}{quarters}")
    return 0


def format_table(rows: Sequence[Row]) -> str:
    lines = [f"{'data':<18}{'model':<14}{'n':>8}{'loss':>8}{'gain':>16}{'AUC':>7}{'floor':>8}{'CPU s':>8}"]
    for row in rows:
        gained = "" if row.gain is None else f"{row.gain:.3f} +- {row.error:.3f}"
        area = "" if row.auc is None else f"{row.auc:.3f}"
        floor = FLOORS.get((row.data, row.model))
        lines.append(
            f"{row.data:<18}{row.model:<14}{row.n:>8}{row.loss:>8.3f}{gained:>16}{area:>7}"
            f"{'' if floor is None else f'{floor:.3f}':>8}{row.cpu_s:>8.1f}"
        )
    return "\n".join(lines)
