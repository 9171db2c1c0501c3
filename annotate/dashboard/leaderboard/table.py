"""Defines the export tables of the leaderboard: its rows, and every pair."""

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _

from annotate.criteria import Criterion
from annotate.dashboard.leaderboard.queries import stored_board
from annotate.files.columns import Column, Kind, Row
from annotate.fitting.published import published_fit

FIGURES = ("part", "rank", "rank_low", "rank_high", "score", "score_low", "score_high", "utility", "sd", "low", "high")
MORE = ("p_top_k", "tier", "rank_class", "next_state", "n_contexts", "n_items", "n_labels", "n_annotators")

COLUMNS = [
    Column("board", _("all; category: answers of one category; or style: with the chosen features held equal.")),
    Column("category", _("The category, a tag that all items of a context carry; otherwise empty.")),
    Column("competitor", _("Who or what made the items.")),
    Column("part", _("Number of the connected part; 0 is the largest."), Kind.INTEGER),
    Column("rank", _("Place within its connected part; 1 is the best."), Kind.INTEGER),
    # xgettext:no-python-format
    Column("rank_low", _("Best place inside the 90% interval of the rank."), Kind.INTEGER),
    # xgettext:no-python-format
    Column("rank_high", _("Worst place inside the 90% interval of the rank."), Kind.INTEGER),
    Column(
        "score",
        _("Chance, in per cent, that a new item of it is preferred to one of an average competitor."),
        Kind.NUMBER,
    ),
    # xgettext:no-python-format
    Column("score_low", _("Lower end of the 90% interval of the score."), Kind.NUMBER),
    # xgettext:no-python-format
    Column("score_high", _("Upper end of the 90% interval of the score."), Kind.NUMBER),
    Column("utility", _("Worth in logits. Only differences mean something."), Kind.NUMBER),
    Column("sd", _("Posterior standard deviation of the utility."), Kind.NUMBER),
    # xgettext:no-python-format
    Column("low", _("Lower end of the 90% interval of the utility."), Kind.NUMBER),
    # xgettext:no-python-format
    Column("high", _("Upper end of the 90% interval of the utility."), Kind.NUMBER),
    Column(
        "p_top_k",
        _("Probability of being among the best k; empty where k or fewer have a place."),
        Kind.NUMBER,
    ),
    Column(
        "tier", _("Number of the tier: every item of a tier is clearly above every item of the next."), Kind.INTEGER
    ),
    Column(
        "rank_class",
        _("Number of the class: a class begins with an item that is clearly below the first item of the class above."),
        Kind.INTEGER,
    ),
    Column(
        "next_state",
        _(
            "Compared with the item one place below: separated, tied, not_enough (not enough data), or last (no "
            "item below)."
        ),
    ),
    Column("n_contexts", _("Number of prompts or contexts in which it was compared."), Kind.INTEGER),
    Column("n_items", _("Number of its items that were compared."), Kind.INTEGER),
    Column("n_labels", _("Number of answers that showed one of its items."), Kind.INTEGER),
    Column("n_annotators", _("Number of people who gave them."), Kind.INTEGER),
    Column("fit", _("Number of the fit that these figures come from."), Kind.INTEGER),
    Column("effect", _("Of a category: how much better it is there than elsewhere, in logits."), Kind.NUMBER),
    Column("effect_sd", _("Posterior standard deviation of that."), Kind.NUMBER),
]

PAIR_COLUMNS = [
    Column("competitor", _("Who or what made the items.")),
    Column("other", _("The competitor that it is set against.")),
    Column("wins", _("How often it was preferred to the other."), Kind.INTEGER),
    Column("ties", _("How often the two were tied."), Kind.INTEGER),
    Column("p_better", _("Probability that it is better on average; empty where nothing connects them."), Kind.NUMBER),
    Column("p_better_on_new_context", _("Probability that its item for a new prompt is the better one."), Kind.NUMBER),
    Column("p_answer_on_new_context", _("Probability that a new answer prefers its item, ties left out."), Kind.NUMBER),
    Column("fit", _("Number of the fit that these figures come from."), Kind.INTEGER),
]


def rows(criterion: Criterion) -> Iterator[Row]:
    fit = published_fit(criterion)
    board = stored_board(fit)
    if fit is None or board is None or board["problem"]:
        return
    parts = [("all", "", board["rows"]), *(("category", tag["name"], tag["rows"]) for tag in board["tags"])]
    if board["style"]:
        parts.append(("style", "", board["style"]["rows"]))
    for kind, category, found in parts:
        for row in found:
            yield [kind, category, row["name"], *(row[name] for name in (*FIGURES, *MORE)), fit.number, *effect_of(row)]


def effect_of(row: dict[str, Any]) -> list[float | None]:
    return [row.get("effect"), row.get("effect_sd")]


def pair_rows(criterion: Criterion) -> Iterator[Row]:
    fit = published_fit(criterion)
    board = stored_board(fit)
    if fit is None or board is None or board["problem"]:
        return
    names = [row["name"] for row in board["rows"]]
    for a, name in enumerate(names):
        for b, other in enumerate(names):
            if a != b:
                chances = [board[what][a][b] for what in ("better", "better_on_new", "expected")]
                yield [name, other, board["wins"][a][b], board["ties"][a][b], *chances, fit.number]
