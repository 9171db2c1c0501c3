"""Holds a new fit against earlier ones, for the picture of whether the ranking is settling."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.audit_log.queries import CHANGES_OF_DATA
from annotate.criteria import Criterion
from annotate.fitting.stored_columns import site_columns
from annotate.models import Event
from models_engine.models import Fit
from models_engine.rank_correlations import kendall_tau

MAX_POINTS = 30  # earlier fits that the new one is held against
MAX_FITS = 5_000  # among which these are chosen, the latest
MIN_COMMON = 3  # items placed in both fits, below which an order says nothing
COLUMNS = ("pk", "number", "estimator", "n_labels", "n_items", "n_parts", "data_version")
OWN_PARTS = "diagnostics__settling__n_parts"
Order = dict[int, float]  # utility by item, of items with a place


def measure_settling(
    criterion: Criterion, fit: Fit, arrays: bytes | None, former: Fit | None, figures: dict[str, Any]
) -> dict[str, Any] | None:
    """Return the points of the curve as JSON, oldest fit first, `fit` itself last; None where it places nothing.

    told: estimator, n_labels, n_items of `fit`, and n_parts: its connected parts of two items or more.   A point:
    width: mean width of the 90% intervals of the scores (0 to 100);  tau: Kendall's tau-b of the utilities with those
    of `fit` over the items that both place, and n_changed: how many of the first k places are another item's now; null
    where one of the fits has no one order of its items;  changes: what else changed since the point before.
    """
    now, width = figures_of(arrays)
    if not now:
        return None
    k = min(criterion.project.top_k, len(now))
    one_order = figures["n_parts"] == 1
    rows = choose_fits(criterion, fit, figures["n_labels"])
    points = []
    for row, stored in zip(rows, stored_arrays(rows, former), strict=True):
        then, mean_width = figures_of(stored)
        if then:
            compares = one_order and (row[OWN_PARTS] or row["n_parts"]) == 1
            points.append({**row, "width": mean_width, **(compare_orders(then, now, k) if compares else UNKNOWN)})
    itself = {"tau": 1.0, "n_changed": 0} if one_order else UNKNOWN
    points.append({**figures, "number": fit.number, "data_version": fit.data_version, "width": width, **itself})
    add_changes(criterion, points)
    kept = ("number", "n_labels", "n_items", "width", "tau", "n_changed", "changes")
    return {"k": k, "n_parts": figures["n_parts"], "points": [{name: one[name] for name in kept} for one in points]}


UNKNOWN: dict[str, Any] = {"tau": None, "n_changed": None}


def choose_fits(criterion: Criterion, fit: Fit, n_labels: int) -> list[dict[str, Any]]:
    """Return rows of at most MAX_POINTS earlier fits that kept their figures, evenly spread over the answers."""
    earlier = Fit.objects.filter(
        project_id=criterion.project.pk,
        criterion=criterion.number,
        status=Fit.Status.DONE,
        number__lt=fit.number,
        n_labels__gt=0,
        arrays__isnull=False,
    )
    rows = list(earlier.order_by("-number").values(*COLUMNS, OWN_PARTS)[:MAX_FITS])[::-1]
    if len(rows) <= MAX_POINTS:
        return rows
    have = np.array([row["n_labels"] for row in rows])
    wanted = np.linspace(have.min(), max(have.max(), n_labels), MAX_POINTS)
    return [rows[place] for place in sorted({int(np.abs(have - n).argmin()) for n in wanted})]


def stored_arrays(rows: Sequence[dict[str, Any]], former: Fit | None) -> Iterator[bytes | memoryview | None]:
    """Yield the arrays of these fits; the former fit's, the only large ones, are at hand."""
    known = former.pk if former else None
    others = [row["pk"] for row in rows if row["pk"] != known]
    thin = dict(Fit.objects.filter(pk__in=others).values_list("pk", "arrays"))
    for row in rows:
        yield former.arrays if former and row["pk"] == known else thin.get(row["pk"])


def figures_of(arrays: bytes | memoryview | None) -> tuple[Order, float]:
    """Return utilities by item and the mean width of the scores' intervals, of the items that have a place."""
    columns = site_columns(arrays, "items", "utility", "score", "score_low", "score_high")
    if columns is None:
        return {}, float("nan")
    items, utility, score, low, high = columns
    placed = np.isfinite(score)
    if not placed.any():
        return {}, float("nan")
    order = dict(zip(items[placed].tolist(), utility[placed].tolist(), strict=True))
    return order, float((high[placed].astype(float) - low[placed].astype(float)).mean())


def compare_orders(then: Order, now: Order, k: int) -> dict[str, Any]:
    """Return tau and n_changed; of items placed in both, with the first k of all that are placed now."""
    common = sorted(then.keys() & now.keys())
    if len(common) < MIN_COMMON:
        return UNKNOWN
    tau = kendall_tau(values_of(then, common), values_of(now, common))
    first = first_items(now, k)
    before = first_items({item: then[item] for item in common}, k)
    n_same = sum(a == b for a, b in zip(first, before, strict=False))
    return {"tau": tau if np.isfinite(tau) else None, "n_changed": len(first) - n_same}


def values_of(order: Order, items: Sequence[int]) -> NDArray[np.float64]:
    return np.array([order[item] for item in items])


def first_items(order: Order, k: int) -> list[int]:
    return sorted(order, key=lambda item: (-order[item], item))[:k]


def add_changes(criterion: Criterion, points: list[dict[str, Any]]) -> None:
    """Tell each point what changed besides the answers since the one before: estimator, items, which answers count."""
    events = Event.objects.filter(
        project=criterion.project, verb__in=CHANGES_OF_DATA, details__has_key="version"
    ).values_list("details__version", flat=True)
    versions = sorted(int(version) for version in events)
    for before, after in zip([None, *points], points, strict=False):
        changes = []
        if before is not None:
            if before["estimator"] != after["estimator"]:
                changes.append("estimator")
            if before["n_items"] != after["n_items"]:
                changes.append("items")
            if any(before["data_version"] < version <= after["data_version"] for version in versions):
                changes.append("exclusion")
        after["changes"] = changes
