"""python -m models_engine.benchmarks angle: Xu, Alvo & Yu, ten sushi ranked in East and West Japan, and simulations.

Parts: table2; posterior (Figures 3, 15); people (4, 5); items (6, 7); predictive (8); missing (9); best (11, 12);
held-out and groups.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from models_engine.benchmarks.angle_many_items import PRIOR_SD, BestItems, best_ten, hold_out
from models_engine.benchmarks.angle_simulations import (
    compare_posteriors,
    estimate_by_people_and_items,
    missing_items,
    predict,
)
from models_engine.benchmarks.sushi_data import SushiData, read_sushi
from models_engine.data import Comparisons
from models_engine.errors import InvalidSetting
from models_engine.estimators.angle_based import AngleBased
from models_engine.inference.angle.likelihood import AngleLabels, fit_variational

__all__ = ["PARTS", "PUBLISHED", "AngleRow", "format_regions", "main", "run"]

PARTS = {
    "table2": "Table 2: posterior parameters, East and West Japan",
    "posterior": "Figures 3, 15: symmetric divergences of posteriors of kappa, nats",
    "people": "Figures 4, 5: divergence of the truth from the estimate and seconds, by people",
    "items": "Figures 6, 7: divergence of the truth from the estimate and seconds, by items",
    "predictive": "Figure 8: divergence of the exact predictive density from approximate ones",
    "missing": "Figure 9: divergence of the truth from the estimate, by items missing from each ranking",
    "best": "Figures 11, 12: the ten best of a hundred sushi, East and West Japan (each person ranked ten)",
    "held-out": "rankings of all ten sushi: loss of held-out rankings, nats",
    "groups": "groups among rankings of ten of a hundred sushi: loss of held-out rankings, nats",
}
NEED_DATA = ("table2", "best", "held-out", "groups")
POSTERIOR = ((3, 20, 1.0), (3, 100, 1.0), (10, 20, 1.0), (10, 100, 1.0), (10, 100, 5.0))
BY_PEOPLE = tuple((t, n) for t in (10, 20, 50) for n in (25, 100, 500))
BY_ITEMS = tuple((t, 200) for t in (3, 5, 8, 30, 100))
MISSING = ((10, 500, (0, 2, 4, 6, 8)),)
EAST_OR_WEST = 2  # column of SushiData.users: where somebody lived longest until 15
REGIONS = ("East", "West")


@dataclass(frozen=True)
class AngleRow:
    """Parameters of the variational form; kappa is its posterior mean a / b; None where the paper prints none."""

    n: int | None
    beta: float
    a: float
    b: float
    kappa: float
    kappa_sampled: float | None = None
    sd_sampled: float | None = None


PUBLISHED = {  # printed with 3285 and 1715 people; the data have 3258 and 1742
    "East": AngleRow(None, 1458.85, 18509.84, 3801.57, 4.87),
    "West": AngleRow(None, 741.61, 9462.70, 2087.37, 4.53),
}


def run(data: SushiData) -> dict[str, AngleRow]:
    """Compute our row of each region.

    The paper's beta_0 is "close to zero". Its (9) then adds (t-2)/2 for theta's prior to a; that (10) should take as
    much back from kappa through b, as beta_0 ln I'(beta_0 kappa) -> (t-2)/(2 kappa), the printed figures do not show.
    Here theta is uniform a priori, which has neither, so that (t-2)/2 enters as the prior shape of kappa.
    """
    found = {}
    for code, region in enumerate(REGIONS):
        rankings = Comparisons.from_rankings(data.rankings_a[data.users[:, EAST_OR_WEST] == code])
        labels = AngleLabels.of(rankings)
        form = fit_variational(labels.resultant, labels.total, ((labels.t - 2) / 2, 1e-6))
        drawn = AngleBased(prior_sd=100.0).fit(rankings).concentrations()
        moments = (float(drawn.mean()), float(drawn.std(ddof=1)))
        found[region] = AngleRow(rankings.n_labels, form.beta, form.a, form.b, form.a / form.b, *moments)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; progress on stderr, the tables on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks angle", description=__doc__)
    parser.add_argument(
        "--data", type=Path, help=f"folder of the Sushi data's original files, for {', '.join(NEED_DATA)}"
    )
    parser.add_argument(
        "--people", type=int, help="of parts best and held-out (default: all) and groups (default: 1,000)"
    )
    parser.add_argument("--parts", default="table2", help=f"separated by commas: {', '.join(PARTS)}")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--draws", type=int, default=200, help="draws kept in part missing")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    parts = options.parts.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        raise InvalidSetting(f"there is no part {unknown[0]!r}; choose from {', '.join(PARTS)}.")
    kept: dict[str, object] = {}
    for part in parts:
        print(PARTS[part])
        kept[part] = _run_part(part, options)
    if options.json:
        options.json.write_text(json.dumps(kept, indent=1))
    return 0


def _run_part(part: str, options: argparse.Namespace) -> object:
    """Compute and print one part; return what goes into the file."""
    if part in NEED_DATA and options.data is None:
        raise InvalidSetting(f"{part} needs the Sushi data; give --data its folder, or other --parts.")
    if part == "best":
        best = best_ten(read_sushi(options.data), options.people)
        print("\n".join(map(format_best, best)))
        return [asdict(row) for row in best]
    if part in ("held-out", "groups"):
        return _hold_out(part, options)
    if part == "table2":
        found = run(read_sushi(options.data))
        print(format_regions(found))
        return {name: asdict(row) for name, row in found.items()}
    if part == "posterior":
        rows = compare_posteriors(POSTERIOR, options.repeats, options.seed)
        print(f"{'items':>5}{'n':>6}{'kappa':>7}{'exact':>10}{'binned':>10}{'noise':>10}")
        for one in rows:
            print(f"{one.t:>5}{one.n:>6}{one.kappa:>7.1f}{one.exact:>10.4f}{one.binned:>10.4f}{one.noise:>10.4f}")
        return [asdict(one) for one in rows]
    simulated = {
        "people": lambda: estimate_by_people_and_items(BY_PEOPLE, options.repeats, options.seed),
        "items": lambda: estimate_by_people_and_items(BY_ITEMS, options.repeats, options.seed),
        "predictive": lambda: predict((10, 20, 40, 70, 100), options.repeats, options.seed),
        "missing": lambda: missing_items(MISSING, options.repeats, options.seed, options.draws),
    }[part]()
    print(f"{'items':>5}{'n':>6}{'missing':>9}  {'method':<9}{'KL, nats':>11}{'s.e.':>10}{'CPU s':>9}")
    kept = []
    for row in simulated:
        print(
            f"{row.t:>5}{row.n:>6}{row.missing:>9}  {row.method:<9}{row.divergence:>11.5f}{row.error:>10.5f}"
            f"{row.seconds:>9.4f}",
            flush=True,
        )
        kept.append(asdict(row))
    return kept


def _hold_out(part: str, options: argparse.Namespace) -> list[dict[str, object]]:
    """Print losses of held-out rankings by one order and by groups: of all ten sushi, or of ten of a hundred."""
    data = read_sushi(options.data)
    if part == "held-out":
        rows = hold_out(data.rankings_a[: options.people], 10, options.seed, (2, 3, 4, 5))
    else:
        chosen = np.random.default_rng([options.seed, 3]).permutation(len(data.rankings_b))[: options.people or 1_000]
        rows = hold_out(data.rankings_b[chosen], 100, options.seed, (2,), PRIOR_SD)
    print(f"{'model':<15}{'nats':>9}{'from PL':>10}{'s.e.':>8}{'CPU s':>8}")
    for row in rows:
        note = "" if row.converged else "  not converged"
        print(f"{row.model:<15}{row.loss:>9.4f}{row.difference:>+10.4f}{row.error:>8.4f}{row.cpu_s:>8.1f}{note}")
    return [asdict(row) for row in rows]


def format_best(row: BestItems) -> str:
    """Format one region's ten items of smallest theta, by their numbers in the data."""
    note = "" if row.converged else ", not converged"
    head = f"{row.region}, {row.reading}: {row.n} people, kappa {row.kappa:.1f}{note}"
    each = zip(row.items, row.mean, row.sd, strict=True)
    return "\n".join([head, *(f"  item {item:>3}  theta {mean:>8.4f} +- {sd:.4f}" for item, mean, sd in each)])


def format_regions(found: dict[str, AngleRow]) -> str:
    """Format Table 2 with the printed figures and the difference."""
    lines = [f"{'':<18}{'n':>6}{'beta':>10}{'a':>11}{'b':>10}{'kappa':>8}   kappa by resampling"]
    for region, row in found.items():
        there = PUBLISHED[region]
        sampled = f"{row.kappa_sampled:.3f} (sd {row.sd_sampled:.3f})"
        lines.append(
            f"{region:<18}{row.n:>6}{row.beta:>10.2f}{row.a:>11.2f}{row.b:>10.2f}{row.kappa:>8.3f}   {sampled}"
        )
        lines.append(f"{'  printed':<24}{there.beta:>10.2f}{there.a:>11.2f}{there.b:>10.2f}{there.kappa:>8.2f}")
        share = [100 * (getattr(row, name) / getattr(there, name) - 1) for name in ("beta", "a", "b")]
        lines.append(
            f"{'  difference':<24}{share[0]:>9.3f}%{share[1]:>10.3f}%{share[2]:>9.3f}%{row.kappa - there.kappa:>8.3f}"
        )
    return "\n".join(lines)
