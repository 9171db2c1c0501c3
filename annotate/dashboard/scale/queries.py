"""Reads the published ranking on another scale: values with intervals, and how well anchors fit the line."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.core.paginator import Page, Paginator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.numbers import format_number
from annotate.criteria import Criterion
from annotate.fitting.grades import Z90
from annotate.fitting.published import published_fit
from annotate.models import Item, Project
from models_engine.analysis.anchors import Link, link_to_anchors, link_to_spread
from models_engine.errors import InvalidAnchors
from models_engine.models import Estimate, Fit

PAGE_SIZE = 50
MOVED = 2.5  # residual in standard deviations from which an anchor no longer fits
FEWEST_AGREEING = 2
MAX_ANCHORS = 200
Known = dict[int, tuple[float, float]]
Anchors = tuple[tuple[str, float, float | None], ...]  # key, value, standard deviation if known


@dataclass(frozen=True)
class Scale:
    """anchors: [key, value, standard deviation or None] of each; empty where mean and deviation make the scale."""

    mean: float = 50.0
    deviation: float = 15.0
    anchors: Anchors = ()


@dataclass(frozen=True)
class ScaledItem:
    item: Item
    estimate: Estimate
    value: float
    deviation: float
    low: float
    high: float
    is_anchor: bool


@dataclass(frozen=True)
class Anchor:
    """known: its value as given; found: what the line of all anchors gives it; residual: the difference in deviations.

    has_moved: whether it does not fit the line of those that agree.
    """

    item: Item
    known: float
    found: float
    residual: float
    has_moved: bool


@dataclass(frozen=True)
class Scaled:
    """problem: why there is no scale; empty where there is one.

    slope: what a logit is worth.   mean, deviation: as asked for, where no anchors make the scale.   lowest, highest:
    the values of all items, not only the page's.
    """

    rows: list[ScaledItem]
    page: Page | None
    anchors: list[Anchor]
    slope: float
    problem: str = ""
    mean: float = 0.0
    deviation: float = 0.0
    lowest: float = 0.0
    highest: float = 0.0

    @property
    def n_moved(self) -> int:
        return sum(anchor.has_moved for anchor in self.anchors)

    @property
    def sentence(self) -> str:
        """Return what the values are, without the units of the engine."""
        if not self.anchors:
            return _(
                "The mean of the items is %(mean)s and their standard deviation %(deviation)s, as you chose. "
                "The values go from %(low)s to %(high)s."
            ) % {
                "mean": as_written(self.mean),
                "deviation": as_written(self.deviation),
                "low": format_number(self.lowest, 1),
                "high": format_number(self.highest, 1),
            }
        linked = ngettext("%(n)d anchor carries the scale.", "%(n)d anchors carry the scale.", len(self.anchors)) % {
            "n": len(self.anchors)
        }
        if not self.n_moved:
            return linked
        moved = ngettext(
            "%(n)d of them no longer fits: check its value, or leave it out.",
            "%(n)d of them no longer fit: check their values, or leave them out.",
            self.n_moved,
        )
        return f"{linked} {moved % {'n': self.n_moved}}"


def scaled_ranking(
    project: Project, fit: Fit | None, scale: Scale, page: str = "1", size: int = PAGE_SIZE
) -> Scaled | None:
    """One page of the largest part on the scale, best first; None before a fit."""
    if fit is None:
        return None
    estimates, unit = ranked_estimates(fit), fit.unit or 1.0
    known = anchor_values(project, scale, estimates)
    try:
        link = find_link(scale, estimates, known, unit)
    except InvalidAnchors:
        return Scaled([], None, [], 0.0, link_problem(scale, len(known)))
    shown = Paginator(estimates, size).get_page(page)
    items = Item.objects.in_bulk([*(row.item_id for row in shown.object_list), *known])
    rows = scaled_items(link, list(shown.object_list), items, known, unit)
    values, _deviations = link.values([unit * row.utility for row in estimates], [0.0] * len(estimates))
    return Scaled(
        rows,
        shown,
        anchors_of(link, estimates, items, known, unit),
        link.slope,
        mean=scale.mean,
        deviation=scale.deviation,
        lowest=float(values.min()),
        highest=float(values.max()),
    )


def ranked_estimates(fit: Fit) -> list[Estimate]:
    return list(Estimate.objects.filter(fit=fit, part=0, n_comparisons__gt=0).order_by("rank"))


def anchor_values(project: Project, scale: Scale, estimates: Sequence[Estimate]) -> Known:
    """Value and deviation of each anchor in the ranking, by the item's primary key."""
    given = {key: (value, deviation or 0.0) for key, value, deviation in scale.anchors}
    ranked = {row.item_id for row in estimates}
    found = project.items.filter(key__in=given).values_list("pk", "key") if given else []
    return {pk: given[key] for pk, key in found if pk in ranked}


def find_link(scale: Scale, estimates: Sequence[Estimate], known: Known, unit: float) -> Link:
    """Fits the line from logits to values. Raises InvalidAnchors."""
    if not scale.anchors:
        return link_to_spread([unit * row.utility for row in estimates], mean=scale.mean, deviation=scale.deviation)
    return link_anchors([row for row in estimates if row.item_id in known], known, unit)


