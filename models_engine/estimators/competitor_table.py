"""CompetitorTable: the competitor, context and tag of each item; and counts of comparisons by competitor."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from models_engine.arrays import read_integers
from models_engine.data import Comparisons
from models_engine.errors import InsufficientData, InvalidData
from models_engine.messages import Message, gettext_noop
from models_engine.validation import check_count, check_indices

__all__ = ["CompetitorTable", "Evidence", "count_evidence"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CompetitorTable:
    """The competitor, context and tag of each item. Build with `of`, which validates. Arrays are (n_items,).

    competitor: who made the item.   context: what it was made for (a prompt, a segment); None: items that are linked by
    comparisons are of one context.   tag: the context's category, -1 for none; None where there are no tags.
    """

    competitor: Ints
    n_competitors: int
    context: Ints | None = None
    tag: Ints | None = None
    n_tags: int = 0

    @classmethod
    def of(
        cls,
        competitor: ArrayLike,
        *,
        n_competitors: int | None = None,
        context: ArrayLike | None = None,
        tag: ArrayLike | None = None,
        n_tags: int | None = None,
    ) -> "CompetitorTable":
        """Build from whole numbers, one per item. Raises InvalidData naming item and value."""
        competitors = check_indices(competitor, "competitor")
        count = check_count(competitors, n_competitors, "competitor")
        contexts = None if context is None else _per_item(check_indices(context, "context"), "context", competitors)
        if tag is None:
            return cls(competitors, count, contexts)
        tags = _per_item(read_integers(tag, "tag", least=-1), "tag", competitors)
        _check_one_tag(contexts, tags)
        return cls(competitors, count, contexts, tags, check_count(tags, n_tags, "tag"))

    def contexts_of(self, data: Comparisons) -> Ints:
        """Return (n_items,) context of each item. Raises InvalidData where table and labels disagree, InsufficientData
        where fewer than two competitors were compared."""
        if len(self.competitor) != data.n_items:
            raise InvalidData(
                f"the labels are about {data.n_items} items and the table names the competitors of "
                f"{len(self.competitor)}; give one competitor per item."
            )
        contexts = data.connected_parts() if self.context is None else self.context
        pairs = data.pairs()
        strange = np.flatnonzero((contexts[pairs.left] != contexts[pairs.right]) & (pairs.weight > 0))
        for row in strange[:1]:
            items = (int(pairs.left[row]), int(pairs.right[row]))
            raise InvalidData(
                f"row {pairs.label[row]}: item {items[0]} of context {contexts[items[0]]} is compared with item "
                f"{items[1]} of context {contexts[items[1]]}; give both the same context, or leave contexts out.",
                row=int(pairs.label[row]),
                value=items,
            )
        self._check_two(data)
        return np.asarray(contexts)

    def _check_two(self, data: Comparisons) -> None:
        compared = np.flatnonzero(data.n_comparisons())
        found = np.unique(self.competitor[compared])
        if len(found) < 2:
            whose = Message.of(gettext_noop("no item is compared"))
            if len(found):
                one = gettext_noop("all %(n)d compared items are of competitor %(competitor)d")
                whose = Message.of(one, n=len(compared), competitor=int(found[0]))
            needed = gettext_noop(
                "a leaderboard needs items of two competitors or more. Name the competitors of the others, or rank the "
                "items themselves with BradleyTerry."
            )
            raise InsufficientData(Message.joined(whose, Message.of(needed)))


@dataclass(frozen=True, eq=False)
class Evidence:
    """Counts of the data about each competitor. Arrays (n_competitors,), labels of weight 0 left out.

    n_contexts, n_items: compared ones.   n_labels: that showed one of its items.   n_annotators: who gave them.
    part: number of the connected part of the competitors' comparisons, the largest 0.
    wins, ties (n_competitors, n_competitors): how often the row was preferred to the column, and tied with it.
    """

    n_contexts: Ints
    n_items: Ints
    n_labels: Ints
    n_annotators: Ints
    part: Ints
    wins: Floats
    ties: Floats


def count_evidence(data: Comparisons, table: CompetitorTable, *, tied_ranks: bool = False) -> Evidence:
    """Count the data about each competitor. tied_ranks: equal ranks in larger sets are ties."""
    contexts, n = table.contexts_of(data), table.n_competitors
    rows = data.rows
    kept = data.weights[rows] > 0
    items, labels = data.items[kept], rows[kept]
    own = table.competitor[items]

    def distinct(what: Ints) -> Ints:
        return np.bincount(np.unique(np.stack([own, what]), axis=1)[0], minlength=n)

    pairs = data.pairs_with_ties() if tied_ranks else data.pairs()
    pairs = pairs.select(pairs.weight > 0)
    left, right = table.competitor[pairs.left], table.competitor[pairs.right]
    winner, loser = np.where(pairs.outcome == 0, (right, left), (left, right))
    tied = pairs.outcome == 0.5
    wins, ties = np.zeros((n, n)), np.zeros((n, n))
    np.add.at(wins, (winner[~tied], loser[~tied]), 1.0)
    np.add.at(ties, (winner[tied], loser[tied]), 1.0)
    _, part = connected_components(wins + ties, directed=False)
    order = np.argsort(-np.bincount(part), kind="stable")
    parts = np.argsort(order)[part].astype(np.int64)
    counts = (distinct(contexts[items]), distinct(items), distinct(labels), distinct(data.annotators[labels]))
    return Evidence(*counts, parts, wins, ties + ties.T)


def _per_item(values: Ints, name: str, competitors: Ints) -> Ints:
    if len(values) != len(competitors):
        raise InvalidData(
            f"{name} has {len(values)} rows and competitor {len(competitors)}; give one of each per item."
        )
    return values


def _check_one_tag(contexts: Ints | None, tags: Ints) -> None:
    if contexts is None:
        if len(np.unique(tags)) > 1:
            raise InvalidData("tags belong to contexts; give the context of each item, or leave tags out.")
        return
    order = np.lexsort((tags, contexts))
    again = np.flatnonzero((np.diff(contexts[order]) == 0) & (np.diff(tags[order]) != 0))
    for place in again[:1]:
        item = int(order[place + 1])
        raise InvalidData(
            f"item {item} has tag {tags[item]} and another item of context {contexts[item]} tag {tags[order[place]]}; "
            "give all items of a context the same tag.",
            row=item,
            value=int(tags[item]),
        )
