"""Kamishima's Sushi preference data (2016 release) from a folder, and the splits of crowd_gppl's section 5.3.

The data's terms forbid redistribution, so they are not part of the project.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models_engine.data import Comparisons
from models_engine.errors import InvalidData

__all__ = ["PROTOCOLS", "Protocol", "Split", "SushiData", "make_split", "read_sushi"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
A_ITEMS = np.array([0, 1, 2, 3, 4, 6, 7, 8, 26, 29])  # set A's items as rows of the table of 100 items
MINOR_GROUPS = 12

Protocol = Literal["A-small", "A", "B", "thesis"]
PROTOCOLS: dict[Protocol, tuple[str, int, int, int]] = {  # set, annotators, training and test pairs of each
    "A-small": ("a", 100, 5, 25),
    "A": ("a", 100, 20, 25),
    "B": ("b", 5_000, 10, 1),
    "thesis": ("a", 200, 3, 25),  # Ko's thesis, 3.2.3: 5,000 test pairs (Table 3.4)
}


@dataclass(frozen=True, eq=False)
class SushiData:
    """rankings_a, rankings_b (5000, 10): items best first. items (100, 18), users (5000, 5): features."""

    rankings_a: Ints
    rankings_b: Ints
    items: Floats
    users: Floats


@dataclass(frozen=True, eq=False)
class Split:
    """Training labels; test pairs left, right, outcome, annotator (n_test,); gold (n_annotators, 10), best first."""

    train: Comparisons
    left: Ints
    right: Ints
    outcome: Ints
    annotator: Ints
    gold: Ints


def read_sushi(folder: Path) -> SushiData:
    """Read `folder`, or its subfolder sushi. Raises InvalidData naming a file that is missing."""
    names = ("sushi3a.5000.10.order", "sushi3b.5000.10.order", "sushi3.idata", "sushi3.udata")
    found = next((place for place in (folder, folder / "sushi") if (place / names[0]).is_file()), folder)
    for name in names:
        if not (found / name).is_file():
            raise InvalidData(
                f"{found / name} does not exist; give --data the folder of the Sushi data's original files."
            )
    orders = [np.loadtxt(found / name, dtype=np.int64, skiprows=1)[:, 2:] for name in names[:2]]
    return SushiData(orders[0], orders[1], _items(found / names[2]), _users(found / names[3]))


def _items(path: Path) -> Floats:
    """Read style, major group, minor group as indicators, oiliness, eating frequency, price, selling frequency."""
    table = np.genfromtxt(path, delimiter="\t", dtype=np.float64, usecols=range(2, 9))
    minor = np.eye(MINOR_GROUPS)[table[:, 2].astype(np.int64)]
    return np.column_stack([table[:, [0, 1]], minor, table[:, 3:]])


def _users(path: Path) -> Floats:
    """Read gender, age band, east or west in childhood and now, moved."""
    return np.loadtxt(path, dtype=np.float64)[:, [1, 2, 6, 9, 10]]


def make_split(data: SushiData, protocol: Protocol, seed: int, repeat: int, *, features: bool) -> Split:
    """Draw annotators, then training and test pairs out of each one's 45; a pure function of the arguments."""
    which, n_annotators, n_train, n_test = PROTOCOLS[protocol]
    rng = np.random.default_rng([seed, repeat, list(PROTOCOLS).index(protocol)])
    rankings = data.rankings_a if which == "a" else data.rankings_b
    users = np.sort(rng.choice(len(rankings), n_annotators, replace=False))
    better, worse = np.triu_indices(10, 1)
    chosen = np.argsort(rng.random((n_annotators, len(better))), axis=1)[:, : n_train + n_test]
    gold = rankings[users]
    winner = np.take_along_axis(gold, better[chosen], axis=1)
    loser = np.take_along_axis(gold, worse[chosen], axis=1)
    outcome = rng.integers(2, size=chosen.shape)
    left, right = np.where(outcome == 1, winner, loser), np.where(outcome == 1, loser, winner)
    annotator = np.broadcast_to(np.arange(n_annotators)[:, None], chosen.shape)
    columns = (left, right, outcome, annotator)
    train = Comparisons.from_pairs(
        *(column[:, :n_train].ravel() for column in columns),
        n_items=10 if which == "a" else 100,
        n_annotators=n_annotators,
        item_features=(data.items[A_ITEMS] if which == "a" else data.items) if features else None,
        annotator_features=data.users[users] if features else None,
    )
    tested = [np.asarray(column[:, n_train:].ravel(), np.int64) for column in columns]
    return Split(train, tested[0], tested[1], tested[2], tested[3], gold)
