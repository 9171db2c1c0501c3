"""Reads a table of conflicts of interest and reports each invalid row with its line number."""

from collections.abc import Mapping
from typing import NamedTuple

from django.utils.translation import gettext as _

from annotate.files import csv_reader
from annotate.files.cells import shortened, unknown_item
from annotate.files.limits import BadFile
from annotate.files.row_errors import RowError
from annotate.files.sheets import Sheet

COLUMNS = ["annotator", "item", "tag"]
MAX_ROWS = 5000


class Who(NamedTuple):
    """An annotator, or somebody on the roster who has not joined yet (by primary key); the other one is None."""

    annotator: int | None = None
    expected: int | None = None


class NewNeverShown(NamedTuple):
    """Primary keys; one of item and tag is None."""

    who: Who
    item: int | None
    tag: int | None


def read_conflicts(
    text: str, annotators: Mapping[str, Who], items: Mapping[str, int], tags: Mapping[str, int]
) -> tuple[list[NewNeverShown], list[RowError]]:
    """Return the rows that are right and what is wrong with the others. The mappings: name to who that is, key and tag
    to primary key.

    Raises BadFile where the table as a whole can't be read.
    """
    return check_conflicts(
        csv_reader.read(text, csv_reader.sniff_delimiter(text), header=True), annotators, items, tags
    )


def check_conflicts(
    sheet: Sheet, annotators: Mapping[str, Who], items: Mapping[str, int], tags: Mapping[str, int]
) -> tuple[list[NewNeverShown], list[RowError]]:
    """Return the same of a table that has been read."""
    places = {name.strip().casefold(): place for place, name in enumerate(sheet.columns)}
    if "annotator" not in places or not {"item", "tag"} & places.keys():
        raise BadFile(
            _("The first row must name the columns: annotator, and item or tag or both. Yours names: %(names)s.")
            % {"names": ", ".join(sheet.columns)[:200]}
        )
    found: dict[NewNeverShown, None] = {}
    problems: list[RowError] = []
    for n, row in enumerate(sheet.rows, 1):
        if n > MAX_ROWS:
            raise BadFile(_("The table has more than %(limit)d rows. Divide it.") % {"limit": MAX_ROWS})
        cell = {name: str(row.cells[place] or "").strip() for name, place in places.items() if place < len(row.cells)}
        problem = row.problem or problem_in(cell, annotators, items, tags)
        if problem:
            problems.append(RowError(row.place, problem))
            continue
        person = annotators[cell["annotator"]]
        if cell.get("item"):
            found[NewNeverShown(person, items[cell["item"]], None)] = None
        if cell.get("tag"):
            found[NewNeverShown(person, None, tags[cell["tag"]])] = None
    return list(found), problems


def problem_in(
    cell: Mapping[str, str], annotators: Mapping[str, Who], items: Mapping[str, int], tags: Mapping[str, int]
) -> str:
    if cell["annotator"] not in annotators:
        return _("Nobody in this project or on the list of people you expect has the name “%(name)s”. Correct it.") % {
            "name": shortened(cell["annotator"])
        }
    item, tag = cell.get("item", ""), cell.get("tag", "")
    if not item and not tag:
        return _("This row has neither an item nor a tag. Give one of them.")
    if item and item not in items:
        return unknown_item(item)
    if tag and tag not in tags:
        return _("No item has the tag “%(tag)s”.") % {"tag": shortened(tag)}
    return ""
