"""Forecasts of labels within the next hours, on crowds with times: error, what intervals hold, seconds."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models_engine.benchmarks.crowd_data import found_file, read_columns, read_numbers
from models_engine.benchmarks.machine import describe_machine
from models_engine.forecast import Forecaster
from models_engine.rates import RatePosterior

__all__ = ["Crowd", "Score", "crps", "format_table", "main", "read_crowd", "run", "todays_rule"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
HORIZONS = (1.0, 6.0, 24.0)
SPANS = (1.0, 24.0, 168.0)  # hours; the simple rule takes the rate of the shortest of these in which labels came
N_DRAWS = 600
MIN_HISTORY = {"ukp": 48.0, "sigir": 24.5}  # hours before the first origin: after a day or less nothing is said of 24 h
ORIGINS = {"ukp": 36, "sigir": 18}
RULE, ONE_KERNEL, BY_LABELS, BY_SESSIONS = "simple rule", "sessions, one kernel", "labels", "sessions"
FORECASTERS = {
    ONE_KERNEL: Forecaster(horizon=HORIZONS[-1], n_hyper=1),
    BY_LABELS: Forecaster(horizon=HORIZONS[-1], by_session=False),
    BY_SESSIONS: Forecaster(horizon=HORIZONS[-1]),
}


@dataclass(frozen=True)
class Crowd:
    """Labels over time: times (n_labels,) in hours, rising; annotators (n_labels,)."""

    name: str
    times: Floats
    annotators: Ints

    def origins(self, n: int) -> Floats:
        """Return n moments, one at random in each n-th of the time with enough before and the longest horizon after.

        At random, because equal steps are soon at the same hour of every day.
        """
        edges = np.linspace(self.times[0] + MIN_HISTORY[self.name], self.times[-1] - HORIZONS[-1], n + 1)
        return np.asarray(edges[:-1] + np.diff(edges) * np.random.default_rng(0).uniform(size=n))


@dataclass(frozen=True)
class Score:
    """One forecast of one horizon. held: the 90% interval contains what came.   cpu_s: of all horizons together."""

    method: str
    origin: float
    hours: float
    came: int
    crps: float
    held: bool
    width: float
    cpu_s: float


def read_crowd(folder: Path, name: str) -> Crowd:
    """Read "ukp" (ukpconvarg1/labels.csv.gz: worker, submit_utc) or "sigir" (activity/sigir2010_times.csv.gz)."""
    if name == "ukp":
        table = read_columns(found_file(folder, "ukpconvarg1", "labels.csv.gz"))
        moments = table["submit_utc"]
    else:
        table = read_columns(found_file(folder, "activity", "sigir2010_times.csv.gz"))
        moments = table["submitted_utc"]
    times = np.array([datetime.fromisoformat(text).timestamp() / 3600 for text in moments])
    order = np.argsort(times, kind="stable")
    return Crowd(name, times[order], read_numbers(table["worker"])[order])


def crps(draws: Floats, value: float) -> float:
    """Return the continuous ranked probability score E|X - value| - E|X - X'| / 2 of draws (n,); Gneiting & Raftery."""
    ordered = np.sort(draws)
    n = len(ordered)
    spread = 2 * float((2 * np.arange(1, n + 1) - n - 1) @ ordered) / n**2
    return float(np.abs(ordered - value).mean()) - spread / 2


def todays_rule(times: Floats, now: float, rng: np.random.Generator) -> Floats:
    """Draw labels (N_DRAWS, n_horizons) as Poisson at the rate of the last hour, else day, else week."""
    for span in SPANS:
        n = int(((times > now - span) & (times <= now)).sum())
        if n:
            return rng.poisson(n / span * np.array(HORIZONS), (N_DRAWS, len(HORIZONS))).astype(np.float64)
    return np.zeros((N_DRAWS, len(HORIZONS)))


