"""Ko's thesis on counts, 3.1, on plays: Table 3.3 and Figures 3.1 (errors by prior variance) and 3.2 (by time)."""

import argparse
import json
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import get_args

import numpy as np

from models_engine.benchmarks.count_losses import mean_loss, negative_binomial_loss
from models_engine.benchmarks.count_modes import CountModes, Way
from models_engine.benchmarks.machine import describe_machine
from models_engine.errors import InvalidSetting, NotConverged
from models_engine.inference.counts.bound import Scales
from models_engine.inference.counts.cells import CountCells
from models_engine.inference.counts.factorization import CountModel, start_constant

__all__ = [
    "PARTS",
    "FigureRow",
    "ThesisRow",
    "as_thesis",
    "by_time",
    "by_variance",
    "print_thesis",
    "thesis_scales",
]

N_DRAWN = 8_000  # cells of a split, a quarter of them held out
PARTS = {
    "table": "Table 3.3: nats a held-out count, standard deviations over splits",
    "variances": "Figure 3.1: nats a held-out count by the prior variance of the items' side",
    "time": "Figure 3.2: nats a held-out count by CPU seconds, after so many evaluations of the bound",
}
VARIANCES = (1e-4, 1e-2, 0.1, 1.0, 10.0)
EVALUATIONS = (25, 50, 100, 200, 400, 800)
VARIANCE = 0.1  # in the figure by time
N_FACTORS = 10
N_DRAWS = 1_000  # of the items' factors, in a predictive probability


@dataclass(frozen=True)
class ThesisRow:
    """Mean minus log probability of a held-out root of a count, nats, over splits; error: standard deviation of the
    splits, as the thesis prints it."""

    rule: str
    nats: float
    error: float


def rounded_roots(cells: CountCells) -> CountCells:
    """Return these cells with the rounded root of each count."""
    roots = np.floor(np.sqrt(cells.counts) + 0.5)
    sizes = {"n_items": cells.n_items, "n_annotators": cells.n_annotators}
    return CountCells.from_rows(cells.items, cells.annotators, roots, **sizes)


def split(cells: CountCells, seed: int) -> tuple[CountCells, CountCells]:
    """Draw N_DRAWN cells; return three quarters of them and the others."""
    rng = np.random.default_rng(seed)
    drawn = cells.subset(rng.permutation(cells.n_cells) < N_DRAWN)
    out = rng.permutation(drawn.n_cells) < drawn.n_cells // 4
    return drawn.subset(~out), drawn.subset(out)


def only_drawn(train: CountCells, test: CountCells) -> tuple[CountCells, CountCells]:
    """Leave out items and annotators of no cell, whose posterior is their prior, and number the others anew."""
    items = np.unique(np.concatenate([train.items, test.items]))
    annotators = np.unique(np.concatenate([train.annotators, test.annotators]))
    sizes = {"n_items": len(items), "n_annotators": len(annotators)}

    def anew(one: CountCells) -> CountCells:
        item, who = np.searchsorted(items, one.items), np.searchsorted(annotators, one.annotators)
        return CountCells.from_rows(item, who, one.counts, one.exposures, **sizes)

    return anew(train), anew(test)


def as_thesis(cells: CountCells, repeats: int) -> list[ThesisRow]:
    """Ko's thesis 3.1.4, Table 3.3: 8,000 random counts, each the rounded root of the plays, a quarter held out.

    Factors stand beside effects of both, which the thesis does not have: by independent normals (its MF), with items or
    annotators at their mode (its EM) and all of them (MAP), under the prior variances that the first has learned.
    """
    rooted = rounded_roots(cells)
    found: dict[str, list[float]] = {}
    for repeat in range(repeats):
        train, test = split(rooted, repeat)
        overall = np.full(cells.n_items, train.counts.mean())
        losses = {"one mean, negative binomial": float(negative_binomial_loss(train, test, overall).mean())}
        for name, model in (
            ("effects, Poisson", CountModel(0, "poisson")),
            ("effects and 3 factors, Poisson", CountModel(3, "poisson")),
            ("effects, negative binomial", CountModel(0, "negative binomial", n_prior=2.0)),
        ):
            fitted = model.fit(train)
            losses[name] = mean_loss(fitted, test)
            if model.n_factors:
                losses["the same, EM"] = mean_loss(CountModes("EM", fitted.scales).fit(train), test)
                losses["the same, MAP"] = mean_loss(CountModes("MAP", fitted.scales).fit(train), test)
        for name, loss in losses.items():
            found.setdefault(name, []).append(loss)
    return [ThesisRow(name, float(np.mean(one)), float(np.std(one, ddof=1))) for name, one in found.items()]


