"""Who is undecided on what: ties by annotator and item, explained by effects of both."""

import numpy as np

from models_engine.data import Comparisons
from models_engine.inference.counts.cells import CountCells

__all__ = ["count_ties"]


def count_ties(data: Comparisons) -> CountCells:
    """Count, by item and annotator, the labels in which all items share one place; exposure: labels that show the item.

    Labels of weight 0 are left out. A tied pair is one tie on each of its items.
    """
    n_places = np.zeros(data.n_labels, dtype=np.int64)
    np.maximum.at(n_places, data.rows, data.ranks)
    kept = (data.weights > 0)[data.rows]
    rows = data.rows[kept]
    return CountCells.from_rows(
        data.items[kept],
        data.annotators[rows],
        (n_places[rows] == 0).astype(np.int64),
        n_items=data.n_items,
        n_annotators=data.n_annotators,
    )
