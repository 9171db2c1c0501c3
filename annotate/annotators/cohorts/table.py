"""Defines the export table of leaderboards by cohort: those of the latest comparison by each property."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from annotate.annotators.cohorts.groupings import Grouping, groupings
from annotate.annotators.cohorts.queries import comparisons
from annotate.criteria import Criterion
from annotate.dashboard.leaderboard.table import COLUMNS as BOARD_COLUMNS
from annotate.dashboard.leaderboard.table import FIGURES, MORE
from annotate.files.columns import Column, Kind, Row
from annotate.models import CohortComparison

NAMES = ("competitor", *FIGURES, *MORE, "fit")
BY_NAME = {column.name: column for column in BOARD_COLUMNS}
COLUMNS = [
    Column("by", _("What divides the annotators.")),
    Column("cohort", _("The cohort: the value that its annotators have; empty for everybody else.")),
    *(BY_NAME[name] for name in NAMES[:-1]),
    Column("effect", _("How much better it is in this cohort than elsewhere, in logits."), Kind.NUMBER),
    Column("effect_sd", _("Posterior standard deviation of that."), Kind.NUMBER),
    BY_NAME["fit"],
    Column("board", _("all, or style: with the chosen features held equal.")),
]


def rows(criterion: Criterion) -> Iterator[Row]:
    """Yield rows of cohorts with enough answers."""
    found = groupings(criterion)
    ready = comparisons(criterion).filter(status=CohortComparison.Status.READY).defer(None).defer("arrays")
    done: set[str] = set()
    for row in ready:
        if row.by in done or not row.boards.get("cohorts"):
            continue
        done.add(row.by)
        division = next((one for one in found if one.key == row.by), Grouping(row.by, row.by, []))
        for board in row.boards["cohorts"]:
            cohort = division.named(board["key"]) if board["key"] else ""
            for kind, one in (
                *(("all", one) for one in board["rows"]),
                *(("style", one) for one in board.get("equal", ())),
            ):
                figures = (one[name] for name in (*FIGURES, *MORE))
                effect = (one["effect"], one["effect_sd"])
                yield [division.name, cohort, one["name"], *figures, *effect, row.fit_number, kind]
