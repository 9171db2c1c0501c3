"""Shards of wins: those of some annotators, worked on together and apart from all others.

They stay where they are worked on; in each sweep margins and sites go there, and new sites, what was found about the
annotators, and sums over their wins come back.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models_engine.executor import Executor, Kept, active_executor
from models_engine.inference.crowd_bt.pairs import NoisyPairs, chunk_wins

__all__ = ["KeptWins", "OwnWins", "WinShard", "divide_wins", "keep_wins"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SHARD_WINS = 16_384  # of a shard at least, unless there are fewer: with less, starting a thread takes longer
MAX_SHARDS = 1024
WIN_COST = 1_000.0  # operations that a sweep takes for each win, by its time beside that of matrix products


class OwnWins(Protocol):
    """Wins sorted by annotator, as of NoisyPairs or a shard of them."""

    @property
    def annotator(self) -> Ints: ...
    @property
    def weight(self) -> Floats: ...
    @property
    def n_annotators(self) -> int: ...
    @property
    def n_wins(self) -> int: ...
    @property
    def chunks(self) -> list[tuple[slice, slice]]: ...


@dataclass(frozen=True, eq=False)
class WinShard:
    """The wins of some annotators next to each other; row, sign, grade, annotator, weight (n_wins,) as in NoisyPairs.

    Annotators are numbered from 0, rows as in all pairs, of which there are n_rows. wins, annotators: where these stand
    in the whole.   can_tie (n_wins,): that of the win's row, or None.
    """

    row: Ints
    sign: Floats
    grade: Ints
    annotator: Ints
    weight: Floats
    n_annotators: int
    n_rows: int
    wins: slice
    annotators: slice
    can_tie: NDArray[np.bool_] | None = None

    @property
    def n_wins(self) -> int:
        return len(self.row)

    @cached_property
    def chunks(self) -> list[tuple[slice, slice]]:
        """Return slices (annotators, wins), see `chunk_wins`."""
        return chunk_wins(self.annotator, self.n_annotators)


def divide_wins(pairs: NoisyPairs) -> list[WinShard]:
    """Divide all annotators, in their order, into shards of about as many wins. Depends on the wins alone."""
    wanted = max(1, min(MAX_SHARDS, pairs.n_wins // SHARD_WINS))
    ends = np.cumsum(np.bincount(pairs.annotator, minlength=pairs.n_annotators))
    bounds = np.searchsorted(ends, np.arange(1, wanted) * pairs.n_wins / wanted)
    bounds = np.unique(np.concatenate([[0], bounds, [pairs.n_annotators]]))
    if len(bounds) < 2:  # nobody at all
        bounds = np.zeros(2, dtype=np.int64)
    return [_shard(pairs, int(first), int(last)) for first, last in pairwise(bounds)]


def _shard(pairs: NoisyPairs, first: int, last: int) -> WinShard:
    start, stop = (int(one) for one in np.searchsorted(pairs.annotator, [first, last]))
    own = slice(start, stop)
    return WinShard(
        pairs.row[own],
        pairs.sign[own],
        pairs.grade[own],
        pairs.annotator[own] - first,
        pairs.weight[own],
        last - first,
        pairs.n_rows,
        own,
        slice(first, last),
        None if pairs.wins_can_tie is None else pairs.wins_can_tie[own],
    )


@dataclass(frozen=True, eq=False)
class KeptWins:
    """All shards, and where the executor keeps them."""

    shards: list[WinShard]
    executor: Executor
    handles: Kept


def keep_wins(pairs: NoisyPairs) -> KeptWins:
    """Return the shards of these wins, which stay where they are worked on as long as `pairs` is held."""
    executor = active_executor().suited(WIN_COST * pairs.n_wins)
    known = vars(pairs).get("_kept_wins")
    if isinstance(known, KeptWins) and known.executor is executor:
        return known
    shards = divide_wins(pairs)
    found = KeptWins(shards, executor, executor.keep(shards))
    vars(pairs)["_kept_wins"] = found
    return found
