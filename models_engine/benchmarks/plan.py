"""The planner compared with full simulations on other seeds: its means, and the coverage of its bands."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from models_engine.analysis.plan_design import Design, expected_reliability
from models_engine.analysis.planning import Plan, fit_answers, plan_project, simulate_answers, top_share
from models_engine.benchmarks.machine import describe_machine
from models_engine.simulate import simulate_crowd

__all__ = ["DESIGNS", "PlanResult", "main", "measure"]

DESIGNS = {
    "essays": Design(30, 5, 36),
    "posters": Design(100, 20, 60),
    "lexicon": Design(200, 22, 30, "best_worst", 4, checks_each=2),
    "jury": Design(60, 20, 12, "rankings", 4, top=3),
    "ideas": Design(200, 100, 30),
    "large": Design(600, 100, 60),
    "larger": Design(1_000, 100, 75, "rankings", 4),
}


@dataclass(frozen=True)
class PlanResult:
    """One measure of one design: what was planned, what simulations gave (mean), and the share inside the band.

    error: of that mean over simulations.
    """

    design: str
    measure: str
    low: float
    planned: float
    high: float
    real: float
    error: float
    inside: float
    seconds: float
    rule: float


def measure(name: str, n_crowds: int, seed: int) -> list[PlanResult]:
    """Plan a design, then simulate it in full n_crowds times: reliability is the squared correlation with the truth."""
    design, begun = DESIGNS[name], time.process_time()
    planned: Plan = plan_project(design)
    seconds = time.process_time() - begun
    real = np.array([simulate_in_full(design, number) for number in range(seed, seed + n_crowds)])
    rule = expected_reliability(design)
    found = []
    for column, what in enumerate(("reliability", "width", "top")):
        band, values = getattr(planned, what), real[:, column]
        inside = float(((values >= band.low) & (values <= band.high)).mean())
        error = float(values.std(ddof=1) / np.sqrt(n_crowds))
        means = (band.low, band.middle, band.high, float(values.mean()))
        found.append(PlanResult(name, what, *means, error, inside, seconds, rule if what == "reliability" else np.nan))
    return found


def simulate_in_full(design: Design, seed: int) -> tuple[float, float, float]:
    """Simulate one project in full: (squared correlation with the truth, mean width, share of the top found)."""
    rng = np.random.default_rng([seed, 1])
    sd = design.utility_sd * float(design.spread_factor ** rng.standard_normal())
    people = simulate_crowd(rng, design.n_items, design.n_people, utility_sd=sd, taste_sd=design.taste_sd)
    fit = fit_answers(simulate_answers(people, design, design.n_labels, rng), sd)
    estimate = fit.utilities()
    squared = float(np.corrcoef(estimate, people.utilities)[0, 1] ** 2)
    width = 2 * 1.6448536269514722 * float(fit.standard_deviations().mean())
    return squared, width, top_share(people.utilities, estimate, design.top)


def format_table(found: Sequence[PlanResult]) -> str:
    """Format one line for each design and measure."""
    titles = f"{'from':>8}{'planned':>9}{'to':>8}{'real':>8}{'±':>8}{'inside':>9}{'CPU s':>8}{'formula':>9}"
    lines = [f"{'':<10}{'':<13}{titles}"]
    for one in found:
        rule = f"{one.rule:>9.3f}" if np.isfinite(one.rule) else ""
        lines.append(
            f"{one.design:<10}{one.measure:<13}{one.low:>8.3f}{one.planned:>9.3f}{one.high:>8.3f}{one.real:>8.3f}"
            f"{one.error:>8.3f}{one.inside:>9.2f}{one.seconds:>8.2f}{rule}"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the table on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks plan", description=__doc__)
    parser.add_argument("--designs", default=",".join(DESIGNS), help=f"of {', '.join(DESIGNS)}")
    parser.add_argument("--crowds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1_000, help="of the first full simulation")
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    options = parser.parse_args(arguments)
    found = [one for name in options.designs.split(",") for one in measure(name, options.crowds, options.seed)]
    print(f"crowds {options.crowds}, first seed {options.seed}, measured {describe_machine()}")
    print(format_table(found))
    if options.json:
        options.json.write_text(
            json.dumps({"facts": describe_machine(), "found": [asdict(one) for one in found]}, indent=1)
        )
        print(f"written to {options.json}", file=sys.stderr)
    return 0
