"""Reads the features of items that a leaderboard holds equal: the owner's own, and length, lists and headings of the
text."""

import re
from collections.abc import Sequence

import numpy as np
from django.db.models.functions import Length
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy
from numpy.typing import NDArray

from annotate.models import FeatureNames, Item, ItemFeatures, Project
from annotate.models.items import words_of

Floats = NDArray[np.float64]
# Computed from the text; a feature that was imported under the same name counts in its place.
LENGTH, LISTS, HEADINGS = "length", "lists", "headings"
COMPUTED: dict[str, Promise] = {
    LENGTH: gettext_lazy("Length of the text"),
    LISTS: gettext_lazy("Items of lists in the text"),
    HEADINGS: gettext_lazy("Headings in the text"),
}
# Lines as Markdown marks them, which models write in plain texts too; HTML's tags.
MARKED = {
    LISTS: re.compile(r"^[ \t]{0,12}(?:[-*+•]|\d{1,3}[.)])[ \t]+\S", re.MULTILINE),
    HEADINGS: re.compile(r"^ {0,3}#{1,6}[ \t]+\S", re.MULTILINE),
}
TAGS = {LISTS: re.compile(r"<li\b", re.IGNORECASE), HEADINGS: re.compile(r"<h[1-6]\b", re.IGNORECASE)}
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
    counted = [name for name in MARKED if name in chosen and name not in columns]
    if counted:
        columns |= counts_in_texts(project, item_ids, counted)
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


def counts_in_texts(project: Project, item_ids: NDArray[np.int64], names: Sequence[str]) -> dict[str, Floats]:
    """Return the log of 1 and how many items of lists, or headings, each text has."""
    found = {name: np.zeros(len(item_ids)) for name in names}
    for pk, kind, body in Item.objects.filter(project=project).values_list("pk", "kind", "body").iterator(500):
        at = int(np.searchsorted(item_ids, pk))
        if at < len(item_ids) and item_ids[at] == pk:
            for name, count in counts_of(body, kind, names).items():
                found[name][at] = count
    return {name: np.log1p(counts) for name, counts in found.items()}


def counts_of(body: str, kind: str, names: Sequence[str]) -> dict[str, int]:
    if kind == Item.Kind.HTML:
        return {name: len(TAGS[name].findall(body)) for name in names}
    text = words_of(body, kind)
    return {name: len(MARKED[name].findall(text)) for name in names}
