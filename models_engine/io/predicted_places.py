"""Places of items that nobody compared, as the fit of a run record predicts them: rows of its predicted.csv."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from models_engine.analysis.unseen_items import Predictions, place_predictions, predict_unseen
from models_engine.errors import InvalidData
from models_engine.io.label_tables import Labels
from models_engine.posterior import BasePosterior

__all__ = ["predicted_rows"]


def predicted_rows(
    posterior: BasePosterior,
    labels: Labels,
    among: Mapping[str, str],
    ranked: NDArray[np.bool_],
    level: float,
    k: int,
    seed: int,
) -> list[tuple[Any, ...]]:
    """Return rows of RANKING and the part, part by part, best first; none where nothing is to be predicted.

    among: of each item to predict, by name, one of the compared items among which it is to have its place.   ranked
    (n_items,): which items are ranked.   level: of the intervals.   Raises InvalidData for a name that is no item's,
    for an item that was compared, and as predict_unseen.
    """
    if not among:
        return []
    data, place = labels.data, {name: number for number, name in enumerate(labels.items)}
    unknown = [name for pair in among.items() for name in pair if name not in place]
    if unknown:
        raise InvalidData(f"{unknown[0]!r} is to be predicted, or to have others among its like, and is no item here.")
    if data.item_features is None:
        raise InvalidData("items are to be predicted and items.csv has no features.")
    counts, parts = data.n_comparisons(), data.connected_parts(ranked)
    compared = ranked & (counts > 0)
    new = np.array(sorted(place[name] for name in among), dtype=np.int64)
    if counts[new].any():
        raise InvalidData(f"{labels.items[int(new[counts[new] > 0][0])]!r} is to be predicted and was compared.")
    homes = parts[[place[among[labels.items[item]]] for item in new.tolist()]]
    found = predict_unseen(posterior, data.item_features, parts, compared, new, homes)
    reach, rows = float(ndtri((1 + level) / 2)), []
    for home in np.unique(homes).tolist():
        inside = homes == home
        own = posterior.restrict(np.flatnonzero(compared & (parts == home)))
        predictions = Predictions(found.mean[inside], found.sd[inside], found.explained)
        places = place_predictions(predictions, own, level=level, k=k, rng=np.random.default_rng(seed))
        for at in np.lexsort((new[inside], -predictions.mean)).tolist():
            mean, sd = predictions.mean[at], predictions.sd[at]
            order = (int(places.rank[at]), int(places.low[at]), int(places.high[at]), places.p_top_k[at])
            name = labels.items[int(new[inside][at])]
            rows.append((name, mean, sd, mean - reach * sd, mean + reach * sd, *order, 0, home + 1))
    return rows
