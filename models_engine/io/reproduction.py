"""Repeats the fit of a run record and compares the result: equal to the last bit, to 1e-8, or different."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from models_engine.io.environment import compare_environments, describe_environment
from models_engine.io.run_records import COLUMNS, CsvRow, fit_cold, read_predicted, read_record
from models_engine.progress import Progress

__all__ = ["CLOSE", "Verdict", "compare_rankings", "reproduce"]

CLOSE = 1e-8
# The others (rank_low, rank_high, p_top_k) are counted from draws, where a last bit may change a count.
FIGURES = ("utility", "sd", "low", "high")


@dataclass(frozen=True)
class Verdict:
    """Result of a comparison. how: "identical" bit for bit, "close" to 1e-8 with the same ranking, "different".

    first: the first figure whose difference is too large, in words.   largest: the largest difference of a utility,
    standard deviation or end of an interval.   elsewhere: how this environment differs from the record's, in words.
    """

    how: Literal["identical", "close", "different"]
    first: str
    largest: float
    elsewhere: list[str]

    @property
    def reproduced(self) -> bool:
        """Return whether it is identical; or close, if versions, processor or threads differ."""
        return self.how == "identical" or (self.how == "close" and bool(self.elsewhere))

    def words(self) -> str:
        if self.how == "identical":
            text = "Reproduced bit for bit."
        elif self.reproduced:
            text = (
                f"Reproduced to {CLOSE:g} with the same ranking (largest difference {self.largest:.2g}); "
                "bit for bit cannot be expected here, because:"
            )
        elif self.how == "close":
            text = f"NOT reproduced bit for bit, though versions, processor and threads are the same. {self.first}"
        else:
            text = f"NOT reproduced. {self.first}"
        return "\n".join([text, *(f"  {line}" for line in self.elsewhere)])


def reproduce(folder: Path, progress: Progress | None = None) -> Verdict:
    """Fit the record's labels again from a cold start and compare the rankings, and then the predicted places.

    Raises InvalidData for no record.
    """
    record, spec, labels, ranking = read_record(folder)
    fit = fit_cold(labels, spec, progress)
    elsewhere = compare_environments(record["environment"], describe_environment())
    found = compare_rankings(ranking, fit.rows, elsewhere)
    recorded = read_predicted(folder)
    if found.how == "different" or not (recorded or fit.predicted):
        return found
    return worse_of(found, compare_rankings(recorded, fit.predicted, elsewhere))


def worse_of(ranking: Verdict, predicted: Verdict) -> Verdict:
    """Return one verdict on both: the worse of the two, with the larger difference."""
    order = ("identical", "close", "different")
    worse = max(ranking, predicted, key=lambda one: order.index(one.how))
    return replace(worse, largest=max(ranking.largest, predicted.largest))


def compare_rankings(recorded: Sequence[Mapping[str, Any]], rows: Sequence[CsvRow], elsewhere: list[str]) -> Verdict:
    """Compare rankings. recorded: rows of ranking.csv, as text.   rows: the same of the new fit."""
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
            description = f"First difference: item {old['item']!r}, {name} {old[name]} in the record, {new[name]} here."
            if difference:
                inexact = inexact or description
            if name in FIGURES:
                largest = max(largest, difference)
                if not difference <= CLOSE:
                    far = far or description
    if moved or far:
        return Verdict("different", moved or far, largest, elsewhere)
    return Verdict("close" if inexact else "identical", inexact, largest, elsewhere)
