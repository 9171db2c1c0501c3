"""Reads a stored report on machines for the page, the API and the export; computes nothing but places."""

from dataclasses import dataclass
from typing import Any

from annotate.criteria import Criterion
from annotate.models import Annotator, Item, MachineReport

MOST_DIFFERENT = 15
FIGURES = (
    "agreement",
    "people",
    "worth",
    "spared",
    "order",
    "position",
    "longer",
    "people_longer",
    "longer_difference",
)


@dataclass(frozen=True)
class Figure:
    """A figure with its 90% interval; `high` is None where it has no bound, `value` too where that has none."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    is_unbounded: bool = False


@dataclass(frozen=True)
class ReportedMachine:
    name: str
    share: float
    n_answers: int
    n_sets: int
    n_shared: int
    n_people_answers: int
    figures: dict[str, Figure | None]
    tags: dict[str, Figure | None]
    places: list[Figure]  # how often it names best what stands first, second and so on; empty for pairs

    @property
    def fair_share(self) -> float:
        """Return how often an item at one place should be the best, by chance."""
        return 1 / len(self.places) if self.places else 0.0

    def __getattr__(self, name: str) -> Any:
        """Return a figure by its name, for templates."""
        if name in FIGURES:
            return self.figures[name]
        raise AttributeError(name)


@dataclass(frozen=True)
class SideBySide:
    """One item's places by people, by machines and by both."""

    item: Item
    people: int
    machines: int
    both: int

    @property
    def difference(self) -> int:
        """Return how many places higher people have it than machines."""
        return self.machines - self.people


@dataclass(frozen=True)
class ReportView:
    machines: list[ReportedMachine]
    rows: list[SideBySide]  # places that differ most first
    n_items: int
    correlation: float | None
    correlation_both: float | None
    n_people: int
    n_people_answers: int
    n_machine_answers: int


def report_view(criterion: Criterion, report: MachineReport, most: int | None = MOST_DIFFERENT) -> ReportView | None:
    """Return what the latest report says, None before the first. most: how many items; None: all."""
    figures = report.figures
    if not figures:
        return None
    machines = Annotator.everyone.filter(pk__in=[one["annotator"] for one in figures["machines"]])
    names = dict(machines.values_list("pk", "pseudonym"))
    boards = figures["boards"] or {}
    return ReportView(
        machines=[reported(one, names[one["annotator"]]) for one in figures["machines"] if one["annotator"] in names],
        rows=side_by_side(criterion, boards, most),
        n_items=len(boards.get("items", [])),
        correlation=boards.get("correlation"),
        correlation_both=boards.get("correlation_both"),
        n_people=figures["n_people"],
        n_people_answers=figures["n_people_answers"],
        n_machine_answers=figures["n_machine_answers"],
    )


def reported(one: dict[str, Any], name: str) -> ReportedMachine:
    counts = {key: one[key] for key in ("n_answers", "n_sets", "n_shared", "n_people_answers")}
    figures = {key: figure(one[key]) for key in FIGURES}
    return ReportedMachine(
        name=name,
        share=one["share"],
        figures=figures,
        tags={k: figure(v) for k, v in one["tags"].items()},
        places=[shown for place in one["places"] if (shown := figure(place))],
        **counts,
    )


def figure(stored: dict[str, Any]) -> Figure | None:
    """Return a stored figure; None where it is not known."""
    if stored["value"] is None:
        return None
    ends = {key: None if stored[key] == "inf" else stored[key] for key in ("value", "low", "high")}
    return Figure(**ends, n=stored["n"], is_unbounded="inf" in (stored["value"], stored["high"], stored["low"]))


def side_by_side(criterion: Criterion, boards: dict[str, Any], most: int | None) -> list[SideBySide]:
    if not boards:
        return []
    places = {name: places_of(boards[name]["utility"]) for name in ("people", "machines", "both")}
    order = sorted(
        range(len(boards["items"])),
        key=lambda i: (-abs(places["machines"][i] - places["people"][i]), places["people"][i]),
    )[:most]
    items = Item.objects.filter(project=criterion.project).in_bulk([boards["items"][i] for i in order])
    return [
        SideBySide(items[boards["items"][i]], *(places[name][i] for name in ("people", "machines", "both")))
        for i in order
        if boards["items"][i] in items
    ]


def places_of(utilities: list[float]) -> list[int]:
    """Return the place of each; 1 is the highest."""
    order = sorted(range(len(utilities)), key=lambda i: -utilities[i])
    found = [0] * len(utilities)
    for place, i in enumerate(order, 1):
        found[i] = place
    return found
