"""Lays out the taste map: what each component is about, each annotator's scores along two of them, the groups."""

import io
from collections.abc import Collection
from dataclasses import dataclass
from math import ceil, isnan
from statistics import median

import numpy as np
from django.core.paginator import Page, Paginator
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from annotate.annotators.tastes.map_items import N_EACH, MapItem, place_items
from annotate.core.charts import Scale
from annotate.core.numbers import format_integer
from annotate.criteria import Criterion
from annotate.models import AnnotatorTaste, Item, Project, TasteMap

Floats = NDArray[np.float64]
SIDE = 460.0  # of the drawing, in its own units
MAX_DOTS = 2_000
N_ITEMS = 4
PAGE_SIZE = 50
LEAST_RADIUS, MOST_RADIUS = 2.0, 6.5


@dataclass(frozen=True)
class End:
    """One end of a component, or a group: items and by how many units of utility they are liked more there."""

    items: list[tuple[Item, float]]


@dataclass(frozen=True)
class Component:
    number: int
    share: float
    high: End
    low: End


@dataclass(frozen=True)
class Group:
    number: int
    n: int
    path: str
    likes: End
    dislikes: End


@dataclass(frozen=True)
class Dot:
    """One annotator. path: the mark around 0, 0; its size grows with how much is known."""

    row: AnnotatorTaste
    x: float
    y: float
    path: str
    group: int | None
    certainty: float
    scores: list[tuple[float, float]]


@dataclass(frozen=True)
class TasteMapView:
    taste_map: TasteMap
    components: list[Component]
    n_told: int
    across: int
    up: int
    dots: list[Dot]
    table: list[Dot]
    page: Page
    n_annotators: int
    x_ticks: list[tuple[float, str, bool]]
    y_ticks: list[tuple[float, str, bool]]
    groups: list[Group]
    items: list[MapItem]
    enough: str = ""  # what would be enough to look for groups

    side = SIDE

    @property
    def axes(self) -> list[Component]:
        """Return the components across and up, to name their ends; none that are noise, and one only once."""
        shown = dict.fromkeys((self.across, self.up))
        return [self.components[number - 1] for number in shown if number <= self.n_told]

    @property
    def clear_components(self) -> list[Component]:
        """Return those that are more than noise."""
        return self.components[: self.n_told]

    @property
    def is_cut(self) -> bool:
        return self.n_annotators > len(self.dots)


def taste_map_view(criterion: Criterion, across: int, up: int, page: int) -> TasteMapView | None:
    """Read the latest taste map of this criterion; None before the first. Components are numbered from 1."""
    project = criterion.project
    taste_map = TasteMap.objects.filter(project=project, criterion=criterion.number).first()
    if taste_map is None or taste_map.fit_number is None or not taste_map.arrays:
        return None
    with np.load(io.BytesIO(bytes(taste_map.arrays)), allow_pickle=False) as file:
        arrays = {name: file[name] for name in ("items", "loadings", "shares", "likes")}
        enough = file["enough"].tolist() if "enough" in file.files else []
        n_told = int(file["n_told"]) if "n_told" in file.files else arrays["loadings"].shape[1]
    n = arrays["loadings"].shape[1]
    across, up = min(across, n), min(up, n)
    here = AnnotatorTaste.objects.filter(annotator__project=project, fit_number=taste_map.fit_number)
    rows = list(here.select_related("annotator").defer("own").order_by("-n_labels", "pk"))
    both = Ends.of(project, arrays)
    ends = both.end
    scores = np.array([[row.scores[across - 1], row.scores[up - 1]] for row in rows] or [[0.0, 0.0]])
    scales = [symmetric(scores[:, axis]) for axis in (0, 1)]
    shown = Paginator(rows, PAGE_SIZE).get_page(page)
    return TasteMapView(
        taste_map=taste_map,
        components=[
            Component(number, float(share), ends(loadings, 1), ends(loadings, -1))
            for number, share, loadings in zip(range(1, n + 1), arrays["shares"], arrays["loadings"].T, strict=False)
        ],
        n_told=n_told,
        across=across,
        up=up,
        dots=[dot(row, across, up, scales) for row in rows[:MAX_DOTS]],
        table=[dot(row, across, up, scales) for row in shown.object_list],
        page=shown,
        n_annotators=len(rows),
        x_ticks=[(round(SIDE * scales[0].share(v), 1), text, zero) for v, text, zero in scales[0].tick_values(6)],
        y_ticks=[(round(SIDE * (1 - scales[1].share(v)), 1), text, zero) for v, text, zero in scales[1].tick_values(6)],
        groups=[
            Group(
                number + 1, sum(row.group == number for row in rows), mark(number, 6.0), ends(likes, 1), ends(likes, -1)
            )
            for number, likes in enumerate(arrays["likes"])
        ],
        items=both.on_map(arrays["loadings"], across - 1, up - 1, n_told),
        enough=enough_text(rows, *enough) if enough else "",
    )


