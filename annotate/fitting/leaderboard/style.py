"""Reads the features of items that a leaderboard holds equal: the owner's own, and the length of the text."""

import numpy as np
from django.db.models.functions import Length
from numpy.typing import NDArray

from annotate.models import FeatureNames, Item, ItemFeatures, Project

Floats = NDArray[np.float64]
LENGTH = "length"  # the log of the number of characters; no feature that was imported is called so by this module
MAX_STYLE_FEATURES = 10


def style_matrix(project: Project, item_ids: NDArray[np.int64]) -> tuple[list[str], Floats]:
    """Return (names, (n_items, d)) of the chosen features that vary; the mean stands where one is not known."""
    chosen: list[str] = project.style_features[:MAX_STYLE_FEATURES]
    columns: dict[str, Floats] = {}
    known = FeatureNames.objects.filter(project=project).values_list("names", flat=True).first() or []
    wanted = {name: known.index(name) for name in chosen if name in known}
    if wanted:
        columns |= imported_features(project, item_ids, wanted)
    if LENGTH in chosen and LENGTH not in columns:
        columns[LENGTH] = text_lengths(project, item_ids)
    varying = {}
    for name in chosen:
        column = columns.get(name)
        if column is not None and np.isfinite(column).any():
            filled = np.where(np.isfinite(column), column, np.nanmean(column))
            if np.ptp(filled) > 0:
                varying[name] = filled
    matrix = np.stack(list(varying.values()), axis=1) if varying else np.zeros((len(item_ids), 0))
    return list(varying), matrix


def imported_features(project: Project, item_ids: NDArray[np.int64], places: dict[str, int]) -> dict[str, Floats]:
    found = {name: np.full(len(item_ids), np.nan) for name in places}
    for item, values in ItemFeatures.objects.filter(item__project=project).values_list("item_id", "values").iterator():
        at = int(np.searchsorted(item_ids, item))
        if at < len(item_ids) and item_ids[at] == item:
            numbers = np.frombuffer(bytes(values), dtype="<f8")
            for name, place in places.items():
                if place < len(numbers):
                    found[name][at] = numbers[place]
    return found


def text_lengths(project: Project, item_ids: NDArray[np.int64]) -> Floats:
    lengths = dict(Item.objects.filter(project=project).values_list("pk", Length("body")))
    return np.log1p(np.array([lengths.get(pk, 0) for pk in item_ids.tolist()], dtype=np.float64))
