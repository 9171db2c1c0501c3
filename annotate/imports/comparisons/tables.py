"""Comparisons made elsewhere, as tables write them: crowd-kit, Arena, All Our Ideas, our own export, and the like."""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.files.cells import shortened
from annotate.files.limits import Unusable
from annotate.files.sheets import SheetRow
from annotate.files.writers import without_apostrophes
from annotate.imports.comparisons.actions import SIDES, Comparison
from annotate.imports.comparisons.sets import list_text, order_in, shared_in, shown_in
from annotate.labelling.actions import MAX_RESPONSE_MS
from annotate.models import Label

FORMATS = {
    "pairs": gettext_lazy("Two items and which was preferred (crowd-kit, Arena)"),
    "winners": gettext_lazy("Winner and loser (All Our Ideas)"),
    "labels": gettext_lazy("Labels exported from Crowdrank"),
    "sets": gettext_lazy("Answers about sets, as the engine reads them (best and worst, chosen, top, ranks)"),
    "tools": gettext_lazy("Comparisons made with Label Studio or Potato (JSON)"),
    "indices": gettext_lazy("Pairs of numbers, winner first (choix)"),
    "orders": gettext_lazy("Orders of items (PrefLib: soc, soi, toc, toi)"),
}
TABLES = ("pairs", "winners", "labels", "tools")
COLUMNS = {
    "annotator": gettext_lazy("Annotator"),
    "left": gettext_lazy("Item shown first"),
    "right": gettext_lazy("Item shown second"),
    "answer": gettext_lazy("Answer"),
    "winner": gettext_lazy("Winner"),
    "loser": gettext_lazy("Loser"),
    "at": gettext_lazy("Time of the answer"),
    "seconds": gettext_lazy("Response time in seconds"),
}
# What columns are called, the more telling first.
NAMES = {
    "annotator": "worker annotator judge performer user voter rater session_id worker_id annotator_id user_id "
    "session_identifier participant participant_id respondent coder who".split(),
    "left": "left item_a model_a left_choice_id item1 option_a a first x".split(),
    "right": "right item_b model_b right_choice_id item2 option_b b second y".split(),
    "answer": "label winner outcome answer choice preference selected record_type".split(),
    "winner": "winner_id winner harder better chosen preferred".split(),
    "loser": "loser_id loser easier worse rejected".split(),
    "at": "created_at tstamp timestamp submit_utc time datetime".split(),
    "seconds": "response_seconds response_time_(s) duration lead_time".split(),
    "left_text": "left_text left_choice_text item_a_text answer_a".split(),
    "right_text": "right_text right_choice_text item_b_text answer_b".split(),
    "winner_text": ["winner_text"],
    "loser_text": ["loser_text"],
    "valid": "valid valid_record".split(),
    "shown": ["shown_order"],
    "ranking": ["ranking"],
    "grade": ["grade"],
    "comment": ["comment"],
    "void_reason": ["void_reason"],
}
# Of files that the engine's command line reads, by their own names: what is said of the set, or an order alone.
SAID_OF_SETS = ("best", "worst", "chosen", "top", "ranks")
NEEDED = {
    "pairs": ("left", "right", "answer"),
    "winners": ("winner", "loser"),
    "labels": ("annotator", "shown", "answer"),
}
WORDS: dict[str, str] = {
    **dict.fromkeys("left a model_a item_a option_a x first 1st".split(), "left"),
    **dict.fromkeys("right b model_b item_b option_b y second 2nd".split(), "right"),
    **dict.fromkeys(["tie", "equal", "draw", "same", "tie (equal)"], Label.Outcome.TIE.value),
    **dict.fromkeys(["tie (bothbad)", "bothbad", "both_bad", "both bad"], Label.Outcome.BOTH_BAD.value),
    **dict.fromkeys(["both_good", "both good", "tie (bothgood)", "bothgood"], Label.Outcome.BOTH_GOOD.value),
    **dict.fromkeys(["cant_judge", "can't judge", "cannot decide", "unsure"], Label.Outcome.CANT_JUDGE.value),
    **dict.fromkeys(["skip", "skipped"], Label.Outcome.SKIP.value),
}
# What the item shown first scored, in a column called so: as the engine's command line writes and reads it.
SCORED = "outcome"
SCORES = {1.0: "left", 0.0: "right", 0.5: Label.Outcome.TIE.value}
GRADES = {"1": Label.Grade.SLIGHTLY.value, "2": Label.Grade.CLEARLY.value}  # as the engine numbers them
FALSE = ("false", "f", "0", "no")


