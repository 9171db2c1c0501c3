"""Readers of two public data sets of competitors' items for the same contexts; not part of the project."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models_engine.benchmarks.crowd_data import found_file, read_columns, read_numbers
from models_engine.data import Comparisons
from models_engine.errors import InvalidSetting
from models_engine.estimators.competitor_table import CompetitorTable

__all__ = ["SETS", "Contest", "pool_contexts", "read_contest"]

Ints = NDArray[np.int64]
OUTCOMES = {"left": 1.0, "right": 0.0, "tie": 0.5}


@dataclass(frozen=True, eq=False)
class Contest:
    """Labels over items, the competitor table, and the context (n_labels,) of each label."""

    data: Comparisons
    table: CompetitorTable
    context: Ints

    def part(self, contexts: NDArray[np.bool_]) -> "Contest":
        """Select the labels about the chosen contexts, a mask (n_contexts,)."""
        kept = contexts[self.context]
        return Contest(self.data.subset(kept), self.table, self.context[kept])

    @property
    def n_contexts(self) -> int:
        return int(self.context.max()) + 1


def build_contest(data: Comparisons, context: Ints, n: int) -> Contest:
    """Build from labels whose item number is context * n + competitor."""
    n_contexts = data.n_items // n
    who, where = np.tile(np.arange(n), n_contexts), np.repeat(np.arange(n_contexts), n)
    return Contest(data, CompetitorTable.of(who, n_competitors=n, context=where), context)


def read_wmt13(folder: Path) -> Contest:
    """Read which translation is better (Bojar et al. 2013): rankings of five systems' translations, with ties.

    `folder`, or its subfolder wmt13_fr_en, holds rankings.csv.gz (judge, segment, item1.., place1..).
    """
    columns = read_columns(found_file(folder, "wmt13_fr_en", "rankings.csv.gz"))
    context, judge = read_numbers(columns["segment"]), read_numbers(columns["judge"])
    system, place = (
        np.stack([read_numbers(columns[f"{name}{k}"]) for k in range(1, 6)], 1) for name in ("item", "place")
    )
    ranks = np.stack([np.unique(row, return_inverse=True)[1] for row in place])
    n = int(system.max()) + 1
    labels = Comparisons.from_ranks(ranks, context[:, None] * n + system, judge, n_items=(int(context.max()) + 1) * n)
    return build_contest(labels, context, n)


def read_llmfao(folder: Path) -> Contest:
    """Read which model's answer to a prompt is better (Ustalov 2023): pairs with ties.

    `folder`, or its subfolder llmfao, holds comparisons.csv.gz (prompt, worker, left, right, winner).
    """
    columns = read_columns(found_file(folder, "llmfao", "comparisons.csv.gz"))
    _, context = np.unique(read_numbers(columns["prompt"]), return_inverse=True)
    left, right = read_numbers(columns["left"]), read_numbers(columns["right"])
    n = int(max(left.max(), right.max())) + 1
    outcome = np.array([OUTCOMES[winner] for winner in columns["winner"]])
    items = (context * n + left, context * n + right)
    n_items = (int(context.max()) + 1) * n
    labels = Comparisons.from_pairs(*items, outcome, read_numbers(columns["worker"]), n_items=n_items)
    return build_contest(labels, context, n)


SETS = {"wmt13_fr_en": read_wmt13, "llmfao": read_llmfao}


def read_contest(name: str, folder: Path) -> Contest:
    """Read one of SETS. Raises InvalidSetting for another name, InvalidData if its file is missing."""
    if name not in SETS:
        raise InvalidSetting(f"there is no set {name!r}; choose from {', '.join(SETS)}.")
    return SETS[name](folder)


def pool_contexts(one: Contest) -> Comparisons:
    """Return the same answers as pairs of competitors without contexts; composite weights and grades are kept."""
    pairs, who = one.data.pairs_with_ties(), one.table.competitor
    return Comparisons.from_pairs(
        who[pairs.left],
        who[pairs.right],
        pairs.outcome,
        pairs.annotator,
        weights=pairs.weight,
        grades=pairs.grade,
        n_grades=one.data.n_grades,
        n_items=one.table.n_competitors,
        n_annotators=one.data.n_annotators,
    )
