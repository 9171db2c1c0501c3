"""Reads a kept fit's figures of each item from its arrays, without the engine."""

import io
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotate.fitting.stored_columns import SITE, site_columns
from models_engine.models import Fit

SCORES = ("score", "score_low", "score_high")


class ItemFigures(NamedTuple):
    """The score and the ends of its interval are None without a place, and in fits made before there were scores."""

    utility: float
    sd: float
    score: float | None = None
    score_low: float | None = None
    score_high: float | None = None


def figures_of(fit: Fit) -> dict[int, ItemFigures]:
    """Return figures by item; empty for a fit that kept no arrays. Nothing is unpickled."""
    if not fit.arrays:
        return {}
    with np.load(io.BytesIO(bytes(fit.arrays)), allow_pickle=False) as file:
        items, utility, sd = (array_of(file, name).tolist() for name in ("items", "utility", "sd"))
        unknown = np.full(len(items), np.nan)
        stored = [array_of(file, name) if SITE + name in file.files else unknown for name in SCORES]
    scores = [[None if np.isnan(value) else float(value) for value in column] for column in stored]
    return {item: ItemFigures(*row) for item, *row in zip(items, utility, sd, *scores, strict=True)}


def rivals_of(fit: Fit, item_id: int) -> dict[int, float]:
    """Return P(the item is above the other) by the items next to it in the ranking; empty where the fit kept none."""
    columns = site_columns(fit.arrays, "items", "rivals", "beats")
    if columns is None:
        return {}
    items, rivals, beats = columns
    row = np.flatnonzero(items == item_id)[:1]
    pairs = zip(rivals[row].ravel().tolist(), beats[row].ravel().tolist(), strict=True)
    return {int(items[place]): probability for place, probability in pairs if place >= 0}


def array_of(file: np.lib.npyio.NpzFile, name: str) -> NDArray:
    found: NDArray = file[SITE + name]
    return found