@dataclass(frozen=True)
class Voting:
    """How a file of comparisons is read. columns: what each is for, by place.

    someone: the annotator of rows that name none; prefix: before every name.   create: make items that are not there;
    numbers: whether those of "indices" are keys of items or places in the list of items, from 0 ("places").
    """

    format: str
    columns: Mapping[str, int] = field(default_factory=dict)
    someone: str = "imported"
    prefix: str = ""
    create: bool = False
    numbers: str = "keys"


def folded(names: Sequence[str]) -> list[str]:
    return [name.strip().casefold().replace(" ", "_") for name in names]


def guess(names: Sequence[str]) -> Voting:
    """By the columns' names; `pairs` where they say nothing."""
    have = folded(names)
    found = {
        what: have.index(next(n for n in known if n in have)) for what, known in NAMES.items() if {*known} & {*have}
    }
    if {"shown_order", "outcome", "annotator"} <= set(have):
        columns = found | {"answer": have.index("outcome"), "annotator": have.index("annotator")}
        return Voting("labels", columns)
    if columns := columns_of_sets(have):
        return Voting("sets", columns)
    if (
        {"left", "right"} <= found.keys()
        and "answer" in found
        and found["answer"] not in (found["left"], found["right"])
    ):
        return Voting("pairs", {what: place for what, place in found.items() if what not in ("winner", "loser")})
    if {"winner", "loser"} <= found.keys():
        return Voting("winners", {what: place for what, place in found.items() if what != "answer"})
    return Voting("pairs", found)


def columns_of_sets(have: Sequence[str]) -> dict[str, int]:
    """Return the columns of a file of answers about sets; nothing where the names are of another file."""
    names = ("set", *SAID_OF_SETS) if "set" in have and {*SAID_OF_SETS} & {*have} else ("ranking",)
    columns = {name: have.index(name) for name in names if name in have}
    if not columns or {"left", "winner", "shown_order"} & {*have}:
        return {}
    who = next((name for name in ("annotator", "worker") if name in have), "")
    return columns | ({"annotator": have.index(who)} if who else {})


