"""Tells whether the ranking is settling: how order and uncertainty changed over the fits, as the latest kept it."""

from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotate.core.charts import Scale
from annotate.core.numbers import format_integer, format_number
from models_engine.models import Fit

MIN_POINTS = 5  # fits with one order, below which nothing is said
LOOK_BACK = 0.8  # of the answers: what has not changed since is called settled
WIDTH, HEIGHT = 480.0, 110.0  # of each of the two drawings, in units of the view box
SETTLED, MOVING, EARLY, APART = "settled", "moving", "early", "apart"
CHANGES: dict[str, Promise] = {
    "estimator": gettext_lazy("another estimator"),
    "items": gettext_lazy("items added or retired"),
    "exclusion": gettext_lazy("answers excluded or readmitted"),
}


@dataclass(frozen=True)
class Point:
    """One fit. width: of the scores' 90% intervals, their mean.   tau: Kendall's tau-b with the present fit, n_changed:
    places of the first k that another item has now; both None without one order.   changes: keys of CHANGES."""

    fit: int
    n_labels: int
    n_items: int
    width: float
    tau: float | None
    n_changed: int | None
    changes: list[str]

    @property
    def changed(self) -> str:
        return ", ".join(str(CHANGES[name]) for name in self.changes if name in CHANGES)


@dataclass(frozen=True)
class Line:
    """A drawing over the number of answers: its dots as (x, y, what it says), lines across as (y, label)."""

    path: str
    dots: list[tuple[float, float, str]]
    lines: list[tuple[float, str]]


@dataclass(frozen=True)
class Settling:
    """since: the answer from which on no fit had other first k places than now; None where the last had, too.

    back_to: the number of answers of the fit that the sentence looks back to.
    """

    state: str
    k: int
    n_parts: int
    points: list[Point]
    since: int | None
    back_to: int | None
    n_moved: int

    @property
    def sentence(self) -> str:
        return " ".join(part for part in (self.order_sentence, self.width_sentence) if part)

    @property
    def order_sentence(self) -> str:
        if self.state == APART:
            text = _("The answers do not connect all items, so there is no one order whose places could settle.")
        elif self.state == EARLY:
            text = _(
                "Too early to say: that takes at least %(n)s fits, one of them made before the last fifth of the "
                "answers."
            )
        elif self.state == SETTLED:
            text = _("Since answer %(since)s none of the first %(k)s places has changed.")
        else:
            text = ngettext(
                "Still moving: since answer %(since)s, %(moved)s of the first %(k)s places has changed.",
                "Still moving: since answer %(since)s, %(moved)s of the first %(k)s places have changed.",
                self.n_moved,
            )
        since = self.since if self.state == SETTLED else self.back_to
        return text % {
            "n": format_integer(MIN_POINTS),
            "since": format_integer(since or 0),
            "moved": format_integer(self.n_moved),
            "k": format_integer(self.k),
        }

    @property
    def width_sentence(self) -> str:
        back = next((one for one in self.points if one.n_labels == self.back_to), None)
        if back is None:
            return ""
        text = _(
            "The 90%% intervals of the scores were %(then)s points wide on average at answer %(back)s; "
            "now they are %(now)s."
        )
        return text % {
            "then": format_number(back.width, 1),
            "back": format_integer(back.n_labels),
            "now": format_number(self.points[-1].width, 1),
        }

    @property
    def most(self) -> int:
        return max(one.n_labels for one in self.points)

    @property
    def widths(self) -> Line:
        top = max(one.width for one in self.points)
        return draw([(one, one.width) for one in self.points], Scale(0.0, top * 1.05 or 1.0), self.most, 1)

    @property
    def taus(self) -> Line | None:
        known = [(one, one.tau) for one in self.points if one.tau is not None]
        if len(known) < 2:
            return None
        return draw(known, Scale(min(0.0, *(tau for _one, tau in known)), 1.0), self.most, 2)

    @property
    def marks(self) -> list[float]:
        """Return where something else than answers changed, along the drawing."""
        return [x_of(one, self.most) for one in self.points if one.changes]


def settling_of(fit: Fit) -> Settling | None:
    """Read what the fit kept; no query. None where it kept nothing: it places no item, or was made before."""
    kept: dict[str, Any] | None = fit.diagnostics.get("settling")
    if not kept or not kept["points"]:
        return None
    points = [Point(fit=one["number"], **{k: v for k, v in one.items() if k != "number"}) for one in kept["points"]]
    return judge(points, kept["k"], kept["n_parts"])


def judge(points: list[Point], k: int, n_parts: int) -> Settling:
    """Say whether the first k places stand still: since before the last fifth of the answers, at every point."""
    now, compared = points[-1], [one for one in points if one.tau is not None]
    earlier = [one for one in points if one.n_labels <= LOOK_BACK * now.n_labels]
    back_to = earlier[-1] if earlier else None
    since = None
    for one in reversed(compared[:-1]):
        if one.n_changed:
            break
        since = one.n_labels if since is None else min(since, one.n_labels)
    after = [one.n_changed or 0 for one in compared if back_to and one.fit >= back_to.fit]
    if n_parts != 1:
        state = APART
    elif len(compared) < MIN_POINTS or back_to is None or back_to.tau is None:
        state = EARLY
    else:
        state = SETTLED if not max(after) else MOVING
    return Settling(state, k, n_parts, points, since, back_to.n_labels if back_to else None, max(after, default=0))


def x_of(point: Point, most: int) -> float:
    return round(WIDTH * point.n_labels / (most or 1), 1)


def draw(values: list[tuple[Point, float]], scale: Scale, most: int, decimals: int) -> Line:
    def y_of(value: float) -> float:
        return round(HEIGHT * (1 - scale.share(value)), 1)

    dots = [
        (
            x_of(one, most),
            y_of(value),
            _("%(n)s answers: %(value)s")
            % {"n": format_integer(one.n_labels), "value": format_number(value, decimals)},
        )
        for one, value in values
    ]
    path = "".join(f"{'L' if i else 'M'}{x} {y}" for i, (x, y, _said) in enumerate(dots))
    return Line(path, dots, [(y_of(value), label) for value, label, _zero in scale.tick_values(4)])
