"""python -m models_engine.benchmarks crowd-gppl: simulations of Simpson & Gurevych 2020, Figures 1 and 2.

Items lie on a grid, the consensus is t ~ GP(0, K / sigma), components of taste v_c ~ GP(0, K / s), w_u ~ N(0, I), and
each label is one person's answer to a random pair. Parts: consensus (Figure 1a), personal (1b), components (1c),
seconds (2) of GPPL, and of CrowdGPPL by items and pairs past 1,000 items, where it takes 300 inducing points.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_engine.analysis.metrics import kendall_tau_mean
from models_engine.benchmarks.gp_baselines import GPPLPerAnnotator
from models_engine.benchmarks.line_chart import draw_lines
from models_engine.data import Comparisons
from models_engine.errors import InvalidSetting, NotConverged
from models_engine.estimators.crowd_gppl import CrowdGPPL
from models_engine.estimators.gppl import GPPL
from models_engine.kernels import ItemKernel

__all__ = ["PARTS", "CrowdRow", "SimulatedCrowd", "main", "match_components", "simulate"]

Floats = NDArray[np.float64]
N_USERS = 20
PARTS = {
    "consensus": ("Figure 1a: tau of the consensus by its precision sigma", "sigma", "tau of the consensus"),
    "personal": ("Figure 1b: tau of people's own utilities by the precision s of tastes", "s", "mean tau of people"),
    "components": ("Figure 1c: correlation of components found by labels", "labels", "mean correlation"),
    "inducing": ("Figure 2a: GPPL's CPU seconds by inducing points", "inducing points", "CPU s"),
    "items": ("Figure 2b: GPPL's CPU seconds by items", "items", "CPU s"),
    "pairs": ("Figure 2c: GPPL's CPU seconds by pairs", "pairs", "CPU s"),
    "crowd-items": ("Figure 2b: CrowdGPPL's CPU seconds by items", "items", "CPU s"),
    "crowd-pairs": ("Figure 2c: CrowdGPPL's CPU seconds by pairs", "pairs", "CPU s"),
}


@dataclass(frozen=True, eq=False)
class SimulatedCrowd:
    """labels: with the items' positions as features. The truth, in units of the answer's noise: consensus (n_items,),
    components (n_items, C), own utilities (n_users, n_items)."""

    labels: Comparisons
    consensus: Floats
    components: Floats
    own: Floats


@dataclass(frozen=True)
class CrowdRow:
    """One method at one x of a figure, mean over repeats with its standard error (nan for one)."""

    part: str
    x: float
    method: str
    value: float
    error: float


def simulate(
    side: int,
    n_components: int,
    sigma: float,
    s: float,
    n_labels: int,
    rng: np.random.Generator,
    n_users: int = N_USERS,
) -> SimulatedCrowd:
    """Draw a crowd on a side x side grid; K is the Matern-3/2 kernel at the median heuristic's length."""
    grid = np.stack(np.meshgrid(np.arange(float(side)), np.arange(float(side))), axis=-1).reshape(-1, 2)
    n_items = len(grid)
    root = np.linalg.cholesky(ItemKernel(grid, n_items, share=1.0).matrix() + 1e-6 * np.eye(n_items))
    consensus = root @ rng.normal(size=n_items) / np.sqrt(sigma)
    components = root @ rng.normal(size=(n_items, n_components)) / np.sqrt(s)
    own = consensus + rng.normal(size=(n_users, n_components)) @ components.T
    who, left = rng.integers(n_users, size=n_labels), rng.integers(n_items, size=n_labels)
    right = (left + rng.integers(1, n_items, size=n_labels)) % n_items
    won = own[who, left] - own[who, right] + rng.normal(size=n_labels) > 0
    labels = Comparisons.from_pairs(
        left, right, won.astype(np.int64), who, n_items=n_items, n_annotators=n_users, item_features=grid
    )
    return SimulatedCrowd(labels, consensus, components, own)


def match_components(true: Floats, found: Floats) -> float:
    """Return the mean correlation (absolute: a sign is arbitrary) of components matched greedily, best first.

    true (n_items, C), found (n_items, D). A true component without a partner counts 0, as does a found one of zeros.
    """
    scaled = [one - one.mean(axis=0) for one in (true, found)]
    scaled = [one / np.maximum(np.linalg.norm(one, axis=0), 1e-12) for one in scaled]
    match = np.abs(scaled[0].T @ scaled[1])
    total = 0.0
    for _ in range(min(match.shape)):
        row, column = np.unravel_index(np.argmax(match), match.shape)
        total += float(match[row, column])
        match[row], match[:, column] = -1.0, -1.0
    return total / true.shape[1]


def _taus(part: str, crowd: SimulatedCrowd, seed: int) -> Iterator[tuple[str, float]]:
    """Yield each method's Kendall tau with the consensus, or the mean over people of that with their own utilities."""
    n_users = len(crowd.own)
    rng = np.random.default_rng(seed)
    fits: dict[str, Any] = {
        "CrowdGPPL": CrowdGPPL(n_components=10).fit(crowd.labels, rng=rng),
        "GPPL": GPPL().fit(crowd.labels),
        "GPPL per person": GPPLPerAnnotator().fit(crowd.labels),
    }
    for name, posterior in fits.items():
        own = np.stack([_own_utilities(posterior, one) for one in range(n_users)])
        consensus = posterior.utilities()
        found, true = (consensus[None], crowd.consensus[None]) if part == "consensus" else (own, crowd.own)
        yield name, kendall_tau_mean(found, true)