@dataclass(frozen=True)
class FigureRow:
    """A point of a figure: nats a held-out count and CPU seconds of the fit, means over splits.

    variance: the prior variance of the items' side; None where the bound learns it.   evaluations: the most of the
    bound; None is until it no longer rises.   error: standard deviation of the nats between splits.
    """

    method: str
    variance: float | None
    evaluations: int | None
    seconds: float
    nats: float
    error: float


def thesis_scales(cells: CountCells, variance: float, n_factors: int) -> Scales:
    """Return the thesis's priors: this variance of what belongs to items, 1 of what belongs to annotators.

    `Scales` has one variance for the factors of both sides. Only the product of the two is identified: factors of
    items divided by variance^(1/4), and those of annotators multiplied by it, both have the variance's root.
    """
    return Scales(variance, 1.0, np.full(n_factors, np.sqrt(variance)), start_constant(cells))


def by_variance(
    cells: CountCells,
    repeats: int,
    variances: Sequence[float] = VARIANCES,
    n_factors: int = N_FACTORS,
    max_evaluations: int = EVALUATIONS[-1],
    n_draws: int = N_DRAWS,
) -> list[FigureRow]:
    """Ko's thesis, Figure 3.1: MAP, EM and MF under each prior variance, and effects alone, which learn theirs."""
    points = [(way, one, max_evaluations) for one in variances for way in get_args(Way)]
    return _figure(cells, repeats, points, n_factors, n_draws)


def by_time(
    cells: CountCells,
    repeats: int,
    evaluations: Sequence[int] = EVALUATIONS,
    variance: float = VARIANCE,
    n_factors: int = N_FACTORS,
    n_draws: int = N_DRAWS,
) -> list[FigureRow]:
    """Ko's thesis, Figure 3.2: the same after fewer evaluations of the bound. Each is a fit of its own from the start,
    whose steps are the first of the longest."""
    points = [(way, variance, one) for way in get_args(Way) for one in evaluations]
    return _figure(cells, repeats, points, n_factors, n_draws)


def _figure(
    cells: CountCells, repeats: int, points: Sequence[tuple[Way, float, int]], n_factors: int, n_draws: int
) -> list[FigureRow]:
    """Measure the points on the same splits, and effects by a negative binomial under variances of their own."""
    measured: dict[tuple[str, float | None, int | None], list[tuple[float, float]]] = {}
    rooted = rounded_roots(cells)
    for repeat in range(repeats):
        train, test = only_drawn(*split(rooted, repeat))
        for way, variance, evaluations in points:
            modes = CountModes(way, thesis_scales(train, variance, n_factors), evaluations)
            measured.setdefault((way, variance, evaluations), []).append(_measure(modes, train, test, n_draws))
        effects = CountModel(0, "negative binomial", n_prior=2.0)
        measured.setdefault(("effects, negative binomial", None, None), []).append(
            _measure(effects, train, test, n_draws)
        )
    rows = []
    for key, each in measured.items():
        seconds, nats = np.array(each).T
        rows.append(FigureRow(*key, float(seconds.mean()), float(nats.mean()), float(nats.std(ddof=1))))
    return rows


def _measure(model: CountModes | CountModel, train: CountCells, test: CountCells, n_draws: int) -> tuple[float, float]:
    """Return the CPU seconds of a fit and nats a held-out count."""
    began = time.process_time()
    fitted = model.fit(train)
    return time.process_time() - began, mean_loss(fitted, test, n_draws)


def print_thesis(cells: CountCells, options: argparse.Namespace) -> int:
    """Print the parts asked for, of Last.fm's plays."""
    parts = (options.parts or "table").split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        raise InvalidSetting(f"there is no part {unknown[0]!r}; choose from {', '.join(PARTS)}.")
    if options.thesis < 2:
        raise InvalidSetting("a standard deviation takes two splits or more; give --thesis 2 or more.")
    make: dict[str, Callable[[CountCells, int], list[ThesisRow] | list[FigureRow]]]
    make = {"table": as_thesis, "variances": by_variance, "time": by_time}
    kept: dict[str, object] = {}
    for part in parts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConverged)
            rows = make[part](cells, options.thesis)
        kept["thesis" if part == "table" else part] = [asdict(row) for row in rows]
        if not options.json:
            print("\n".join([PARTS[part], *map(format_row, rows)]), flush=True)
    if options.json:
        print(json.dumps({"machine": describe_machine(), **kept}, indent=2))
    return 0


def format_row(row: ThesisRow | FigureRow) -> str:
    """Format a line of a table or a point of a figure."""
    if isinstance(row, ThesisRow):
        return f"{row.rule:<32}{row.nats:>8.3f} ± {row.error:.3f} nats"
    variance = "learned" if row.variance is None else f"{row.variance:g}"
    evaluations = "" if row.evaluations is None else str(row.evaluations)
    head = f"{row.method:<28}{variance:>9}{evaluations:>6}"
    return f"{head}{row.seconds:>8.2f} s{row.nats:>9.3f} ± {row.error:.3f} nats"
