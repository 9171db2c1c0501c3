"""Defines the export table of the weighted total."""

from collections.abc import Iterator

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from annotate.dashboard.overall.queries import overall_of
from annotate.files.columns import Column, Kind, Row
from annotate.models import Project

COLUMNS = [
    Column("item", _("The item's key.")),
    Column("title", _("The item's title; where it has none, its text in one line, cut at 90 characters.")),
    Column("rank", _("Place by the weighted total of the criteria; 1 is the best."), Kind.INTEGER),
    # xgettext:no-python-format
    Column("rank_low", _("Best place inside the 90% interval of the rank."), Kind.INTEGER),
    # xgettext:no-python-format
    Column("rank_high", _("Worst place inside the 90% interval of the rank."), Kind.INTEGER),
    Column(
        "score", _("Total as a score from 0 to 100; an item that is average by every criterion has 50."), Kind.NUMBER
    ),
    # xgettext:no-python-format
    Column("score_low", _("Lower end of the 90% interval of the score."), Kind.NUMBER),
    # xgettext:no-python-format
    Column("score_high", _("Upper end of the 90% interval of the score."), Kind.NUMBER),
    Column("total", _("Weighted mean of the item's utilities, in logits of an average person's answer."), Kind.NUMBER),
    Column("sd", _("Posterior standard deviation of the total."), Kind.NUMBER),
    Column("p_first", _("Probability of being the best item."), Kind.NUMBER),
    Column("p_top_k", _("Probability of being among the best k; k is a setting of the project."), Kind.NUMBER),
    Column("fit", _("Number of the fit that these figures come from."), Kind.INTEGER),
]
EVERYTHING = 10**9


def columns(project: Project) -> list[Column]:
    """Return the columns: those of every project, then one for each criterion."""
    meaning = _("Score by the criterion “{name}”; empty where it does not count.")
    own = [
        Column(f"score_{number}", format_lazy(meaning, name=one["name"]), Kind.NUMBER)
        for number, one in enumerate(project.criteria, 1)
    ]
    return [*COLUMNS, *own]


def rows(project: Project) -> Iterator[Row]:
    found = overall_of(project, size=EVERYTHING)
    counted = [one.weight > 0 for one in found.criteria]
    for one in found.rows:
        place, scores = one.place, iter(one.scores)
        own = [next(scores)[1] if counts else None for counts in counted]
        yield [
            *(one.item.key, one.item.title, place.rank, place.rank_low, place.rank_high),
            *(place.score, place.score_low, place.score_high, place.utility, place.sd),
            *(place.p_first, place.p_top, found.fit, *own),
        ]