def _own_utilities(posterior: Any, person: int) -> Floats:
    if hasattr(posterior, "personal_utilities"):
        return np.asarray(posterior.personal_utilities(person))
    return np.asarray(posterior.for_annotator(person).utilities())


def _values(part: str, x: float, options: argparse.Namespace, repeat: int) -> Iterable[tuple[str, float]]:
    """Yield (method, value) of one repeat at one x."""
    rng = np.random.default_rng([options.seed, list(PARTS).index(part), repeat])
    if part in ("consensus", "personal"):
        sigma, s = (x, options.taste_precision) if part == "consensus" else (10.0, x)
        crowd = simulate(options.side, 5, sigma, s, options.labels, rng)
        yield from _taus(part, crowd, repeat)
    elif part == "components":
        for n_true in (1, 3, 10):
            crowd = simulate(options.side, n_true, 1.0, 0.2, int(x), rng)
            found = CrowdGPPL(n_components=15).fit(crowd.labels, rng=np.random.default_rng(repeat)).components()
            loadings = np.zeros((len(crowd.consensus), 1)) if found is None else found.item_loadings
            yield f"{n_true} true", match_components(crowd.components, loadings)
    else:
        yield _measure(part, x, rng)


def _measure(part: str, x: float, rng: np.random.Generator) -> tuple[str, float]:
    """Return the estimator's name and the CPU seconds of one fit: of one person's pairs, or of the crowd's."""
    side, n_labels, n_inducing = {
        "inducing": (30, 2_000, int(x)),
        "items": (round(x**0.5), 2_000, 100),
        "pairs": (30, int(x), 100),
        "crowd-items": (round(x**0.5), 2_000, 0),
        "crowd-pairs": (35, int(x), 0),
    }[part]
    estimator: GPPL | CrowdGPPL
    if n_inducing:
        crowd = simulate(side, 1, 1.0, 4.0, n_labels, rng, n_users=1)
        estimator = GPPL(n_inducing=n_inducing, share=0.9, length_scale=1.0)
    else:
        crowd = simulate(side, 5, 1.0, 4.0, n_labels, rng)
        estimator = CrowdGPPL(n_components=5)
    begun = time.process_time()
    estimator.fit(crowd.labels)
    return type(estimator).__name__, time.process_time() - begun


LEVELS: dict[str, tuple[float, ...]] = {
    "consensus": (0.1, 1.0, 10.0),
    "personal": (0.01, 0.1, 1.0, 10.0),
    "components": (200, 1_000, 3_000),
    "inducing": (50, 100, 200, 400),
    "items": (225, 400, 900, 1_600),
    "pairs": (500, 2_000, 8_000),
    "crowd-items": (1_225, 2_025),
    "crowd-pairs": (500, 2_000, 8_000),
}


def run(part: str, options: argparse.Namespace) -> list[CrowdRow]:
    """Run one part with progress on stderr."""
    rows = []
    for x in LEVELS[part]:
        values: dict[str, list[float]] = {}
        for repeat in range(options.repeats):
            for name, value in _values(part, x, options, repeat):
                values.setdefault(name, []).append(value)
            print(f"{part}: {x:g}, repeat {repeat + 1} of {options.repeats}", file=sys.stderr, flush=True)
        for name, each in values.items():
            error = float(np.std(each, ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("nan")
            rows.append(CrowdRow(part, x, name, float(np.mean(each)), error))
    return rows


def draw(part: str, rows: Sequence[CrowdRow]) -> str:
    """Draw a part's figure as SVG."""
    lines: dict[str, list[tuple[float, float, float]]] = {}
    for one in rows:
        lines.setdefault(one.method, []).append((one.x, one.value, float(np.nan_to_num(one.error))))
    return draw_lines(*PARTS[part], lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; progress on stderr, the tables on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks crowd-gppl", description=__doc__)
    parser.add_argument("--parts", default="inducing,items,pairs", help=f"separated by commas: {', '.join(PARTS)}")
    parser.add_argument("--side", type=int, default=20, help="of the grid of items in Figure 1")
    parser.add_argument("--labels", type=int, default=1_000, help="in Figures 1a and 1b")
    parser.add_argument("--taste-precision", type=float, default=1.0, help="s of Figure 1a; .001 in the paper")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plots", type=Path, help="folder for the figures as SVG")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args(arguments)
    parts = options.parts.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        raise InvalidSetting(f"there is no part {unknown[0]!r}; choose from {', '.join(PARTS)}.")
    kept = []
    for part in parts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConverged)
            rows = run(part, options)
        print(PARTS[part][0])
        for row in rows:
            print(f"{row.x:>10g}  {row.method:<18}{row.value:>10.4f}{row.error:>10.4f}")
        if options.plots:
            options.plots.mkdir(parents=True, exist_ok=True)
            (options.plots / f"crowd-gppl-{part}.svg").write_text(draw(part, rows), encoding="utf-8")
        kept += [asdict(row) for row in rows]
    if options.json:
        options.json.write_text(json.dumps(kept, indent=1))
    return 0
