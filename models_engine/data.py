"""Comparisons: the engine's input, validated read-only arrays of the items shown and the answers."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from models_engine.arrays import read_numbers, read_ragged
from models_engine.errors import InvalidData
from models_engine.implied_pairs import LabelGroup, PairTable, Stages, expand_to_pairs, expand_to_stages
from models_engine.validation import (
    check_best_and_worst,
    check_count,
    check_distinct,
    check_features,
    check_grades,
    check_indices,
    check_labels,
    check_mask,
    check_outcomes,
    check_ranks,
    check_rows,
    check_tied,
    check_weights,
    common_features,
    count_rows,
    join_marks,
    places_in_sets,
    ranks_of_top,
)

__all__ = ["Comparisons", "Options"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
T = TypeVar("T")


class Options(TypedDict, total=False):
    """Keywords of every constructor. Counts default to the rows of the features, else to the largest number + 1."""

    n_items: int | None
    n_annotators: int | None
    weights: ArrayLike | None  # (n_labels,) finite, 0 or more; 0 leaves a label out
    item_features: ArrayLike | None  # (n_items, d) finite
    annotator_features: ArrayLike | None  # (n_annotators, e) finite
    grades: ArrayLike | None  # (n_labels,) how much better a pair's winner is, 1 least; 0 where not said
    n_grades: int | None
    tied: ArrayLike | bool | None  # (n_labels,) or for all: equal ranks in a set of three or more are ties


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Labels over n_items items by n_annotators annotators. Build with the `from_...` methods, which validate.

    A label is a ranking of a set of items: rank 0 is best, equal ranks in a pair are a tie, items of equal rank in a
    set of three or more are not ordered, or tied where `tied` says so (a weak order). Labels are ragged: label l has
    rows starts[l]:starts[l+1] of items, ranks and positions. All arrays are read-only.

    starts (n_labels+1,)   items, ranks, positions (n_shown,)   annotators, weights (n_labels,)
    positions: 0 for the item shown first (left); -1 where the order shown is not known.
    item_features (n_items, d) or None   annotator_features (n_annotators, e) or None
    grades (n_labels,) or None: 1..n_grades, how much better the winner of a pair is, 0 where not said.
    tied (n_labels,) or None: whether equal ranks in this set of three or more are ties.
    """

    starts: Ints
    items: Ints
    ranks: Ints
    positions: Ints
    annotators: Ints
    weights: Floats
    n_items: int
    n_annotators: int
    item_features: Floats | None = None
    annotator_features: Floats | None = None
    grades: Ints | None = None
    n_grades: int = 0
    tied: NDArray[np.bool_] | None = None

    @classmethod
    def from_pairs(
        cls,
        left: ArrayLike,
        right: ArrayLike,
        outcome: ArrayLike,
        annotators: ArrayLike | None = None,
        **options: Unpack[Options],
    ) -> "Comparisons":
        """Build from pairs as shown: outcome 1 prefers left, 0 right, 0.5 is a tie. All shape (n_labels,).

        annotators=None is one annotator for all. Raises InvalidData naming row and value.
        """
        lefts, rights = check_indices(left, "left"), check_indices(right, "right")
        check_rows({"left": lefts, "right": rights}, "pair")
        outcomes = check_outcomes(outcome, len(lefts))
        items = np.stack([lefts, rights], axis=1).ravel()
        ranks = np.stack([outcomes < 0.5, outcomes > 0.5], axis=1).ravel().astype(np.int64)
        sizes = np.full(len(lefts), 2, dtype=np.int64)
        positions = np.tile([0, 1], len(lefts))
        return cls._build(items, ranks, positions, sizes, annotators, options)

    @classmethod
    def from_top(
        cls,
        top: Sequence[ArrayLike] | NDArray,
        sets: Sequence[ArrayLike] | NDArray,
        annotators: ArrayLike | None = None,
        **options: Unpack[Options],
    ) -> "Comparisons":
        """Build from the best m of each shown set, best first; the rest of the set ranks below them and is not ordered.

        top: per label, 1 to k distinct items of its set.   sets: per label, the k items in the order shown.
        """
        tops, top_sizes, top_rows = read_ragged(top, "top")
        items, sizes, rows = read_ragged(sets, "sets")
        check_rows({"top": top_sizes, "sets": sizes}, "label")
        check_distinct(items, sizes, rows)
        ranks = ranks_of_top(tops, top_sizes, top_rows, items, rows)
        positions = places_in_sets(sizes)
        return cls._build(items, ranks, positions, sizes, annotators, options)

    @classmethod
    def from_rankings(
        cls,
        rankings: Sequence[ArrayLike] | NDArray,
        annotators: ArrayLike | None = None,
        *,
        shown: Sequence[ArrayLike] | NDArray | None = None,
        **options: Unpack[Options],
    ) -> "Comparisons":
        """Build from rankings, best first. `shown`: the same items in the order shown, if known."""
        items, sizes, rows = read_ragged(rankings, "rankings")
        check_distinct(items, sizes, rows)
        if shown is None:  # stored by item number, so that the stored order does not depend on the answer
            order = np.lexsort((items, rows))
            stored, positions = items[order], np.full(len(items), -1, dtype=np.int64)
        else:
            stored, shown_sizes, shown_rows = read_ragged(shown, "shown")
            if not np.array_equal(shown_sizes, sizes):
                raise InvalidData(
                    "shown and rankings differ in set sizes; `shown` holds the ranked items in the order shown."
                )
            check_distinct(stored, shown_sizes, shown_rows)
            positions = places_in_sets(sizes)
        ranks = ranks_of_top(items, sizes, rows, stored, rows)
        return cls._build(stored, ranks, positions, sizes, annotators, options)

    @classmethod
    def from_choices(
        cls,
        chosen: ArrayLike,
        sets: Sequence[ArrayLike] | NDArray,
        annotators: ArrayLike | None = None,
        **options: Unpack[Options],
    ) -> "Comparisons":
        """Build from one item chosen out of each shown set (best-of-k)."""
        return cls.from_top(check_indices(chosen, "chosen")[:, None], sets, annotators, **options)

    @classmethod
    def from_best_worst(
        cls,
        best: ArrayLike,
        worst: ArrayLike,
        sets: Sequence[ArrayLike] | NDArray,
        annotators: ArrayLike | None = None,
        **options: Unpack[Options],
    ) -> "Comparisons":
        """Build from the best and the worst item of each shown set of three or more. best, worst: shape (n_labels,)."""
        bests, worsts = check_indices(best, "best"), check_indices(worst, "worst")
        items, sizes, rows = read_ragged(sets, "sets")
        check_rows({"best": bests, "worst": worsts, "sets": sizes}, "label")
        check_distinct(items, sizes, rows)
        check_best_and_worst(bests, worsts, items, sizes, rows)
        ranks = np.where(items == bests[rows], 0, np.where(items == worsts[rows], 2, 1))
        ranks = np.minimum(ranks, np.repeat(sizes, sizes) - 1)  # in a set of two the worst has rank 1
        positions = places_in_sets(sizes)
        return cls._build(items, ranks, positions, sizes, annotators, options)

    @classmethod
    def from_ranks(
        cls,
        ranks: Sequence[ArrayLike] | NDArray,
        sets: Sequence[ArrayLike] | NDArray,
        annotators: ArrayLike | None = None,
        **options: Unpack[Options],
    ) -> "Comparisons":
        """Build from the rank of each item of each shown set, 0 best, equal where not ordered (answers of
        every kind).
        """
        items, sizes, _ = read_ragged(sets, "sets")
        flat, rank_sizes, _ = read_ragged(ranks, "ranks")
        check_ranks(flat, rank_sizes, sizes)
        return cls._build(items, flat, places_in_sets(sizes), sizes, annotators, options)

    @classmethod
    def concatenate(cls, parts: Sequence["Comparisons"]) -> "Comparisons":
        """Concatenate labels over the same items and annotators; the counts are the largest of the parts.

        Features come from the parts that have them, which must agree.
        """
        if not parts:
            raise InvalidData("nothing to concatenate; give one Comparisons or more.")
        for row, part in enumerate(parts):
            if not isinstance(part, Comparisons):
                raise InvalidData(f"part {row} is a {type(part).__name__}; give Comparisons.", row=row, value=part)
        n_items, n_annotators = max(part.n_items for part in parts), max(part.n_annotators for part in parts)
        sizes = np.concatenate([part.sizes for part in parts])
        joined = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("items", "ranks", "positions", "annotators", "weights")
        }
        features = {
            name: check_features(common_features([getattr(part, name) for part in parts], name), rows, name)
            for name, rows in (("item_features", n_items), ("annotator_features", n_annotators))
        }
        marks = {
            name: join_marks([(part.n_labels, getattr(part, name)) for part in parts]) for name in ("grades", "tied")
        }
        counts = {"n_items": n_items, "n_annotators": n_annotators, "n_grades": max(part.n_grades for part in parts)}
        return cls._freeze(starts=_starts(sizes), **counts, **joined, **features, **marks)

    @classmethod
    def _build(
        cls, items: Ints, ranks: Ints, positions: Ints, sizes: Ints, annotators: ArrayLike | None, options: Options
    ) -> "Comparisons":
        unknown = sorted(set(options) - set(Options.__annotations__))
        if unknown:
            raise TypeError(f"unknown option {unknown[0]!r}; the options are {', '.join(Options.__annotations__)}")
        n_labels = len(sizes)
        rows = np.repeat(np.arange(n_labels), sizes)
        check_distinct(items, sizes, rows)
        who = np.zeros(n_labels, np.int64) if annotators is None else check_indices(annotators, "annotators")
        if len(who) != n_labels:
            raise InvalidData(f"annotators has {len(who)} rows; give one annotator per label ({n_labels}).")
        item_features, annotator_features = options.get("item_features"), options.get("annotator_features")
        shown = count_rows(options.get("n_items"), item_features, "item_features")
        n_items = check_count(items, shown, "item", rows=rows)
        if n_items == 0:
            raise InvalidData("there are no items; give n_items of 1 or more, or at least one comparison.", value=0)
        judges = count_rows(options.get("n_annotators"), annotator_features, "annotator_features")
        n_annotators = check_count(who, judges, "annotator")
        grades, n_grades = check_grades(options.get("grades"), options.get("n_grades"), ranks, sizes)
        return cls._freeze(
            starts=_starts(sizes),
            items=items,
            ranks=ranks,
            positions=positions,
            annotators=who,
            weights=check_weights(options.get("weights"), n_labels),
            n_items=n_items,
            n_annotators=n_annotators,
            item_features=check_features(item_features, n_items, "item_features"),
            annotator_features=check_features(annotator_features, n_annotators, "annotator_features"),
            grades=grades,
            n_grades=n_grades,
            tied=check_tied(options.get("tied"), sizes),
        )

    @classmethod
    def _freeze(cls, **fields: Any) -> "Comparisons":
        return cls(**{name: _make_read_only(value) for name, value in fields.items()})

    @property
    def n_labels(self) -> int:
        return len(self.annotators)

    @property
    def sizes(self) -> Ints:
        """Return the number of items shown with each label, (n_labels,)."""
        return np.diff(self.starts)

    @property
    def rows(self) -> Ints:
        """Return the label each shown item belongs to, (n_shown,)."""
        return np.repeat(np.arange(self.n_labels), self.sizes)

    def groups(self) -> list[LabelGroup]:
        """Return labels as rectangular arrays, one LabelGroup per set size, sizes ascending."""
        found = []
        for size in np.unique(self.sizes):
            label = np.flatnonzero(self.sizes == size)
            cells = self.starts[label][:, None] + np.arange(size)
            found.append(
                LabelGroup(
                    *(int(size), label, self.annotators[label], self.weights[label]),
                    *(self.items[cells], self.ranks[cells], None if self.tied is None else self.tied[label]),
                )
            )
        return found

    @cached_property
    def _pairs(self) -> PairTable:
        return expand_to_pairs(self.groups(), self.n_items, self.n_annotators, grades=self.grades)

    def pairs(self) -> PairTable:
        """Expand every label to the pairs it implies, with composite weights; see PairTable."""
        return self._pairs

    def pairs_with_ties(self) -> PairTable:
        """Expand as `pairs`, with equal ranks in every set of three or more as ties, whatever `tied` says."""
        return expand_to_pairs(self.groups(), self.n_items, self.n_annotators, grades=self.grades, tied_ranks=True)

    def stages(self) -> list[Stages]:
        """Expand every label to Plackett-Luce choices, by set size; see `implied_pairs.expand_to_stages`."""
        return expand_to_stages(self.groups())

    def connected_parts(self, ranked: NDArray[np.bool_] | None = None) -> Ints:
        """Return the connected part of the comparison graph each item is in, (n_items,), largest part 0.

        Labels of weight 0 do not connect. Items of different parts are not comparable.
        ranked (n_items,): which items count for a part's size, all by default; parts with none of them come last.
        """
        rows = self.rows
        kept = self.weights[rows] > 0
        first = self.items[self.starts[:-1]][rows] if self.n_labels else self.items
        ones = np.ones(int(kept.sum()), dtype=np.int8)
        graph = scipy.sparse.coo_array((ones, (first[kept], self.items[kept])), shape=(self.n_items, self.n_items))
        _, part = connected_components(graph, directed=False)
        counted = np.ones(self.n_items, dtype=bool) if ranked is None else check_mask(ranked, self.n_items, "ranked")
        size = np.bincount(part[counted], minlength=part.max(initial=-1) + 1)
        order = np.argsort(-size, kind="stable")
        return np.argsort(order)[part].astype(np.int64)

    def n_comparisons(self) -> Ints:
        """Return the number of labels of positive weight in which each item was shown, (n_items,)."""
        return np.bincount(self.items[self.weights[self.rows] > 0], minlength=self.n_items)

    def renamed(self, permutation: ArrayLike) -> "Comparisons":
        """Return the same labels with item i renumbered to permutation[i]; item features move along."""
        new = check_indices(permutation, "permutation")
        if not np.array_equal(np.sort(new), np.arange(self.n_items)):
            raise InvalidData(f"permutation must hold each of 0..{self.n_items - 1} once.")
        features = self.item_features
        if features is not None:
            moved = np.empty_like(features)
            moved[new] = features
            features = moved
        return replace(self, items=_make_read_only(new[self.items]), item_features=_make_read_only(features))

    def subset(self, labels: ArrayLike) -> "Comparisons":
        """Select the labels of a boolean mask or an index array; item and annotator numbers stay."""
        chosen = check_labels(labels, self.n_labels)
        sizes = self.sizes[chosen]
        cells = np.repeat(self.starts[chosen] - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
        return replace(
            self,
            starts=_make_read_only(_starts(sizes)),
            items=_make_read_only(self.items[cells]),
            ranks=_make_read_only(self.ranks[cells]),
            positions=_make_read_only(self.positions[cells]),
            annotators=_make_read_only(self.annotators[chosen]),
            weights=_make_read_only(self.weights[chosen]),
            grades=_make_read_only(None if self.grades is None else self.grades[chosen]),
            tied=_make_read_only(None if self.tied is None else self.tied[chosen]),
        )

    def annotator_subset(self, annotators: ArrayLike) -> "Comparisons":
        """Select the labels of these annotators (numbers); item and annotator numbers stay."""
        chosen = check_indices(np.atleast_1d(read_numbers(annotators, "annotators")), "annotators")
        return self.subset(np.isin(self.annotators, chosen))

    def with_weights(self, weights: ArrayLike | None) -> "Comparisons":
        """Return the same labels with other weights, shape (n_labels,); None means all 1."""
        return replace(self, weights=_make_read_only(check_weights(weights, self.n_labels)))

    def without_grades(self) -> "Comparisons":
        """Return the same labels without how much better a winner is."""
        return self if self.grades is None else replace(self, grades=None, n_grades=0)

    def data_hash(self) -> str:
        """Return the SHA-256, in hex, of counts, labels (in order), weights, features, grades and ties."""
        digest = hashlib.sha256(f"comparisons 1 {self.n_items} {self.n_annotators}".encode())
        for name in ("starts", "items", "ranks", "positions", "annotators", "weights"):
            array = getattr(self, name)
            digest.update(np.ascontiguousarray(array, dtype="<f8" if name == "weights" else "<i8").tobytes())
        for features in (self.item_features, self.annotator_features):
            digest.update(str(None if features is None else features.shape).encode())
            digest.update(b"" if features is None else np.ascontiguousarray(features, dtype="<f8").tobytes())
        for name, marks in ((f"grades {self.n_grades}", self.grades), ("tied", self.tied)):
            if marks is not None:  # labels without them keep their hash
                digest.update(name.encode() + np.ascontiguousarray(marks, dtype="<i8").tobytes())
        return digest.hexdigest()


def _starts(sizes: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _make_read_only(array: T) -> T:
    if isinstance(array, np.ndarray):
        array.setflags(write=False)
    return array
