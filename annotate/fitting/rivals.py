"""Each item's nearest rivals in the ranking, and the probability of being above them: kept with the published fit."""

import numpy as np
from numpy.typing import NDArray

from annotate.fitting.reading import RankedItems
from models_engine.posterior import BasePosterior

N_EACH_SIDE = 3
MAX_ITEMS = 5_000  # past these nobody looks at single rivals, and their probabilities take longer than the ranking


def nearest_rivals(posterior: BasePosterior, labels: RankedItems) -> dict[str, NDArray]:
    """rivals (n_items, 6): row numbers of the three items above, nearest last, and the three below; -1 where there is
    none.   beats (n_items, 6): P(the item's utility is above the rival's). Both empty past MOST_ITEMS."""
    n = len(labels.item_ids)
    if n > MAX_ITEMS:
        return {}
    offsets = [offset for offset in range(-N_EACH_SIDE, N_EACH_SIDE + 1) if offset]
    found = np.full((n, len(offsets)), -1, dtype=np.int32)
    beats = np.full((n, len(offsets)), np.nan, dtype=np.float32)
    parts, utilities = labels.parts(), posterior.utilities()
    kept = np.flatnonzero(labels.ranked & (labels.data.n_comparisons() > 0))
    order = kept[np.lexsort((kept, -utilities[kept], parts[kept]))]
    for column, offset in enumerate(offsets):
        place = np.arange(len(order)) + offset
        inside = (place >= 0) & (place < len(order))
        one, other = order[inside], order[place[inside]]
        together = parts[one] == parts[other]
        found[one[together], column] = other[together]
    rows, columns = np.nonzero(found >= 0)
    if len(rows):
        beats[rows, columns] = posterior.superiority(rows, found[rows, columns].astype(np.int64))
    return {"rivals": found, "beats": beats}