@dataclass
class TableReader:
    """Rows to comparisons. `texts`: what the file says of items, by key, for those that are to be made.

    names: the file's columns. In one called “outcome” the numbers 1, 0 and 0.5 are scores; elsewhere they may be keys.
    """

    voting: Voting
    seed: str
    names: Sequence[str] = ()
    is_csv: bool = False
    texts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Where only winner and loser are known, sides are drawn by lot: a fixed one would pass for a bias towards it.
        self.rng = random.Random(self.seed)  # noqa: S311
        place = self.voting.columns.get("answer", len(self.names))
        self.is_scored = folded(self.names[place : place + 1]) == [SCORED]

    def comparisons(self, row: SheetRow) -> Iterator[Comparison]:
        """Raise Unusable."""
        if row.problem:
            raise Unusable(row.problem)
        own = self.voting.format == "labels"
        values = {what: self.cell(row, place, own) for what, place in self.voting.columns.items()}
        if values.get("valid", "").casefold() in FALSE:
            why = values.get("void_reason")
            raise Unusable(
                _("The file marks this answer as not counted: %(why)s.") % {"why": shortened(why)}
                if why
                else _("The file marks this answer as not counted.")
            )
        name = values.get("annotator") or self.voting.someone
        shown, outcome, order = READERS[self.voting.format](self, values)
        yield Comparison(
            row.place,
            self.voting.prefix + name,
            shown,
            outcome,
            moment(values.get("at", "")),
            milliseconds(values.get("seconds", "")),
            order,
            values.get("grade", "") if own else GRADES.get(values.get("grade", ""), ""),
            values.get("comment", "") if own else "",
            shared_in(values.get("ranking", ""), outcome) if own else (),
        )

    def cell(self, row: SheetRow, place: int, own: bool) -> str:
        value: Any = row.cells[place] if place < len(row.cells) else ""
        text = value if isinstance(value, str) else list_text(value)
        if not own:
            return text.strip()
        return without_apostrophes(text) if self.is_csv else text

    def pair(self, values: Mapping[str, str]) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
        left, right, answer = values["left"], values["right"], values["answer"]
        self.note_texts(values, "left", "right")
        if answer.casefold() == "orphaned appearance":
            raise Unusable(_("The pair was shown, but not answered."))
        if not left or not right:
            raise Unusable(_("One of the two items is missing. Fill the cell or remove the row."))
        if self.is_scored and (score := number(answer)) in SCORES:
            side = SCORES[score]
        elif answer in (left, right):
            side = "left" if answer == left else "right"
        else:
            side = WORDS.get(answer.casefold(), "")
        if not side:
            raise Unusable(
                _(
                    "The answer “%(answer)s” is neither of the two items (%(left)s, %(right)s) nor a word such as "
                    "left, right, model_a, tie or skip."
                )
                % {"answer": shortened(answer), "left": shortened(left), "right": shortened(right)}
            )
        return (left, right), side, ()

    def winner(self, values: Mapping[str, str]) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
        winner, loser = values["winner"], values["loser"]
        self.note_texts(values, "winner", "loser")
        if not winner or not loser:
            raise Unusable(_("One of the two items is missing. Fill the cell or remove the row."))
        left, right = values.get("left"), values.get("right")
        if (left, right) == (winner, loser):
            return (winner, loser), "left", ()
        if (left, right) == (loser, winner):
            return (loser, winner), "right", ()
        return *sided(self.rng, winner, loser), ()

    def label(self, values: Mapping[str, str]) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
        shown, answer = shown_in(values["shown"]), values["answer"]
        if len(shown) == 2:
            self.note_texts({"left": shown[0], "right": shown[1], **without(values, "left", "right")}, "left", "right")
        order = () if answer in SIDES else order_in(values.get("ranking", ""), answer)
        return shown, answer, order

    def note_texts(self, values: Mapping[str, str], *which: str) -> None:
        if self.voting.create:
            for one in which:
                self.texts.setdefault(values[one], values.get(f"{one}_text") or values[one])


READERS = {
    "pairs": TableReader.pair,
    "tools": TableReader.pair,
    "winners": TableReader.winner,
    "labels": TableReader.label,
}


def without(values: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in values.items() if name not in names}


def sided(rng: random.Random, winner: str, loser: str) -> tuple[tuple[str, str], str]:
    """Return (shown, which side was chosen), the side by lot."""
    return ((loser, winner), "right") if rng.random() < 0.5 else ((winner, loser), "left")


def number(text: str) -> float:
    """NaN where it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def moment(text: str) -> datetime | None:
    """Return a time in ISO 8601 or as seconds (or milliseconds) since 1970, in UTC unless it says otherwise."""
    if not text:
        return None
    try:
        if text.replace(".", "", 1).isdigit():
            seconds = float(text)
            return datetime.fromtimestamp(seconds / 1000 if seconds > 1e11 else seconds, UTC)
        at = datetime.fromisoformat(text.removesuffix(" UTC").strip())
    except (ValueError, OverflowError, OSError) as error:
        raise Unusable(
            _("“%(value)s” is not a time such as 2026-11-20T12:00:00Z.") % {"value": shortened(text)}
        ) from error
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def milliseconds(text: str) -> int | None:
    try:
        value = round(1000 * float(text)) if text else -1
    except (ValueError, OverflowError) as error:
        raise Unusable(_("“%(value)s” is not a number of seconds.") % {"value": shortened(text)}) from error
    return value if 0 <= value <= MAX_RESPONSE_MS else None
