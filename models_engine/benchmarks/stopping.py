"""When to say "done": the error of stopping rules under repeated looks, on simulated projects of many kinds.

Writes the table that `models_engine.analysis.stopping_errors` reads. Every project is collected balanced and, in turns,
by each policy; with --keep the command can be stopped and started again.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

from models_engine.analysis.agreement import wilson_interval
from models_engine.analysis.done import FACTORS, LEVELS, PLAIN, PLAIN_FACTORS, Wrong, is_done, threshold
from models_engine.analysis.stopping_errors import MIN_SAID, TABLE
from models_engine.benchmarks.machine import describe_machine
from models_engine.benchmarks.stopping_projects import GOALS, Trace, read_traces, run_projects

__all__ = ["FIRST_SEED", "choose_factors", "false_rate", "main", "table_rows"]

FIRST_SEED = 1_000  # of the projects that show the error; factors are chosen by those below
GRID = np.round(np.arange(0.9, 0.15, -0.05), 2)


def false_rate(traces: Sequence[Trace], what: Wrong, goal: float, limit: float) -> tuple[int, int, float]:
    """Return (how often "done" was said falsely, how often at all, median labels) of stopping at a limit."""
    wrong, labels = [], []
    for one in traces:
        looks = list(zip(one.labels, one.expected[what], strict=True))
        stops = (place for place in range(len(looks)) if is_done(looks[: place + 1], limit))
        if (place := next(stops, None)) is not None:
            wrong.append(one.truly[what][place] > goal + 1e-9)
            labels.append(one.labels[place])
    return (int(np.sum(wrong)), len(wrong), float(np.median(labels))) if wrong else (0, 0, float("nan"))


def choose_factors(traces: Sequence[Trace]) -> dict[Wrong, tuple[float, ...]]:
    """Return for each measure the largest factors that, with all smaller ones, keep each of LEVELS.

    Balanced and adaptive, under every fit and goal there are traces of, where "done" was said of MIN_SAID projects.
    """
    found = {}
    for what, goals in GOALS.items():
        worst, so_far = [], 0.0
        for factor in GRID[::-1]:
            for (_, _, own), goal in product(_groups(traces), goals):
                n_false, n_said, _ = false_rate(own, what, goal, float(factor) * goal)
                so_far = max(so_far, n_false / n_said if n_said >= MIN_SAID else 0.0)
            worst.append(so_far)
        kept = [[float(f) for f, rate in zip(GRID[::-1], worst, strict=True) if rate <= level] for level in LEVELS]
        found[what] = tuple(max(factors, default=float("nan")) for factors in kept)
    return found


def _groups(traces: Sequence[Trace]) -> list[tuple[str, bool, list[Trace]]]:
    """Return (fit, whether questions were chosen, its traces) of those there are."""
    found = []
    for fit, adaptive in product(dict.fromkeys(one.fit for one in traces), (False, True)):
        own = [one for one in traces if one.fit == fit and (one.rule != "balanced") == adaptive]
        found.append((fit, adaptive, own))
    return [group for group in found if group[2]]


def table_rows(traces: Sequence[Trace]) -> list[dict]:
    """Return a row for each measure, goal, fit, balanced or adaptive, and level."""
    rows = []
    for (what, goals), (fit, adaptive, own), level in product(GOALS.items(), _groups(traces), LEVELS):
        for goal in goals:
            limit = threshold(what, goal, level=level, plain=fit in PLAIN)
            n_false, n_said, labels = false_rate(own, what, goal, limit)
            row: dict = {"what": what, "goal": goal, "fit": fit, "adaptive": adaptive, "level": level, "limit": limit}
            row |= {"n_projects": len(own), "n_said": n_said, "n_false": n_false}
            rows.append(row | {"labels": labels if n_said else None})
    return rows


def format_table(rows: Sequence[dict]) -> str:
    """Format the rows, by measure and goal: how often "done" was said, and how often falsely."""
    lines = [
        f"{'':<13}{'goal':>6}{'fit':>14}{'questions':>11}{'level':>7}{'limit':>8}{'said':>9}{'false':>14}"
        f"{'at most':>9}{'labels':>8}"
    ]
    for row in sorted(rows, key=lambda row: (list(GOALS).index(row["what"]), row["goal"])):
        n, k = row["n_said"], row["n_false"]
        share = k / n if n else float("nan")
        error = np.sqrt(share * (1 - share) / n) if n else float("nan")
        few = "" if n >= MIN_SAID else "  too few to say"
        lines.append(
            f"{row['what']:<13}{row['goal']:>6g}{row['fit']:>14}{'chosen' if row['adaptive'] else 'balanced':>11}"
            f"{row['level']:>7g}{row['limit']:>8.3f}{n:>5}/{row['n_projects']}{share:>8.3f} ±{error:.3f}"
            f"{wilson_interval(share, n)[1]:>9.3f}{row['labels'] or float('nan'):>8.0f}{few}"
        )
    return "\n".join(lines)


def write_table(path: Path, rows: Sequence[dict], facts: dict) -> None:
    """Write the table, a row per line."""
    lines = ",\n".join(json.dumps(row) for row in rows)
    path.write_text(f'{{"facts": {json.dumps(facts)},\n"rows": [\n{lines}\n]}}\n')


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; progress on stderr, the table on stdout."""
    options = _parser().parse_args(arguments)
    seeds, fits = range(options.seed, options.seed + options.projects), options.fits.split(",")
    found = [trace for path in (options.keep,) if path and path.exists() for trace in read_traces(path)]
    for traces in run_projects(seeds, fits, options.keep):
        found.extend(traces)
        print(f"{traces[0].rule} {traces[0].seed}", file=sys.stderr, flush=True)
    traces = [one for one in found if one.seed in seeds and one.fit in fits]
    print(f"projects from {options.seed}, measured {describe_machine()}")
    if options.choose:
        for plain, in_use in ((False, FACTORS), (True, PLAIN_FACTORS)):
            own = [one for one in traces if (one.fit in PLAIN) == plain]
            name = "of plain estimators" if plain else "of those that learn who is careless"
            print(f"factors {name} by these projects, for {LEVELS}: {choose_factors(own)}\nin use: {in_use}")
    rows = table_rows(traces)
    print(format_table(rows))
    if options.table:
        facts = {"projects": options.projects, "first_seed": options.seed, "machine": describe_machine()}
        write_table(options.table, rows, facts)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks stopping", description=__doc__)
    parser.add_argument("--projects", type=int, default=300)
    parser.add_argument("--fits", default="CrowdBT,BradleyTerry", help="estimators of the site that look at each")
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help="of the first project")
    parser.add_argument("--keep", type=Path, help="a file that keeps each project as it ends; a run continues it")
    parser.add_argument("--choose", action="store_true", help="also print the factors that these projects would choose")
    parser.add_argument("--table", type=Path, help=f"also write the errors to this file, for example {TABLE.name}")
    return parser
