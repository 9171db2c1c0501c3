"""Reads the grades of the published ranking: P(grade) of each item, and which boundaries are settled."""

from dataclasses import dataclass

import numpy as np
from django.core.paginator import Page, Paginator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.numbers import format_integer, format_number
from annotate.dashboard.grades.plot import GradesPlot, draw_grades
from annotate.fitting.grades import Floats, Graded, grade_estimates, score_at
from annotate.models import Item, Project
from models_engine.models import Estimate, Fit

PAGE_SIZE = 50
SURE = 0.95


@dataclass(frozen=True)
class GradedItem:
    """probabilities: of each grade, the best first.   grade: the likeliest, p its probability."""

    item: Item
    estimate: Estimate
    names: list[str]
    probabilities: list[float]
    grade: str
    p: float

    @property
    def is_sure(self) -> bool:
        return self.p >= SURE

    @property
    def cells(self) -> list[tuple[str, float, bool]]:
        """Of each grade its name, its probability, and whether it is the likeliest."""
        return [(name, p, p == self.p) for name, p in zip(self.names, self.probabilities, strict=True)]


@dataclass(frozen=True)
class GradeLine:
    """A grade: from which score it goes, None for the last; how many items are expected in it; is_settled: its lower
    boundary."""

    name: str
    begins: float | None
    expected: float
    is_settled: bool | None
    n_doubtful: int | None


@dataclass(frozen=True)
class Grades:
    lines: list[GradeLine]
    rows: list[GradedItem]
    page: Page
    plot: GradesPlot
    n_items: int
    n_sure: int
    n_elsewhere: int

    @property
    def names(self) -> list[str]:
        return [line.name for line in self.lines]

    @property
    def n_boundaries(self) -> int:
        return len(self.lines) - 1

    @property
    def n_settled(self) -> int:
        return sum(line.is_settled is True for line in self.lines)

    @property
    def sentence(self) -> str:
        counts = ", ".join(
            _("%(n)s × “%(name)s”") % {"n": format_number(line.expected, 1), "name": line.name} for line in self.lines
        )
        sentences = [_("Expected: %(counts)s.") % {"counts": counts}]
        text = ngettext(
            "The grade of %(sure)s of %(n)s item is 95%% sure.",
            "The grades of %(sure)s of %(n)s items are 95%% sure.",
            self.n_items,
        )
        sentences.append(text % {"sure": format_integer(self.n_sure), "n": format_integer(self.n_items)})
        text = ngettext(
            "%(settled)d of %(n)d boundary is settled.",
            "%(settled)d of %(n)d boundaries are settled.",
            self.n_boundaries,
        )
        sentences.append(text % {"settled": self.n_settled, "n": self.n_boundaries})
        return " ".join(sentences)


def grades_of(project: Project, fit: Fit | None, page: str = "1", size: int = PAGE_SIZE) -> Grades | None:
    """One page of the graded items; None before a fit with scores, and where the project has no grades."""
    if fit is None or len(project.grades) < 2:
        return None
    estimates = {row.item_id: row for row in Estimate.objects.filter(fit=fit, part=0, score__isnull=False)}
    graded = grade_estimates(project, estimates.values())
    if graded is None:
        return None
    shown = Paginator(graded.keys, size).get_page(page)
    probabilities = graded.probabilities()
    rows = graded_items(project, graded, probabilities, estimates, shown)
    return Grades(
        lines=grade_lines(project, graded, probabilities),
        rows=rows,
        page=shown,
        plot=draw_grades(
            [(row.item.shown_as(project.items_shown_by), row.estimate) for row in rows], cuts_shown(project, graded)
        ),
        n_items=len(graded.keys),
        n_sure=int((probabilities.max(axis=1) >= SURE).sum()),
        n_elsewhere=Estimate.objects.filter(fit=fit).count() - len(graded.keys),
    )


def graded_items(
    project: Project, graded: Graded, probabilities: Floats, estimates: dict[int, Estimate], shown: Page
) -> list[GradedItem]:
    items = Item.objects.in_bulk(list(shown.object_list))
    first, names = shown.start_index() - 1, [grade["name"] for grade in project.grades]
    found = []
    for place, key in enumerate(shown.object_list, first):
        if key in items:
            own = probabilities[place].tolist()
            best = int(np.argmax(own))
            found.append(GradedItem(items[key], estimates[key], names, own, names[best], own[best]))
    return found


def grade_lines(project: Project, graded: Graded, probabilities: Floats) -> list[GradeLine]:
    states, expected = graded.states(), probabilities.sum(axis=0).tolist()
    lines = [
        GradeLine(grade["name"], score_at(state.boundary), n, state.is_settled, state.n_doubtful)
        for grade, state, n in zip(project.grades, states, expected, strict=False)
    ]
    return [*lines, GradeLine(project.grades[-1]["name"], None, expected[-1], None, None)]


def cuts_shown(project: Project, graded: Graded) -> list[tuple[str, float]]:
    """Each boundary's grade above it, and its score; the highest first."""
    cuts = graded.cuts[::-1].tolist()
    return [(grade["name"], score_at(cut)) for grade, cut in zip(project.grades, cuts, strict=False)]