def run(crowd: Crowd, n_origins: int, methods: Sequence[str]) -> list[Score]:
    """Score each method at each origin; a forecaster begins from its forecast of the origin before."""
    scores: list[Score] = []
    last: dict[str, RatePosterior] = {}

    def forecast(name: str, now: float) -> Floats:
        known = crowd.times <= now
        if name == RULE:
            return todays_rule(crowd.times[known], now, np.random.default_rng(0))
        found = FORECASTERS[name].forecast(crowd.times[known], crowd.annotators[known], now, start=last.get(name))
        last[name] = found.rate
        return found.within(HORIZONS)

    for now in crowd.origins(n_origins):
        for name in methods:
            scores += _scored(name, crowd, float(now), forecast)
        print(f"{crowd.name}: {scores[-1]}", file=sys.stderr, flush=True)
    return scores


def _scored(name: str, crowd: Crowd, now: float, forecast: Callable[[str, float], Floats]) -> list[Score]:
    begun = time.process_time()
    draws = forecast(name, now)
    seconds = time.process_time() - begun
    scores = []
    for hours, column in zip(HORIZONS, draws.T, strict=True):
        came = int(((crowd.times > now) & (crowd.times <= now + hours)).sum())
        low, high = np.quantile(column, [0.05, 0.95])
        held = bool(np.floor(low) <= came <= np.ceil(high))
        scores.append(Score(name, now, hours, came, crps(column, came), held, float(high - low), seconds))
    return scores


def format_table(scores: Sequence[Score]) -> str:
    """Format one line per method: by horizon CRPS with standard error, share held, mean width; CPU seconds."""
    lines = [
        f"{'':<22}" + "".join(f"{f'{h:g} h: CRPS':>18}{'held':>7}{'width':>8}" for h in HORIZONS) + "   CPU s, most"
    ]
    for name in dict.fromkeys(one.method for one in scores):
        line = f"{name:<22}"
        own = [one for one in scores if one.method == name]
        for hours in HORIZONS:
            here = [one for one in own if one.hours == hours]
            values = np.array([one.crps for one in here])
            error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            held, width = np.mean([one.held for one in here]), np.mean([one.width for one in here])
            line += f"{values.mean():>11.1f} ±{error:>5.1f}{held:>7.2f}{width:>8.0f}"
        seconds = [one.cpu_s for one in own]
        lines.append(line + f"{np.mean(seconds):>8.2f}{max(seconds):>6.2f}")
    came = " / ".join(f"{np.mean([one.came for one in scores if one.hours == h]):.0f}" for h in HORIZONS)
    return "\n".join([*lines, f"labels that came, mean: {came}"])


def main(arguments: Sequence[str]) -> int:
    """Run the command; progress on stderr, the table on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks forecast", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with ukpconvarg1 and activity")
    parser.add_argument("--crowds", default="ukp,sigir", help="of ukp, sigir")
    parser.add_argument(
        "--methods", default=f"{RULE};{BY_LABELS};{BY_SESSIONS}", help=f"of {RULE}; {'; '.join(FORECASTERS)}"
    )
    parser.add_argument("--origins", type=int, help="number of moments forecast from (default 36 and 18)")
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    options = parser.parse_args(arguments)
    known, found = describe_machine(), {}
    print(known)
    print("CRPS in labels, ± its standard error over origins; the share of origins whose 90% interval held what came")
    for name in options.crowds.split(","):
        crowd = read_crowd(options.data, name)
        scores = run(crowd, options.origins or ORIGINS[name], options.methods.split(";"))
        n_origins = len({one.origin for one in scores})
        print(f"{name}: {len(crowd.times)} labels, {len(np.unique(crowd.annotators))} annotators, {n_origins} origins")
        print(format_table(scores))
        found[name] = [asdict(one) for one in scores]
    if options.json:
        options.json.write_text(json.dumps({"measured": known, "scores": found}, indent=1))
    return 0
