"""Reads the leaderboard that goes with a fit: rows with their marks, tables of pairs, one pair, categories, style."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotate.core.charts import Interval, Scale, Tick
from annotate.core.stored_messages import render_message
from annotate.dashboard.leaderboard.plot import BoardPlot, board_plot
from annotate.dashboard.leaderboard.shine import Shine, shine_of
from annotate.dashboard.ranking.classes import RankClass
from annotate.dashboard.ranking.headline import Leader, lead_sentence
from annotate.models import Project
from models_engine.models import Estimate, Fit, Leaderboard

MAX_MATRIX = 20  # competitors in the table of pairs; the two to compare are chosen from all
AVERAGE = 50.0
LEVELS = 5  # of colour either side of one half
TIED = Estimate.NextState.TIED
Row = dict[str, Any]


@dataclass(frozen=True)
class Section:
    """The rows of one connected part, best first, each with its mark on the scale."""

    number: int
    rows: list[Row]


@dataclass(frozen=True)
class Cell:
    """What the row's competitor has against the column's: None on the diagonal and between parts.

    level: the strength of the colour, 0 to 5; ahead: whether the row is."""

    expected: float | None
    wins: int
    n: int
    level: int = 0
    ahead: bool = False


@dataclass(frozen=True)
class Pair:
    """Two competitors; the chances are those of the first, None where nothing connects them."""

    first: str
    second: str
    better: float | None
    better_on_new: float | None
    expected: float | None
    wins: int
    losses: int
    ties: int

    @property
    def n(self) -> int:
        return self.wins + self.losses + self.ties


@dataclass(frozen=True)
class Category:
    name: str
    n_labels: int
    sections: list[Section]


@dataclass(frozen=True)
class StyleRow:
    """A competitor's row of the board as it is, and of the one with the features held equal."""

    plain: Row
    equal: Row


