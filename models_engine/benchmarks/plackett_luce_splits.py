"""Training labels and held-out wins of rankings, split by labels or by items, whole or as one pair of each."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models_engine.data import Comparisons
from models_engine.errors import InsufficientData

__all__ = ["Form", "Partition", "RankingSplit", "count_wins", "draw_pairs", "restrict", "split"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Partition = Literal["labels", "items"]
Form = Literal["rankings", "pairs"]
N_FOLDS = 3


@dataclass(frozen=True, eq=False)
class RankingSplit:
    """One split of Guo et al., 5.2. train: labels of the training items, with their features.

    wins (n_tested, n_tested): how often the row's item was ranked above the column's in the test labels.
    features (n_tested, d): of the tested items where none of them is in `train`; None where they are the same items.
    """

    train: Comparisons
    wins: Floats
    features: Floats | None = None


def count_wins(rankings: Ints, n_items: int) -> Floats:
    """Count how often the row's item was ranked above the column's, (n_items, n_items).

    rankings (n, k): items, best first; -1 where a ranking is shorter.
    """
    wins = np.zeros((n_items, n_items))
    for better in range(rankings.shape[1]):
        for worse in range(better + 1, rankings.shape[1]):
            known = (rankings[:, better] >= 0) & (rankings[:, worse] >= 0)
            np.add.at(wins, (rankings[known, better], rankings[known, worse]), 1)
    return wins


def draw_pairs(rankings: Ints, rng: np.random.Generator) -> Ints:
    """Draw one pair of every ranking (n, k), the better item first: (n, 2)."""
    places = np.sort(np.argsort(rng.random(rankings.shape), axis=1)[:, :2], axis=1)
    return np.take_along_axis(rankings, places, axis=1)


def restrict(rankings: Ints, items: Ints) -> Ints:
    """Restrict rankings (n, k) to `items`, numbered by their place there; -1 after the last one left.

    Rankings with fewer than two of the items are left out. By Luce's choice axiom a Plackett-Luce ranking of some items
    that leaves others out has the probability that it would have had without them, so that nothing is lost by it.
    """
    number = np.full(max(int(rankings.max(initial=0)), int(items.max(initial=0))) + 1, -1, dtype=np.int64)
    number[items] = np.arange(len(items))
    kept = number[rankings]
    order = np.argsort(kept < 0, axis=1, kind="stable")
    kept = np.take_along_axis(kept, order, axis=1)
    return kept[(kept >= 0).sum(axis=1) >= 2]


def split(
    rankings: Ints, features: Floats, partition: Partition, form: Form, n_train: int, rng: np.random.Generator
) -> RankingSplit:
    """Draw one of three folds for testing and `n_train` labels of the others for training.

    rankings (n, k): items, best first. features (n_items, d).
    partition: "labels", the paper's L partition; "items", its N partition: labels keep the training items on one side
        and the tested items, whose features alone are known, on the other.
    form: "rankings", or "pairs", one pair drawn of each ranking (the paper's "-Com"); with "items", pairs of an item
        of each side are dropped, as in the paper. Whole rankings of ten would all be dropped.
    Raises InsufficientData where no label is left on a side.
    """
    labels = rankings[rng.permutation(len(rankings))]
    if form == "pairs":
        labels = draw_pairs(labels, rng)
    if partition == "labels":
        n_test = len(labels) // N_FOLDS
        return RankingSplit(_labels(labels[:-n_test][:n_train], features), count_wins(labels[-n_test:], len(features)))
    order = rng.permutation(len(features))
    tested, trained = np.split(order, [len(features) // N_FOLDS])
    train, test = restrict(labels, trained)[:n_train], restrict(labels, tested)
    if not len(train) or not len(test):
        raise InsufficientData("no label has two items of each side; give more rankings.")
    return RankingSplit(_labels(train, features[trained]), count_wins(test, len(tested)), features[tested])


def _labels(rankings: Ints, features: Floats) -> Comparisons:
    """Build the labels of rankings padded with -1."""
    rows = [row[row >= 0].tolist() for row in rankings]
    return Comparisons.from_rankings(rows, n_items=len(features), item_features=features)
