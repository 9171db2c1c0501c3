"""Compares two fits item by item: what moved, and whether by more than the margin of error."""

from dataclasses import dataclass
from uuid import UUID

import numpy as np
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet

from annotate.audit_log.queries import CHANGES_OF_DATA
from annotate.audit_log.sentences import DescribedEvent, describe_event
from annotate.criteria import Criterion
from annotate.dashboard.fits.changes import MOST_SLOPES, SlopeChart, TagChange, change_by_tag, slope_chart
from annotate.dashboard.fits.figures import ItemFigures, figures_of
from annotate.models import Event, Item
from models_engine.constants import Z90
from models_engine.models import Fit

Figures = dict[int, ItemFigures]  # by item
PAGE_SIZE = 50


@dataclass(frozen=True)
class ComparedItem:
    """The item's figures and place in each fit. is_far: the 90% intervals do not touch."""

    item: Item
    first: ItemFigures
    second: ItemFigures
    first_place: int
    second_place: int

    @property
    def first_half(self) -> float:
        """Return half of its 90% interval."""
        return Z90 * self.first.sd

    @property
    def second_half(self) -> float:
        return Z90 * self.second.sd

    @property
    def change(self) -> float:
        return self.second.utility - self.first.utility

    @property
    def is_far(self) -> bool:
        return is_beyond_error(self.first, self.second)


def is_beyond_error(first: ItemFigures, second: ItemFigures) -> bool:
    return abs(second.utility - first.utility) > Z90 * (first.sd + second.sd)


@dataclass(frozen=True)
class FitsAroundEvent:
    """An exclusion or readmission with the last fit before it and the first fit after it, where they are kept."""

    event: DescribedEvent
    before: Fit | None
    after: Fit | None


@dataclass(frozen=True)
class FitComparison:
    """one_order: both fits put all their items in one order, so that places can be told; where they hold not the same
    items, the second's utilities are moved to a like zero then. correlation: of utilities."""

    first: Fit
    second: Fit
    rows: list[ComparedItem]
    page: Page
    n_common: int
    n_only_first: int
    n_only_second: int
    n_far: int
    one_order: bool
    correlation: float | None
    slopes: SlopeChart | None
    tags: list[TagChange]


def fits_to_compare(criterion: Criterion, limit: int = 50) -> list[Fit]:
    """Return the latest fits that kept their figures, newest first."""
    return list(kept_fits(criterion).defer("arrays", "diagnostics", "components").order_by("-number")[:limit])


def kept_fits(criterion: Criterion) -> QuerySet[Fit]:
    done = Fit.objects.filter(project_id=criterion.project.pk, criterion=criterion.number, status=Fit.Status.DONE)
    return done.exclude(arrays=None)


def fits_around_event(criterion: Criterion, *, event: str = "", annotator: str = "") -> FitsAroundEvent | None:
    """Find the event by its number, or the latest one of the annotator with this key; None if there is none."""
    events = Event.objects.filter(project=criterion.project, verb__in=CHANGES_OF_DATA, details__has_key="version")
    if event.isdecimal() and len(event) < 18:
        events = events.filter(pk=int(event))
    elif is_uuid(annotator):
        events = events.filter(annotator__key=annotator)
    else:
        return None
    found = events.select_related("actor", "annotator").order_by("-pk").first()
    if found is None:
        return None
    fits = kept_fits(criterion).defer("arrays", "diagnostics", "components")
    # A fit that was running at that moment may or may not include the change, so it is neither.
    before = fits.filter(finished_at__lte=found.at).order_by("-number").first()
    after = fits.filter(data_version__gte=found.details["version"]).order_by("number").first()
    return FitsAroundEvent(describe_event(found), before, after)


def is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def compare_two_fits(criterion: Criterion, numbers: tuple[int, int], page: str | None) -> FitComparison | None:
    """Compare two fits, widest differences first; None where one of them is not kept."""
    found = {fit.number: fit for fit in kept_fits(criterion).filter(number__in=numbers)}
    if not set(numbers) <= found.keys():
        return None
    first, second = (found[number] for number in numbers)
    one, other = in_one_unit(first, second)
    one_order = first.n_parts == second.n_parts == 1
    if one_order and one.keys() != other.keys():
        other = align_zero(other, one)
    common = sorted(one.keys() & other.keys(), key=lambda pk: (-abs(other[pk].utility - one[pk].utility), pk))
    places_one, places_other = places(one, common), places(other, common)
    shown = Paginator(common, PAGE_SIZE).get_page(page)
    most = common[:MOST_SLOPES]
    items = Item.objects.filter(project=criterion.project).in_bulk([*shown.object_list, *most])
    far = {pk for pk in common if is_beyond_error(one[pk], other[pk])}
    moved = [items[pk] for pk in most if pk in items]
    return FitComparison(
        first=first,
        second=second,
        rows=[
            ComparedItem(items[pk], one[pk], other[pk], places_one[pk], places_other[pk])
            for pk in shown.object_list
            if pk in items
        ],
        page=shown,
        n_common=len(common),
        n_only_first=len(one.keys() - other.keys()),
        n_only_second=len(other.keys() - one.keys()),
        n_far=len(far),
        one_order=one_order,
        correlation=correlation([one[pk].utility for pk in common], [other[pk].utility for pk in common]),
        slopes=slope_chart(moved, one, other, far, criterion.project.items_shown_by),
        tags=change_by_tag(criterion.project, common, one, other),
    )


def in_one_unit(first: Fit, second: Fit) -> tuple[Figures, Figures]:
    """Return the figures of both: utilities in logits of an average person's answer where both fits know their unit, so
    that fits by different estimators can be compared; as they are stored otherwise."""
    found = figures_of(first), figures_of(second)
    if first.unit is None or second.unit is None:
        return found
    one, other = (
        {pk: row._replace(utility=unit * row.utility, sd=unit * row.sd) for pk, row in figures.items()}
        for figures, unit in zip(found, (first.unit, second.unit), strict=True)
    )
    return one, other


def align_zero(figures: Figures, former: Figures) -> Figures:
    """Make the middle change 0: a fit's zero is the mean of its items, so one that came or went moves all others.

    By the median, for a few that truly changed do not move it.
    """
    changes = [one.utility - former[pk].utility for pk, one in figures.items() if pk in former]
    middle = float(np.median(changes)) if changes else 0.0
    return {pk: one._replace(utility=one.utility - middle) for pk, one in figures.items()}


def places(figures: Figures, common: list[int]) -> dict[int, int]:
    """Rank by utility among the items that both fits hold; 1 is the highest."""
    ordered = sorted(common, key=lambda pk: (-figures[pk].utility, pk))
    return {pk: place for place, pk in enumerate(ordered, start=1)}


def correlation(one: list[float], other: list[float]) -> float | None:
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.corrcoef(one, other)[0, 1])
