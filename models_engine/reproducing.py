"""Repeats the fit of a run record and says how near the same it came: to the last bit, to 1e-8, or not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from models_engine.environment import differences, environment
from models_engine.progress import Progress
from models_engine.records import COLUMNS, Row, fit_cold, read_record

__all__ = ["CLOSE", "Verdict", "compare", "reproduce"]

CLOSE = 1e-8
# The others (rank_low, rank_high, p_top_k) are counted from draws, of which a last bit may move one.
FIGURES = ("utility", "sd", "low", "high")


@dataclass(frozen=True)
class Verdict:
    """how: "identical" bit for bit, "close" to 1e-8 with the same ranking, "different".

    first: the first figure that differs more than it may, in words.   largest: the largest difference of a utility,
    standard deviation or end of an interval.   elsewhere: how this computer differs from the record's, in words.
    """

    how: Literal["identical", "close", "different"]
    first: str
    largest: float
    elsewhere: list[str]

    @property
    def reproduced(self) -> bool:
        """Identical; or close where versions, processor or threads differ, so that more cannot be asked."""
        return self.how == "identical" or (self.how == "close" and bool(self.elsewhere))

    def words(self) -> str:
        if self.how == "identical":
            text = "Reproduced bit for bit."
        elif self.reproduced:
            text = (
                f"Reproduced to {CLOSE:g} with the same ranking (largest difference {self.largest:.2g}); "
                "bit for bit is not to be expected here, because:"
            )
        elif self.how == "close":
            text = f"NOT reproduced bit for bit, though versions, processor and threads are the same. {self.first}"
        else:
            text = f"NOT reproduced. {self.first}"
        return "\n".join([text, *(f"  {line}" for line in self.elsewhere)])


def reproduce(folder: Path, progress: Progress | None = None) -> Verdict:
    """Fit the record's labels anew, from nothing, and compare with its ranking. Raises InvalidData for no record."""
    record, recipe, labels, ranking = read_record(folder)
    rows, _ = fit_cold(labels, recipe, progress)
    return compare(ranking, rows, differences(record["environment"], environment()))


def compare(recorded: Sequence[Mapping[str, Any]], rows: Sequence[Row], elsewhere: list[str]) -> Verdict:
    """recorded: rows of ranking.csv, as text.   rows: the same of the new fit."""
    if len(recorded) != len(rows):
        first = f"The record ranks {len(recorded)} items, this fit {len(rows)}."
        return Verdict("different", first, float("inf"), elsewhere)
    largest, moved, far, inexact = 0.0, "", "", ""
    for old, row in zip(recorded, rows, strict=True):
        new = dict(zip(COLUMNS, row, strict=True))
        if old["item"] != new["item"] or int(old["rank"]) != new["rank"] or int(old["part"]) != new["part"]:
            moved = moved or (
                f"First difference: place {old['rank']} of part {old['part']} is {old['item']!r} in the record; "
                f"here place {new['rank']} of part {new['part']} is {new['item']!r}."
            )
            continue
        for name in COLUMNS[1:]:
            difference = abs(float(old[name]) - float(new[name]))
            told = f"First difference: item {old['item']!r}, {name} {old[name]} in the record, {new[name]} here."
            if difference:
                inexact = inexact or told
            if name in FIGURES:
                largest = max(largest, difference)
                if not difference <= CLOSE:
                    far = far or told
    if moved or far:
        return Verdict("different", moved or far, largest, elsewhere)
    return Verdict("close" if inexact else "identical", inexact, largest, elsewhere)
