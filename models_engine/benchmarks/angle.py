"""python -m models_engine.benchmarks angle: Table 2 of Xu, Alvo & Yu, ten sushi ranked in East and West Japan."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from models_engine.benchmarks.sushi_data import SushiData, read_sushi
from models_engine.data import Comparisons
from models_engine.estimators.angle_based import AngleBased
from models_engine.inference.angle.likelihood import AngleLabels, fit_variational

__all__ = ["PUBLISHED", "AngleRow", "main", "run"]

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
    """Run the command; the table on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks angle", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the Sushi data's original files")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    found = run(read_sushi(options.data))
    print(f"{'':<18}{'n':>6}{'beta':>10}{'a':>11}{'b':>10}{'kappa':>8}   kappa by resampling")
    for region, row in found.items():
        there = PUBLISHED[region]
        sampled = f"{row.kappa_sampled:.3f} (sd {row.sd_sampled:.3f})"
        print(f"{region:<18}{row.n:>6}{row.beta:>10.2f}{row.a:>11.2f}{row.b:>10.2f}{row.kappa:>8.3f}   {sampled}")
        print(f"{'  printed':<24}{there.beta:>10.2f}{there.a:>11.2f}{there.b:>10.2f}{there.kappa:>8.2f}")
        share = [100 * (getattr(row, name) / getattr(there, name) - 1) for name in ("beta", "a", "b")]
        print(
            f"{'  difference':<24}{share[0]:>9.3f}%{share[1]:>10.3f}%{share[2]:>9.3f}%{row.kappa - there.kappa:>8.3f}"
        )
    if options.json:
        options.json.write_text(json.dumps({name: asdict(row) for name, row in found.items()}, indent=1))
    return 0
