"""Rows of a table of counts, each a line to be written or what is wrong with it."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from django.utils.translation import gettext as _

from annotate.core.numbers import format_integer
from annotate.files.cells import check_characters, check_key, shortened, unknown_item
from annotate.files.layout import read_sheet
from annotate.files.limits import BadFile, Unusable
from annotate.files.sheets import SheetRow
from annotate.files.writers import without_apostrophes
from annotate.imports.comparisons.actions import LONGEST_NAME
from annotate.imports.counts.columns import Counting, layout_of
from annotate.imports.prepared import EVERY, Line, Read
from annotate.items.rows import NewItem
from annotate.models import MAX_COUNT, MAX_EXPOSURE, MIN_EXPOSURE, Annotator, Item, Project

MAX_COUNT_ROWS = 250_000


class CountTable:
    """A table of counts, in UTF-8; items that are not there are created where that is wished."""

    every = EVERY
    features: Sequence[str] = ()

    def __init__(self, text: TextIO, project: Project, mapping: Mapping[str, Any], items: dict[str, int]) -> None:
        self.counting = Counting(**mapping["counting"])
        self.sheet = read_sheet(text, layout_of(mapping))
        self.columns = self.sheet.columns
        self.items, self.new = items, dict[str, int]()
        self.totals: Counter[tuple[str, str]] = Counter()
        people = Annotator.everyone.filter(project=project).exclude(source=Annotator.Source.IMPORT)
        self.taken = set(people.values_list("pseudonym", flat=True))

    def rows(self) -> Iterator[Read]:
        for number, row in enumerate(self.sheet.rows, 1):
            if number > MAX_COUNT_ROWS:
                raise BadFile(
                    _("The file contains more than %(limit)d rows. Split it and import the parts one by one.")
                    % {"limit": MAX_COUNT_ROWS}
                )
            try:
                line = self.line_of(row)
            except Unusable as problem:
                yield Read(row.place, row.cells, problem=str(problem))
                continue
            yield Read(row.place, row.cells, [("count", line)])

    def line_of(self, row: SheetRow) -> tuple[str, str, int, float]:
        """Return annotator, item's key, count and exposure. Raises Unusable."""
        if row.problem:
            raise Unusable(row.problem)
        cells = {what: self.cell(row, place) for what, place in self.counting.columns.items()}
        name = self.counting.prefix + (cells.get("annotator") or self.counting.someone)
        self.check_name(name)
        count, exposure = count_in(cells["count"]), exposure_in(cells.get("exposure", ""))
        self.check_total(name, cells["item"], count)
        self.check_item(cells["item"], row.place)
        return name, cells["item"], count, exposure

    def cell(self, row: SheetRow, place: int) -> str:
        value = row.cells[place] if place < len(row.cells) else ""
        text = value.strip() if isinstance(value, str) else ""
        return without_apostrophes(text) if self.sheet.is_csv else text

    def check_name(self, name: str) -> None:
        if not name.strip() or len(name) > LONGEST_NAME:
            raise Unusable(
                _("The annotator's name “%(name)s” has %(n)d characters; it needs 1 to %(limit)d.")
                % {"name": shortened(name), "n": len(name), "limit": LONGEST_NAME}
            )
        check_characters(name)
        if name in self.taken:
            raise Unusable(
                _("“%(name)s” already answers here in person. Give the imported annotator another name.")
                % {"name": name}
            )

    def check_item(self, key: str, place: int) -> None:
        if key in self.items:
            return
        if not self.counting.create:
            raise Unusable(unknown_item(key))
        check_key(key)
        self.items[key], self.new[key] = 0, place

    def check_total(self, name: str, key: str, count: int) -> None:
        total = self.totals[name, key] + count
        if total > MAX_COUNT:
            raise Unusable(
                _("With the rows before, “%(name)s” counts %(n)d of “%(key)s”; the limit is %(limit)d.")
                % {"name": shortened(name), "n": total, "key": shortened(key), "limit": MAX_COUNT}
            )
        self.totals[name, key] = total

    def ahead(self) -> Iterable[Line]:
        for key, place in self.new.items():
            yield "item", NewItem(place, key, key, Item.Kind.TEXT)


def count_in(cell: str) -> int:
    """Raise Unusable for what is no whole number from 0 to MAX_COUNT."""
    value = number_in(cell)
    if not (0 <= value <= MAX_COUNT and value == int(value)):
        raise Unusable(
            _("The count “%(value)s” is not a whole number from 0 to %(limit)s. Round seconds, or correct the row.")
            % {"value": shortened(cell), "limit": format_integer(MAX_COUNT)}
        )
    return int(value)


def exposure_in(cell: str) -> float:
    """Return 1 for an empty cell. Raises Unusable."""
    value = number_in(cell) if cell else 1.0
    if not MIN_EXPOSURE <= value <= MAX_EXPOSURE:
        raise Unusable(
            _("The exposure “%(value)s” is not a number above 0, up to %(limit)d. Leave out what was never shown.")
            % {"value": shortened(cell), "limit": int(MAX_EXPOSURE)}
        )
    return value


def number_in(cell: str) -> float:
    try:
        return float(cell.replace("_", "x"))  # 1_000 is no number in a table
    except ValueError:
        return math.nan
