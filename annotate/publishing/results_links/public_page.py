"""Reads what the published ranking tells the public: places, scores and won duels in plain words."""

from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.charts import Interval, Scale
from annotate.core.errors import ProjectNotOpen
from annotate.core.numbers import format_integer, format_percent
from annotate.dashboard.ranking.queries import Ranking, RankingRow
from annotate.fitting.stored_duels import Duels, duels_of
from annotate.labelling.asked_tasks import is_mixed, shows_pairs_only
from annotate.labelling.eligibility import check_open
from annotate.models import Item, Project
from annotate.participation.rules import participation_rules
from models_engine.models import Fit

FULL_SCALE = Scale(0.0, 100.0, 50.0)  # of the scores


@dataclass(frozen=True)
class PublicRow:
    """One item, and the line that names it to the public. mark: its score and the range of it along 0 to 100; None
    where it has no score.   part: number of the part that the place is of, where the page does not say that elsewhere.
    """

    item: Item
    title: str
    place: int
    place_low: int
    place_high: int
    score: float | None
    score_low: float | None
    score_high: float | None
    mark: Interval | None
    duels: Duels | None
    part: int | None = None

    @property
    def won(self) -> str:
        """Return the share of duels won in words; empty where it is not known."""
        if self.duels is None:
            return ""
        words = ngettext("won %(share)s of %(n)s duel", "won %(share)s of %(n)s duels", self.duels.n)
        return words % {"share": format_percent(self.duels.share), "n": format_integer(self.duels.n)}


@dataclass(frozen=True)
class PublicSection:
    """Items that can be compared with each other. about: what they share, where there are several sections."""

    number: int
    about: str
    rows: list[PublicRow]


@dataclass(frozen=True)
class PublicRanking:
    """predicted: items that nobody has compared, with the place predicted from what they look like.   n_not_compared:
    those without."""

    sections: list[PublicSection]
    predicted: list[PublicRow]
    n_not_compared: int
    duels_explained: str


def public_ranking(project: Project, fit: Fit, found: Ranking) -> PublicRanking:
    """Return a page of the ranking as the public sees it."""
    duels = duels_of(fit)
    compared = [section for section in found.sections if section.part is not None]
    alone = [section for section in found.sections if section.part is None]
    return PublicRanking(
        sections=[
            PublicSection(
                section.number,
                section.tag or section.about if found.n_parts > 1 else "",
                [public_row(row, duels.get(row.item.pk)) for row in section.rows],
            )
            for section in compared
        ],
        predicted=[predicted_row(row, found.n_parts) for one in alone if one.is_predicted for row in one.rows],
        n_not_compared=sum(section.n_items for section in alone if not section.is_predicted),
        duels_explained=explain_duels(project) if duels else "",
    )


def public_row(row: RankingRow, duels: Duels | None) -> PublicRow:
    e = row.estimate
    low, score, high = e.score_low, e.score, e.score_high
    known = low is not None and score is not None and high is not None
    return PublicRow(
        item=row.item,
        title=row.title,
        place=e.rank,
        place_low=e.rank_low,
        place_high=e.rank_high,
        score=score,
        score_low=low,
        score_high=high,
        mark=FULL_SCALE.interval(low, score, high) if known else None,  # type: ignore[arg-type]
        duels=duels,
    )


def predicted_row(row: RankingRow, n_parts: int) -> PublicRow:
    found = public_row(row, None)
    among = row.estimate.predicted_in
    return found if n_parts < 2 or among is None else replace(found, part=among + 1)


def explain_duels(project: Project) -> str:
    """Say what a duel is in this project's task, and how equal answers count."""
    if shows_pairs_only(project):
        return _("A duel is one person's answer about two of them; “equally good” counts as half won.")
    if is_mixed(project):
        return _("Each answer counts as one duel between every two items that it puts in order.")
    return _(
        "People saw %(k)d at a time. Each answer counts as one duel between every two of them that it puts in order."
    ) % {"k": project.k}


def invitation_token(project: Project, now: datetime) -> str:
    """Return the join link's token while anybody may take part by it; else nothing."""
    try:
        check_open(project, now)
    except ProjectNotOpen:
        return ""
    return project.join_token if participation_rules(project).open_link else ""