def enough_text(rows: list[AnnotatorTaste], n_people: float, times: float) -> str:
    """Say how many people, or answers of those who are grouped, would be enough for groups that clearly differ."""
    typical = median([row.n_labels for row in rows if row.group is not None] or [0])
    values = {
        "people": format_integer(0 if isnan(n_people) else n_people),
        "answers": format_integer(0 if isnan(times) else ceil(times * typical)),
    }
    if not isnan(n_people) and not isnan(times):
        return (
            _(
                "About %(people)s people with as many answers each would be enough, or about %(answers)s answers of "
                "each of these people."
            )
            % values
        )
    if not isnan(n_people):
        return _("About %(people)s people with as many answers each would be enough.") % values
    if not isnan(times):
        return _("About %(answers)s answers of each of these people would be enough.") % values
    return _("Even twelve times as many people, or as many answers of each, may not be enough.")


def symmetric(values: Floats) -> Scale:
    most = max(1.0, float(np.abs(values).max()))
    return Scale.around(-most, most)


@dataclass(frozen=True)
class Ends:
    """The items at the ends of components and groups, read from the database at once."""

    keys: NDArray[np.int64]
    known: dict[int, Item]

    @classmethod
    def of(cls, project: Project, arrays: dict[str, NDArray]) -> "Ends":
        keys, columns = arrays["items"], [*arrays["loadings"].T, *arrays["likes"]]
        wanted = {int(keys[i]) for values in columns for sign in (1, -1) for i in extremes(values, sign)}
        return cls(keys, Item.objects.filter(project=project).in_bulk(list(wanted)))

    def end(self, values: Floats, sign: int) -> End:
        found = [(int(self.keys[i]), float(values[i])) for i in extremes(values, sign)]
        return End([(self.known[pk], abs(value)) for pk, value in found if pk in self.known])

    def on_map(self, loadings: Floats, across: int, up: int, n_told: int) -> list[MapItem]:
        """Place the items at the ends of these components, from 0, in the map; those of noise have no ends."""
        axes = [axis for axis in dict.fromkeys((across, up)) if axis < n_told]
        rows = [i for axis in axes for sign in (1, -1) for i in [*extremes(loadings[:, axis], sign)][:N_EACH]]
        shown = [i for i in dict.fromkeys(rows) if int(self.keys[i]) in self.known]
        return place_items([self.known[int(self.keys[i])] for i in shown], loadings[np.ix_(shown, [across, up])], SIDE)


def extremes(values: Floats, sign: int) -> Collection[int]:
    order = np.argsort(-sign * values, kind="stable")[:N_ITEMS]
    return [int(i) for i in order if sign * values[i] > 0]


def dot(row: AnnotatorTaste, across: int, up: int, scales: list[Scale]) -> Dot:
    x, y = row.scores[across - 1], row.scores[up - 1]
    known = 1 - (row.score_sds[across - 1] ** 2 + row.score_sds[up - 1] ** 2) / 2
    size = LEAST_RADIUS + (MOST_RADIUS - LEAST_RADIUS) * max(0.0, known)
    return Dot(
        row=row,
        x=round(SIDE * scales[0].share(x), 1),
        y=round(SIDE * (1 - scales[1].share(y)), 1),
        path=mark(row.group or 0, size),
        group=None if row.group is None else row.group + 1,
        certainty=max(0.0, known),
        scores=list(zip(row.scores, row.score_sds, strict=True)),
    )


def mark(group: int, r: float) -> str:
    """Return a disc, a square, a triangle, a diamond, a cross, a bar: groups differ by more than colour."""
    a = f"{r:.1f}"
    s = f"{0.9 * r:.1f}"
    return [
        f"M-{a} 0A{a} {a} 0 1 0 {a} 0A{a} {a} 0 1 0 -{a} 0Z",
        f"M-{s} -{s}H{s}V{s}H-{s}Z",
        f"M0 -{a}L{a} {s}H-{a}Z",
        f"M0 -{a}L{a} 0L0 {a}L-{a} 0Z",
        f"M-{a} -1H-1V-{a}H1V-1H{a}V1H1V{a}H-1V1H-{a}Z",
        f"M-{a} -1.5H{a}V1.5H-{a}Z",
    ][group % 6]
