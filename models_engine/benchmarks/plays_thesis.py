"""Ko's thesis on counts, 3.1: its protocol on plays, and Table 3.3."""

import argparse
import json
import warnings
from dataclasses import asdict, dataclass

import numpy as np

from models_engine.benchmarks.count_losses import mean_loss, negative_binomial_loss
from models_engine.benchmarks.count_modes import CountModes
from models_engine.benchmarks.machine import describe_machine
from models_engine.errors import InvalidSetting, NotConverged
from models_engine.inference.counts.cells import CountCells
from models_engine.inference.counts.factorization import CountModel

__all__ = ["ThesisRow", "as_thesis", "print_thesis"]

N_DRAWN = 8_000  # cells of a split, a quarter of them held out


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


def print_thesis(cells: CountCells, options: argparse.Namespace) -> int:
    """Print Table 3.3's row of plays."""
    if options.thesis < 2:
        raise InvalidSetting("a standard deviation takes two splits or more; give --thesis 2 or more.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        rows = as_thesis(cells, options.thesis)
    if options.json:
        print(json.dumps({"machine": describe_machine(), "thesis": [asdict(row) for row in rows]}, indent=2))
        return 0
    for row in rows:
        print(f"{row.rule:<32}{row.nats:>8.3f} ± {row.error:.3f} nats")
    return 0
