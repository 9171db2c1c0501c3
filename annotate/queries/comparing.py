"""Two fits of a project item by item: what moved between them, and whether it moved more than either was unsure."""

from dataclasses import dataclass
from uuid import UUID

import numpy as np
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet

from annotate.models import Event, Item, Project
from annotate.queries.fit_figures import figures_of
from annotate.queries.history import Told, told
from models_engine.models import Fit

Figures = dict[int, tuple[float, float]]  # (utility, standard deviation) by item
PAGE_SIZE = 100
# Events that name the version of the data they made, so that the fits before and after them are known.
MOVING = ("annotator excluded", "annotator readmitted")
Z = 1.6449  # half a 90% interval, in standard deviations


@dataclass(frozen=True)
class Row:
    """first, second: (utility, standard deviation, place) in each fit. is_far: the 90% intervals do not touch."""

    item: Item
    first: tuple[float, float, int]
    second: tuple[float, float, int]

    @property
    def first_half(self) -> float:
        """Half of its 90% interval."""
        return Z * self.first[1]

    @property
    def second_half(self) -> float:
        return Z * self.second[1]

    @property
    def change(self) -> float:
        return self.second[0] - self.first[0]

    @property
    def is_far(self) -> bool:
        return abs(self.change) > Z * (self.first[1] + self.second[1])


@dataclass(frozen=True)
class Around:
    """An exclusion or readmission with the fit published before it and the first that has seen it, if there are any."""

    told: Told
    before: Fit | None
    after: Fit | None


@dataclass(frozen=True)
class Compared:
    """one_order: both fits put all their items in one order, so that places can be told; where they hold not the same
    items, the second's utilities are moved to a like zero then. correlation: of utilities."""

    first: Fit
    second: Fit
    rows: list[Row]
    page: Page
    n_common: int
    n_only_first: int
    n_only_second: int
    n_far: int
    one_order: bool
    correlation: float | None


def fits_to_compare(project: Project, limit: int = 50) -> list[Fit]:
    """The latest fits that kept their figures, newest first."""
    return list(kept_fits(project).defer("arrays", "diagnostics", "components").order_by("-number")[:limit])


def kept_fits(project: Project) -> QuerySet[Fit]:
    done = Fit.objects.filter(project_id=project.pk, criterion=project.criterion, status=Fit.Status.DONE)
    return done.exclude(arrays=None)


def around(project: Project, *, event: str = "", annotator: str = "") -> Around | None:
    """By the event's number, or the latest of the annotator with this key; None if there is none."""
    events = Event.objects.filter(project=project, verb__in=MOVING, details__has_key="version")
    if event.isdecimal() and len(event) < 18:
        events = events.filter(pk=int(event))
    elif is_key(annotator):
        events = events.filter(annotator__key=annotator)
    else:
        return None
    found = events.select_related("actor", "annotator").order_by("-pk").first()
    if found is None:
        return None
    fits = kept_fits(project).defer("arrays", "diagnostics", "components")
    # One that was under way when it happened may have seen it or not, so it is neither.
    before = fits.filter(finished_at__lte=found.at).order_by("-number").first()
    after = fits.filter(data_version__gte=found.details["version"]).order_by("number").first()
    return Around(told(found), before, after)


def is_key(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def compare(project: Project, numbers: tuple[int, int], page: str | None) -> Compared | None:
    """Widest differences first; None where one of the fits is not kept."""
    found = {fit.number: fit for fit in kept_fits(project).filter(number__in=numbers)}
    if not set(numbers) <= found.keys():
        return None
    first, second = (found[number] for number in numbers)
    one, other = figures_of(first), figures_of(second)
    one_order = first.n_parts == second.n_parts == 1
    if one_order and one.keys() != other.keys():
        other = moved(other, one)
    common = sorted(one.keys() & other.keys(), key=lambda pk: (-abs(other[pk][0] - one[pk][0]), pk))
    places_one, places_other = places(one, common), places(other, common)
    shown = Paginator(common, PAGE_SIZE).get_page(page)
    items = Item.objects.filter(project=project).in_bulk(list(shown.object_list))
    far = sum(abs(other[pk][0] - one[pk][0]) > Z * (one[pk][1] + other[pk][1]) for pk in common)
    return Compared(
        first=first,
        second=second,
        rows=[
            Row(items[pk], (*one[pk], places_one[pk]), (*other[pk], places_other[pk]))
            for pk in shown.object_list
            if pk in items
        ],
        page=shown,
        n_common=len(common),
        n_only_first=len(one.keys() - other.keys()),
        n_only_second=len(other.keys() - one.keys()),
        n_far=far,
        one_order=one_order,
        correlation=correlation([one[pk][0] for pk in common], [other[pk][0] for pk in common]),
    )


def moved(figures: Figures, former: Figures) -> Figures:
    """So that the middle change is 0: a fit's zero is the mean of its items, so one that came or went moves all others.

    By the median, for a few that truly changed do not move it.
    """
    changes = [utility - former[pk][0] for pk, (utility, _sd) in figures.items() if pk in former]
    middle = float(np.median(changes)) if changes else 0.0
    return {pk: (utility - middle, sd) for pk, (utility, sd) in figures.items()}


def places(figures: Figures, common: list[int]) -> dict[int, int]:
    """By utility among the items that both fits hold; 1 is the highest."""
    ordered = sorted(common, key=lambda pk: (-figures[pk][0], pk))
    return {pk: place for place, pk in enumerate(ordered, start=1)}


def correlation(one: list[float], other: list[float]) -> float | None:
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.corrcoef(one, other)[0, 1])