def link_anchors(own: Sequence[Estimate], known: Known, unit: float) -> Link:
    """Fits the anchors' line; of one alone a logit is worth one. Raises InvalidAnchors."""
    values, deviations = np.array([known[row.item_id] for row in own]).reshape(-1, 2).T
    means, spread = [unit * row.utility for row in own], [unit * row.sd for row in own]
    return link_to_anchors(means, spread, values, deviations, slope=1.0 if len(own) == 1 else None)


def find_moved(own: Sequence[Estimate], known: Known, unit: float) -> set[int]:
    """Items whose values don't fit the line: the worst is left out until the others agree, for it bends their line."""
    left, moved = list(own), set[int]()
    while len(left) > FEWEST_AGREEING:
        try:
            residuals = np.abs(link_anchors(left, known, unit).residuals)
        except InvalidAnchors:
            break
        worst = int(residuals.argmax())
        if residuals[worst] <= MOVED:
            break
        moved.add(left.pop(worst).item_id)
    return moved


def link_problem(scale: Scale, n_known: int) -> str:
    if not scale.anchors:
        return _("There is no scale yet: it takes two items that answers tell apart. Collect more answers.")
    if not n_known:
        text = _("None of the %(n)d anchors is in the ranking yet. Collect answers about them, or name others.")
        return text % {"n": len(scale.anchors)}
    return _("The anchors give no scale: their values must differ, and rise where scores rise. Check them below.")


def scaled_items(
    link: Link, estimates: Sequence[Estimate], items: dict[int, Item], known: Known, unit: float
) -> list[ScaledItem]:
    values, deviations = link.values([unit * row.utility for row in estimates], [unit * row.sd for row in estimates])
    return [
        ScaledItem(
            items[row.item_id],
            row,
            value,
            deviation,
            value - Z90 * deviation,
            value + Z90 * deviation,
            row.item_id in known,
        )
        for row, value, deviation in zip(estimates, values.tolist(), deviations.tolist(), strict=True)
        if row.item_id in items
    ]


def anchors_of(
    link: Link, estimates: Sequence[Estimate], items: dict[int, Item], known: Known, unit: float
) -> list[Anchor]:
    own = [row for row in estimates if row.item_id in known]
    moved = find_moved(own, known, unit)
    return [
        Anchor(
            items[row.item_id],
            known[row.item_id][0],
            link.intercept + link.slope * unit * row.utility,
            residual,
            row.item_id in moved,
        )
        for row, residual in zip(own, link.residuals.tolist(), strict=False)
        if row.item_id in items
    ]


def values_to_carry(project: Project, source: Project) -> list[tuple[str, float, float]]:
    """Key, value in logits and its deviation of the items that both projects have, from the source's published fit."""
    fit = published_fit(Criterion(source))
    if fit is None:
        return []
    estimates, unit = ranked_estimates(fit), fit.unit or 1.0
    values, deviations = values_on_kept_scale(source, estimates, unit)
    keys = dict(source.items.filter(pk__in=[row.item_id for row in estimates]).values_list("pk", "key"))
    shared = set(project.items.filter(key__in=keys.values()).values_list("key", flat=True))
    return [
        (keys[row.item_id], value, deviation)
        for row, value, deviation in zip(estimates, values, deviations, strict=True)
        if keys.get(row.item_id) in shared
    ]


def values_on_kept_scale(
    source: Project, estimates: Sequence[Estimate], unit: float
) -> tuple[Sequence[float], Sequence[float]]:
    """Values and deviations on the scale that the source keeps; in logits, where it keeps none."""
    means, deviations = [unit * row.utility for row in estimates], [unit * row.sd for row in estimates]
    kept = kept_scale(Criterion(source))
    if kept is None:
        return means, deviations
    try:
        link = find_link(kept, estimates, anchor_values(source, kept, estimates), unit)
    except InvalidAnchors:  # too few of its anchors are ranked by now
        return means, deviations
    on_scale, spread = link.values(means, deviations)
    return on_scale.tolist(), spread.tolist()


def kept_scale(criterion: Criterion) -> Scale | None:
    rows = criterion.project.anchors.get(str(criterion.number))
    return Scale(anchors=tuple((key, value, deviation) for key, value, deviation in rows)) if rows else None


def anchors_to_keep(project: Project, fit: Fit | None, scale: Scale) -> Anchors:
    """Return the anchors that fix this scale: its own, or up to MAX_ANCHORS items over the whole ranking."""
    if scale.anchors:
        return scale.anchors[:MAX_ANCHORS]
    found = scaled_ranking(project, fit, scale, size=10**9)
    rows = found.rows if found else []
    step = max(1, -(-len(rows) // MAX_ANCHORS))
    return tuple((row.item.key, row.value, row.deviation) for row in rows[::step])


def as_written(value: float) -> str:
    return format_number(value, 0 if value.is_integer() else 2)


def read_number(cell: str) -> float | None:
    """Return the number, with a decimal point or comma; None where it is none."""
    try:
        number = float(cell.replace(",", "."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
