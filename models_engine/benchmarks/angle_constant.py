"""Error of the angle-based model's approximate constant: Table 1 and Figure 2 of Xu, Alvo & Yu, without data."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from models_engine.inference.angle.permutations import log_compatible
from models_engine.inference.angle.von_mises_fisher import log_sphere_mean

__all__ = ["PUBLISHED", "ConstantRow", "error_rate", "main", "run"]

Floats = NDArray[np.float64]
KAPPAS = (0.5, 0.8, 1.0, 2.0)
PUBLISHED = {  # per cent, by kappa, for 3 to 11 items
    0.5: (0.00003, 0.00042, 0.00024, 0.00013, 0.00007, 0.00004, 0.00003, 0.00002, 0.00001),
    0.8: (0.00051, 0.00261, 0.00150, 0.00081, 0.00046, 0.00027, 0.00017, 0.00011, 0.00008),
    1.0: (0.00175, 0.00607, 0.00354, 0.00194, 0.00110, 0.00066, 0.00041, 0.00027, 0.00018),
    2.0: (0.05361, 0.06803, 0.04307, 0.02528, 0.01508, 0.00932, 0.00598, 0.00398, 0.00273),
}
FEWEST = 3


@dataclass(frozen=True)
class ConstantRow:
    """Per cent of the logarithm. even: the items' utilities are equally far apart, as in the paper's table. one_apart:
    one item differs from all others, which are alike."""

    t: int
    kappa: float
    even: float
    one_apart: float
    printed: float | None


def error_rate(direction: Floats, kappa: float) -> float:
    """Return how far the approximate log constant is from the exact sum over all rankings, in per cent of it.

    direction: (t,), of any length and centre; the sum is exact for any t, in 2^t t additions.
    """
    t = len(direction)
    centred = direction - direction.mean()
    eta = kappa * centred / np.linalg.norm(centred)
    exact = log_compatible(eta[None], np.zeros((1, t), dtype=np.int64))[0, 0]
    approximate = gammaln(t + 1) + float(log_sphere_mean(kappa, t - 1))
    return float(100 * abs(exact - approximate) / abs(exact))


def run(most: int) -> list[ConstantRow]:
    """Compare both for 3 items to `most`, with kappa as printed and kappa = t, 2 t (Figure 2)."""
    rows = []
    for t in range(FEWEST, most + 1):
        even, apart = np.arange(t, dtype=np.float64), np.eye(t)[0]
        for kappa in (*KAPPAS, float(t), 2.0 * t):
            column = PUBLISHED.get(kappa, ())
            printed = column[t - FEWEST] if t - FEWEST < len(column) and kappa in KAPPAS else None
            rows.append(ConstantRow(t, kappa, error_rate(even, kappa), error_rate(apart, kappa), printed))
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks angle-constant", description=__doc__)
    parser.add_argument("--most-items", type=int, default=11)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    rows = run(options.most_items)
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
        return 0
    print(f"{'items':>5}{'kappa':>7}{'even':>11}{'printed':>11}{'one apart':>12}   per cent of the log constant")
    for row in rows:
        printed = "" if row.printed is None else f"{row.printed:.5f}"
        print(f"{row.t:>5}{row.kappa:>7.1f}{row.even:>11.5f}{printed:>11}{row.one_apart:>12.5f}")
    return 0
