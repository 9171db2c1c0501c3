"""Reads the weighted total of the competitors behind a project's items, or says why there is none; its export."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.core.quoting import quoted
from annotate.criteria import named_criteria
from annotate.dashboard.leaderboard.table import COLUMNS as BOARD_COLUMNS
from annotate.files.columns import Column, Kind, Row
from annotate.fitting.stored_columns import NOT_STORED
from annotate.models import OVERALL, DerivedRanking, Project

FIGURES = ("rank", "rank_low", "rank_high", "score", "score_low", "score_high", "utility", "sd", "p_first", "p_top_k")
SAME = {one.name: one for one in BOARD_COLUMNS}


@dataclass(frozen=True)
class CompetitorTotal:
    """why: empty where there are rows, else why there are none.   rows: as annotate.fitting.leaderboard.total stores
    them, each with "by", the scores by name of the criterion."""

    why: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    k: int = 1
    converged: bool = True
    has_contexts: bool = False

    @property
    def shows_top(self) -> bool:
        return any(row["p_top_k"] is not None for row in self.rows)


def competitor_total(project: Project, row: DerivedRanking | None) -> CompetitorTotal | None:
    """Return the total of the competitors without a further query; None where there are no competitors or criteria."""
    if not project.has_competitors or not project.criteria:
        return None
    stored = row.details.get("leaderboard") if row else None
    if stored is None:
        return CompetitorTotal(_("It appears here with the next update of the ranking."))
    names = {one.number: one.name for one in named_criteria(project)}
    if stored["why"]:
        return CompetitorTotal(why_none(stored, names), left_out=stored.get("left_out", []))
    rows = [
        {**one, "by": [(names.get(number, str(number)), score) for number, score in one["scores"]]}
        for one in stored["rows"]
    ]
    return CompetitorTotal(
        why="",
        rows=rows,
        names=[name for name, _score in rows[0]["by"]],
        **{name: stored[name] for name in ("left_out", "k", "converged", "has_contexts")},
    )


def why_none(stored: dict[str, Any], names: dict[int, str]) -> str:
    if stored["why"] == "missing":
        if set(stored["missing"].values()) == {NOT_STORED}:
            return _("It appears here with the next update of the ranking.")
        missing = ", ".join(
            quoted(names.get(int(one), one)) for one, why in stored["missing"].items() if why != NOT_STORED
        )
        return _(
            "No leaderboard yet by %(names)s. The total appears once every criterion that counts has its leaderboard."
        ) % {"names": missing}
    if stored["why"] == "few":
        return _("Fewer than two competitors have a place by every criterion that counts. Collect more answers.")
    return _("It could not be computed from the newest answers. The leaderboards by each criterion are not affected.")


def columns(project: Project) -> list[Column]:
    """Return the columns: those of every project, then one for each criterion."""
    meaning = gettext_lazy("Score by the criterion “{name}”; empty where it does not count.")
    own = [
        Column(f"score_{number}", format_lazy(meaning, name=one["name"]), Kind.NUMBER)
        for number, one in enumerate(project.criteria, 1)
    ]
    return [
        SAME["competitor"],
        Column("rank", gettext_lazy("Place by the weighted total of the criteria; 1 is the best."), Kind.INTEGER),
        SAME["rank_low"],
        SAME["rank_high"],
        Column(
            "score",
            gettext_lazy("Total as a score from 0 to 100; a competitor that is average by every criterion has 50."),
            Kind.NUMBER,
        ),
        SAME["score_low"],
        SAME["score_high"],
        Column("total", gettext_lazy("Weighted mean of its utilities, in logits of an average answer."), Kind.NUMBER),
        Column("sd", gettext_lazy("Posterior standard deviation of the total."), Kind.NUMBER),
        Column("p_first", gettext_lazy("Probability of being the best competitor."), Kind.NUMBER),
        SAME["p_top_k"],
        Column("n_contexts", gettext_lazy("Prompts or contexts, by the criterion that has the fewest."), Kind.INTEGER),
        Column("n_labels", gettext_lazy("Answers, by the criterion that has the fewest."), Kind.INTEGER),
        SAME["fit"],
        *own,
    ]


def rows(project: Project) -> Iterator[Row]:
    stored = DerivedRanking.objects.filter(project=project, criterion=OVERALL, track="").first()
    total = competitor_total(project, stored)
    if total is None or stored is None:
        return
    for row in total.rows:
        scores = dict(row["scores"])
        own = [scores.get(number) for number in range(1, len(project.criteria) + 1)]
        yield [row["name"], *(row[name] for name in (*FIGURES, "n_contexts", "n_labels")), stored.fit_number, *own]
