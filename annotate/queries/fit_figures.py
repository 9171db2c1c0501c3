"""What a kept fit says of each item, read from its arrays without the engine."""

import io

import numpy as np
from numpy.typing import NDArray

from models_engine.models import Fit

SITE = "site/"  # as annotate.fitting_arrays writes it


def figures_of(fit: Fit) -> dict[int, tuple[float, float]]:
    """(utility, standard deviation) by item; empty for a fit that kept no arrays. Nothing is unpickled."""
    if not fit.arrays:
        return {}
    with np.load(io.BytesIO(bytes(fit.arrays)), allow_pickle=False) as file:
        items, utility, sd = (array_of(file, name) for name in ("items", "utility", "sd"))
    return dict(zip(items.tolist(), zip(utility.tolist(), sd.tolist(), strict=True), strict=True))


def rivals_of(fit: Fit, item_id: int) -> dict[int, float]:
    """P(the item is above the other) by the items next to it in the ranking; empty where the fit kept none."""
    if not fit.arrays:
        return {}
    with np.load(io.BytesIO(bytes(fit.arrays)), allow_pickle=False) as file:
        if SITE + "rivals" not in file.files:
            return {}
        items, rivals, beats = (array_of(file, name) for name in ("items", "rivals", "beats"))
    row = np.flatnonzero(items == item_id)[:1]
    pairs = zip(rivals[row].ravel().tolist(), beats[row].ravel().tolist(), strict=True)
    return {int(items[place]): probability for place, probability in pairs if place >= 0}


def array_of(file: np.lib.npyio.NpzFile, name: str) -> NDArray:
    found: NDArray = file[SITE + name]
    return found
