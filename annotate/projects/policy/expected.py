"""What to expect by number of answers, balanced and chosen by the ranking so far: sentences, pictures and tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from django.db.models import Count
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from numpy.typing import NDArray

from annotate.core.charts import Scale
from annotate.core.numbers import format_integer, format_number
from annotate.labelling.plan.queries import NO_LIMIT
from annotate.labelling.task_types.registry import TASK_TYPES
from annotate.models import Policy, Project
from models_engine.analysis.expected_quality import Goal, expected_quality, largest_size
from models_engine.analysis.plan_design import pairs_per_answer

Floats = NDArray[np.float64]
WIDTH, HEIGHT = 680.0, 110.0
EXAMPLE_ITEMS = 100  # of a draft without items
MIN_POINTS = 2
DECIMALS = 2
LABELS: dict[Goal, str | Promise] = {
    "whole": gettext_lazy("Right order of all items"),
    "best": gettext_lazy("Best items found"),
    "classes": gettext_lazy("Items in their class"),
}


@dataclass(frozen=True)
class Band:
    """low, mean, high: as shown.   area, line: paths through all points."""

    points: list[tuple[str, str, str]]
    area: str
    line: str


@dataclass(frozen=True)
class Picture:
    """Of one goal: how good the result is after so many answers, under both rules."""

    goal: Goal
    title: str
    measure: str
    sentence: str
    n_answers: list[str]
    balanced: Band
    chosen: Band
    # Lines across, as (y, label).
    lines: list[tuple[float, str]]

    @property
    def rows(self) -> list[tuple[str, tuple[str, str, str], tuple[str, str, str]]]:
        return list(zip(self.n_answers, self.balanced.points, self.chosen.points, strict=True))

    @property
    def most(self) -> str:
        return self.n_answers[-1]


@dataclass(frozen=True)
class Expectations:
    """n_items: of the project, or the example where there are none yet.   simulated: the most items that were."""

    pictures: list[Picture]
    n_items: int
    is_example: bool
    is_scaled: bool
    n_rankings: int
    is_of_pairs: bool

    @property
    def simulated(self) -> int:
        return largest_size()


def expectations_of(project: Project) -> Expectations:
    """Return what to expect of the project's goal first, then of the others; one query."""
    there = project.items.filter(retired_at=None).aggregate(n=Count("pk"), contexts=Count("context", distinct=True))
    n_items, n_rankings = there["n"] or EXAMPLE_ITEMS, max(there["contexts"], 1)
    each = round(n_items / n_rankings)
    held = np.inf if project.overlap == NO_LIMIT else n_rankings * comb(each, project.k) * project.overlap
    worth = pairs_per_answer(TASK_TYPES[project.task_type].design, project.k)
    pictures, is_scaled = [], False
    for goal, size in goals_of(project, each):
        found = expected_quality(each, goal, size)
        n_answers = found.n_pairs * n_rankings / worth
        kept = n_answers <= held
        is_scaled |= found.is_scaled
        if kept.sum() >= MIN_POINTS:
            pictures.append(draw(goal, size, n_answers[kept], found.balanced[kept], found.chosen[kept]))
    return Expectations(pictures, n_items, not there["n"], is_scaled, n_rankings, project.k == 2)


def goals_of(project: Project, n_items: int) -> list[tuple[Goal, int]]:
    """Return the goals that these settings describe, that of the project's own rule first."""
    if n_items < 2:
        return []
    found: list[tuple[Goal, int]] = [("whole", 0)]
    if project.top_k < n_items:
        found.append(("best", project.top_k))
    n_classes = len(project.grades or project.class_shares)
    if 2 <= n_classes <= n_items:
        found.append(("classes", n_classes))
    own = {Policy.BALANCED: "whole"}.get(Policy(project.policy), project.policy)
    return sorted(found, key=lambda one: one[0] != own)


def draw(goal: Goal, size: int, n_answers: Floats, balanced: Floats, chosen: Floats) -> Picture:
    low = min(0.0, float(np.min([balanced, chosen])))
    scale = Scale(low, 1.0)
    lines = [(y_of(value, scale), label) for value, label, _zero in scale.tick_values(4)]
    places = (WIDTH * n_answers / n_answers[-1]).tolist()
    return Picture(
        goal,
        str(LABELS[goal]),
        measure_of(goal, size),
        sentence_of(n_answers, balanced, chosen),
        [format_integer(round(one)) for one in n_answers],
        band_of(places, balanced, scale),
        band_of(places, chosen, scale),
        lines,
    )


def measure_of(goal: Goal, size: int) -> str:
    if goal == "best" and size == 1:
        return _("How often the best item is found.")
    if goal == "best":
        return _("Share of the best %(k)d that are found.") % {"k": size}
    if goal == "classes":
        return _("Share of the items that are in their true one of %(n)d classes.") % {"n": size}
    return _("Kendall’s tau with the true order: 1 is the same order, 0 is chance.")


def sentence_of(n_answers: Floats, balanced: Floats, chosen: Floats) -> str:
    """Return what is reached in the middle and at the end, and with how many answers the chosen get as far."""
    last = len(n_answers) - 1
    sentence = _(
        "After %(n)s answers about %(balanced)s with balanced questions (in nine of ten simulations %(balanced_low)s "
        "to %(balanced_high)s), about %(chosen)s with chosen ones (%(chosen_low)s to %(chosen_high)s)."
    ) % {
        "n": format_integer(round(n_answers[last])),
        **texts("balanced", balanced[last]),
        **texts("chosen", chosen[last]),
    }
    reached = answers_for(n_answers, chosen[:, 1], balanced[last, 1])
    if reached is None:
        return sentence
    return f"{sentence} " + _("Chosen questions get as far as balanced ones after about %(n)s answers.") % {
        "n": format_integer(round(reached))
    }


def texts(name: str, point: Floats) -> dict[str, str]:
    low, mean, high = (format_number(one, DECIMALS) for one in point.tolist())
    return {f"{name}_low": low, name: mean, f"{name}_high": high}


def answers_for(n_answers: Floats, means: Floats, wanted: float) -> float | None:
    """Return the number of answers at which the means first reach what is wanted; None where they never do."""
    above = np.flatnonzero(means >= wanted)
    if not len(above):
        return None
    first = int(above[0])
    if first == 0:
        return float(n_answers[0])
    return float(np.interp(wanted, means[first - 1 : first + 1], n_answers[first - 1 : first + 1]))


def band_of(places: Sequence[float], values: Floats, scale: Scale) -> Band:
    """Return the paths of [low, mean, high] at places along the drawing."""
    low, mean, high = (
        [f"{x:.1f} {y_of(value, scale)}" for x, value in zip(places, column, strict=True)]
        for column in values.T.tolist()
    )
    area = "M" + "L".join([*high, *reversed(low)]) + "Z"
    points = [tuple(format_number(one, DECIMALS) for one in row) for row in values.tolist()]
    return Band([(a, b, c) for a, b, c in points], area, "M" + "L".join(mean))


def y_of(value: float, scale: Scale) -> float:
    return round(HEIGHT * (1 - scale.share(value)), 1)
