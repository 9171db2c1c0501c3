"""Draws what moved between two fits: a slope for each of the items that moved most, and the mean change by tag."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from annotate.core.charts import Scale
from annotate.core.numbers import format_number
from annotate.dashboard.fits.figures import ItemFigures
from annotate.dashboard.ranking.forest_plot import truncate_label
from annotate.models import Item, Project

MOST_SLOPES, MOST_TAGS = 20, 20
WIDTH, LEFT, RIGHT = 720, 72, 380  # units of the view box; scores stand left of LEFT, names right of RIGHT
HEAD, LINE, LEAST_HEIGHT = 36, 17, 160
NOTHING = 0.05  # points: a smaller change is written as 0.0


@dataclass(frozen=True)
class Slope:
    """One item: its scores (0 to 100) in both fits, their heights, and those of the words beside them."""

    name: str
    first: str
    second: str
    y_first: float
    y_second: float
    label_first: float
    label_second: float
    is_far: bool


@dataclass(frozen=True)
class SlopeChart:
    slopes: list[Slope]
    height: float
    bottom: float
    width: int = WIDTH
    left: int = LEFT
    right: int = RIGHT


@dataclass(frozen=True)
class TagChange:
    """The mean change of the scores of a tag's items, in points; points: written with its sign."""

    name: str
    n_items: int
    change: float

    @property
    def points(self) -> str:
        return ("+" if self.change >= NOTHING else "") + format_number(self.change, 1)


def slope_chart(
    items: Sequence[Item], one: Mapping[int, ItemFigures], other: Mapping[int, ItemFigures], far: set[int], by: str
) -> SlopeChart | None:
    """Draw these items; None where none of them moved. far: those beyond the margin of error; by: ItemsShownBy."""
    scored = [(item, *ends) for item in items if (ends := scores(one, other, item.pk))]
    if not any(abs(b - a) >= NOTHING for _item, a, b in scored):
        return None
    values = [value for _item, *ends in scored for value in ends]
    height = max(LEAST_HEIGHT, LINE * len(scored))
    bottom, scale = HEAD + height, Scale.around(min(values), max(values))
    firsts = [HEAD + height * (1 - scale.share(a)) for _item, a, _b in scored]
    seconds = [HEAD + height * (1 - scale.share(b)) for _item, _a, b in scored]
    columns = [rounded(ys) for ys in (firsts, seconds, apart(firsts, bottom), apart(seconds, bottom))]
    return SlopeChart(
        [
            Slope(
                truncate_label(item.shown_as(by)),
                format_number(a, 1),
                format_number(b, 1),
                y_first=heights[0],
                y_second=heights[1],
                label_first=heights[2],
                label_second=heights[3],
                is_far=item.pk in far,
            )
            for (item, a, b), heights in zip(scored, zip(*columns, strict=True), strict=True)
        ],
        height=bottom + 2 * LINE,
        bottom=bottom,
    )


def rounded(heights: Sequence[float]) -> list[float]:
    return [round(y, 1) for y in heights]


def scores(one: Mapping[int, ItemFigures], other: Mapping[int, ItemFigures], item: int) -> tuple[float, float] | None:
    """Return the item's score in both; None where one of the fits has none for it."""
    first, second = one[item].score, other[item].score
    return None if first is None or second is None else (first, second)


def apart(heights: Sequence[float], bottom: float) -> list[float]:
    """Move heights of words, in their order, so far that no two lines overlap and none is below the bottom."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    moved = list(heights)
    for above, below in pairwise(order):
        moved[below] = max(moved[below], moved[above] + LINE)
    room = bottom
    for place in reversed(order):
        moved[place] = min(moved[place], room)
        room = moved[place] - LINE
    return moved


def change_by_tag(
    project: Project, common: Sequence[int], one: Mapping[int, ItemFigures], other: Mapping[int, ItemFigures]
) -> list[TagChange]:
    """Return the tags of the items that both fits hold, the widest mean change first; one query."""
    changes = {item: ends[1] - ends[0] for item in common if (ends := scores(one, other, item))}
    tagged = Item.tags.through.objects.filter(item__project=project).values_list("item_id", "tag__name")
    by_tag: dict[str, list[float]] = defaultdict(list)
    for item, name in tagged:
        if item in changes:
            by_tag[name].append(changes[item])
    found = [TagChange(name, len(values), fmean(values)) for name, values in by_tag.items()]
    return sorted(found, key=lambda tag: (-abs(tag.change), tag.name))[:MOST_TAGS]
