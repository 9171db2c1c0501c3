"""Defines the export table of grades: the likeliest grade of every item, and the probability of each."""

from collections.abc import Iterator

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from annotate.criteria import Criterion
from annotate.dashboard.grades.queries import grades_of
from annotate.files.columns import Column, Kind, Row
from annotate.fitting.published import published_fit
from annotate.models import Project

COLUMNS = [
    Column("item", _("The item's key.")),
    Column("title", _("The item's title; where it has none, its text in one line, cut at 90 characters.")),
    Column("score", _("Chance, in per cent, to be preferred to an average item."), Kind.NUMBER),
    Column("grade", _("The likeliest grade; empty where the project has no grades.")),
    Column("p_grade", _("Its probability."), Kind.NUMBER),
    Column("fit", _("Number of the fit that these figures come from."), Kind.INTEGER),
]
EVERYTHING = 10**9


def columns(project: Project) -> list[Column]:
    """Return the columns: those of every project, then one for each grade, the best first."""
    meaning = _("Probability of the grade “{name}”.")
    own = [
        Column(f"p_{number}", format_lazy(meaning, name=grade["name"]), Kind.NUMBER)
        for number, grade in enumerate(project.grades, 1)
    ]
    return [*COLUMNS, *own]


def rows(criterion: Criterion) -> Iterator[Row]:
    fit = published_fit(criterion)
    found = grades_of(criterion.project, fit, size=EVERYTHING)
    if fit is None or found is None:
        return
    for one in found.rows:
        yield [one.item.key, one.item.title, one.estimate.score, one.grade, one.p, fit.number, *one.probabilities]
