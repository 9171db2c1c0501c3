"""python -m models_engine.benchmarks apa: groups among the ballots of the APA election of 1980."""

import argparse
import gzip
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.estimators.angle_mixture import AngleBasedMixture
from models_engine.estimators.plackett_luce import PlackettLuce

__all__ = ["ModelRow", "main", "read_apa", "run"]

Ints = NDArray[np.int64]
N_FOLDS = 5


@dataclass(frozen=True)
class ModelRow:
    """One model: held-out log likelihood per ballot, and on all ballots DIC, smallest share and largest kappa."""

    model: str
    held_out: float
    dic: float | None = None
    smallest_share: float | None = None
    largest_kappa: float | None = None


def read_apa(folder: Path) -> Ints:
    """Read full ballots (5738, 5), best first, from `folder` or its subfolder apa1980. Raises InvalidData if
    missing.
    """
    name = "full_rankings.csv.gz"
    found = next((place / name for place in (folder, folder / "apa1980") if (place / name).is_file()), None)
    if found is None:
        raise InvalidData(f"{folder / name} does not exist; give --data the folder of the APA ballots.")
    with gzip.open(found, "rt") as lines:
        return np.loadtxt(lines, delimiter=",", skiprows=1, dtype=np.int64)[:, 1:]


def _ballots(rankings: Ints) -> Comparisons:
    """Build comparisons with an annotator for each ballot."""
    return Comparisons.from_rankings(rankings, np.arange(len(rankings)), n_items=rankings.shape[1])


def run(rankings: Ints, groups: Sequence[int], seed: int) -> list[ModelRow]:
    """Evaluate the uniform model, Plackett-Luce and mixtures of these numbers of groups on the same folds."""
    fold = np.random.default_rng(seed).permutation(len(rankings)) % N_FOLDS
    parts = [(_ballots(rankings[fold != one]), rankings[fold == one]) for one in range(N_FOLDS)]
    total = {"uniform": 0.0, "Plackett-Luce": 0.0} | {f"{size} groups": 0.0 for size in groups}
    for train, held_out in parts:
        test = Comparisons.from_rankings(held_out, np.full(len(held_out), train.n_annotators))
        total["uniform"] -= float(len(held_out) * np.log(np.arange(1, rankings.shape[1] + 1)).sum())
        total["Plackett-Luce"] += float(PlackettLuce().fit(train).log_predictive(test).sum())
        for size in groups:
            total[f"{size} groups"] += float(AngleBasedMixture(size).fit(train).log_predictive(test).sum())
    rows = [ModelRow(name, value / len(rankings)) for name, value in total.items()]
    for index, size in enumerate(groups, len(rows) - len(groups)):
        posterior = AngleBasedMixture(size).fit(_ballots(rankings))
        share, kappa = posterior.shares.mean(axis=0), np.linalg.norm(posterior.groups, axis=2).mean(axis=0)
        rows[index] = ModelRow(
            rows[index].model, rows[index].held_out, posterior.dic, float(share.min()), float(kappa.max())
        )
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the table on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks apa", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the APA ballots")
    parser.add_argument("--most-groups", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    rankings = read_apa(options.data)
    rows = run(rankings, range(1, options.most_groups + 1), options.seed)
    print(f"{len(rankings)} full ballots, held-out log likelihood per ballot over {N_FOLDS} folds, seed {options.seed}")
    print(f"{'model':<16}{'held out':>10}{'DIC':>11}{'smallest share':>16}{'largest kappa':>15}")
    for row in rows:
        rest = "" if row.dic is None else f"{row.dic:>11.1f}{row.smallest_share:>16.3f}{row.largest_kappa:>15.2f}"
        print(f"{row.model:<16}{row.held_out:>10.4f}{rest}")
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0