@dataclass(frozen=True)
class LeaderboardPage:
    """problem: why there is no board; then nothing else holds."""

    problem: str = ""
    board: dict[str, Any] = field(default_factory=dict)
    headline: SafeString = field(default_factory=SafeString)
    sections: list[Section] = field(default_factory=list)
    scale: Scale = field(default_factory=lambda: Scale(0, 100, AVERAGE))
    plot: BoardPlot | None = None
    matrix: list[tuple[str, list[Cell]]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    pair: Pair | None = None
    category: Category | None = None
    shine: Shine | None = None
    style_rows: list[StyleRow] = field(default_factory=list)

    @property
    def shows_top(self) -> bool:
        """Tell whether P(top k) says anything: not where k competitors or fewer have a place."""
        return any(row["p_top_k"] is not None for row in self.board.get("rows", []))

    @property
    def ticks(self) -> list[Tick]:
        return self.scale.ticks()

    @property
    def n_hidden(self) -> int:
        """Return how many competitors the table of pairs leaves out."""
        return max(0, len(self.names) - MAX_MATRIX)


def stored_board(fit: Fit | None) -> dict[str, Any] | None:
    """Return the JSON of annotate.fitting.leaderboard.computing, None where the fit has none."""
    return Leaderboard.objects.filter(fit=fit).values_list("board", flat=True).first() if fit else None


def leaderboard_page(fit: Fit | None, asked: Mapping[str, str]) -> LeaderboardPage | None:
    """Return the page, None without a board. asked: a and b, the names of a pair; category; of, whose categories. What
    is not there is ignored."""
    board = stored_board(fit)
    if board is None:
        return None
    if board["problem"]:
        return LeaderboardPage(problem=render_message(board["problem"]))
    names = [row["name"] for row in board["rows"]]
    scale = score_scale(board)
    sections = sections_of(board["rows"], scale)
    return LeaderboardPage(
        board=board,
        headline=headline_of(board),
        sections=sections,
        scale=scale,
        plot=board_plot(board["rows"], scale),
        matrix=matrix_of(board, names),
        names=names,
        pair=pair_of(board, names, asked),
        category=category_of(board, scale, asked.get("category", "")),
        shine=shine_of(board, asked),
        style_rows=style_rows(board),
    )


def board_headline(project: Project, fit: Fit | None) -> SafeString | None:
    """Return the sentence that says who leads, None where there is no board."""
    board = stored_board(fit) if project.has_competitors else None
    return headline_of(board) if board and not board["problem"] else None


def headline_of(board: dict[str, Any]) -> SafeString:
    if not board["converged"]:
        return format_html("{}", _("No result to rely on yet: the calculation did not converge."))
    rows = [row for row in board["rows"] if row["part"] == 0]
    leaders = [Leader(row["name"], row["rank_low"], row["rank_high"]) for row in rows[:2]]
    if len(leaders) < 2:
        return format_html("{}", _("Nothing to rank yet: no two competitors have been compared."))
    return lead_sentence(classes_of_rows(rows)[:2], leaders, len(rows))


def classes_of_rows(rows: Sequence[Row]) -> list[RankClass]:
    found = []
    for number, group in groupby(rows, key=lambda row: row["rank_class"]):
        own = list(group)
        n_tied = sum(row["next_state"] == TIED for row in own)
        found.append(RankClass(own[0]["part"], number, own[0]["rank"], own[-1]["rank"], n_tied, len(rows)))
    return found


def score_scale(board: dict[str, Any]) -> Scale:
    return scale_of_rows([*board["rows"], *(row for tag in board["tags"] for row in tag["rows"])])


def scale_of_rows(rows: Sequence[Row]) -> Scale:
    """Return a scale that holds the intervals of all scores, and the average."""
    low = min((row["score_low"] for row in rows), default=AVERAGE)
    high = max((row["score_high"] for row in rows), default=AVERAGE)
    return Scale.around(min(low, AVERAGE), max(high, AVERAGE), reference=AVERAGE)


def sections_of(rows: Sequence[Row], scale: Scale) -> list[Section]:
    return [
        Section(part + 1, [{**row, "mark": mark_of(row, scale)} for row in group])
        for part, group in groupby(rows, key=lambda row: row["part"])
    ]


def mark_of(row: Row, scale: Scale) -> Interval:
    return scale.interval(row["score_low"], row["score"], row["score_high"])


def matrix_of(board: dict[str, Any], names: list[str]) -> list[tuple[str, list[Cell]]]:
    shown = range(min(len(names), MAX_MATRIX))
    return [(names[a], [cell_of(board, a, b) for b in shown]) for a in shown]


def cell_of(board: dict[str, Any], a: int, b: int) -> Cell:
    wins, n = board["wins"][a][b], board["wins"][a][b] + board["wins"][b][a] + board["ties"][a][b]
    expected = None if a == b else board["expected"][a][b]
    if expected is None:
        return Cell(None, wins, n)
    return Cell(expected, wins, n, min(LEVELS, round(2 * LEVELS * abs(expected - 0.5))), expected > 0.5)


def pair_of(board: dict[str, Any], names: list[str], asked: Mapping[str, str]) -> Pair | None:
    """Return the two that are asked for, else the first two."""
    if len(names) < 2:
        return None
    first = names.index(asked["a"]) if asked.get("a") in names else 0
    second = names.index(asked["b"]) if asked.get("b") in names else int(first == 0)
    chances = {what: board[what][first][second] for what in ("better", "better_on_new", "expected")}
    if first == second:
        chances = dict.fromkeys(chances)
    wins, losses = board["wins"][first][second], board["wins"][second][first]
    return Pair(names[first], names[second], **chances, wins=wins, losses=losses, ties=board["ties"][first][second])


def category_of(board: dict[str, Any], scale: Scale, name: str) -> Category | None:
    found = next((tag for tag in board["tags"] if tag["name"] == name), None)
    return Category(name, found["n_labels"], sections_of(found["rows"], scale)) if found else None


def style_rows(board: dict[str, Any]) -> list[StyleRow]:
    return rows_side_by_side(board["rows"], board["style"]["rows"]) if board["style"] else []


def rows_side_by_side(rows: Sequence[Row], at_equal_style: Sequence[Row]) -> list[StyleRow]:
    equal = {row["name"]: row for row in at_equal_style}
    return [StyleRow(row, equal[row["name"]]) for row in rows if row["name"] in equal]
