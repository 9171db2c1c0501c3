"""Reads a table of annotator tags and reports each invalid row with its line number."""

from collections.abc import Mapping

from django.utils.translation import gettext as _

from annotate.files import csv_reader
from annotate.files.cells import shortened, tags_in
from annotate.files.limits import BadFile, Unusable
from annotate.files.row_errors import RowError

COLUMNS = ["annotator", "tags"]
MAX_ROWS = 20_000


def read_tags(text: str, annotators: Mapping[str, int]) -> tuple[list[tuple[int, str]], list[RowError]]:
    """Return pairs of primary key and tag, and what is wrong with the other rows. annotators: pseudonym or platform's
    id.

    Raises BadFile where the table as a whole can't be read.
    """
    sheet = csv_reader.read(text, csv_reader.sniff_delimiter(text), header=True)
    places = {name.strip().casefold(): place for place, name in enumerate(sheet.columns)}
    if not places.keys() >= set(COLUMNS):
        raise BadFile(
            _("The first row must name the columns annotator and tags. Yours names: %(names)s.")
            % {"names": ", ".join(sheet.columns)[:200]}
        )
    found: dict[tuple[int, str], None] = {}
    problems: list[RowError] = []
    for n, row in enumerate(sheet.rows, 1):
        if n > MAX_ROWS:
            raise BadFile(_("The table has more than %(limit)d rows. Divide it.") % {"limit": MAX_ROWS})
        who, tags = (cell_at(row.cells, places[name]) for name in COLUMNS)
        try:
            names = tags_in(tags)
            problem = row.problem or problem_in(who, names, annotators)
        except Unusable as error:
            problem = str(error)
        if problem:
            problems.append(RowError(row.place, problem))
        else:
            found |= dict.fromkeys((annotators[who], name) for name in names)
    return list(found), problems


def cell_at(cells: list, place: int) -> str:
    return str(cells[place] or "").strip() if place < len(cells) else ""


def problem_in(who: str, names: tuple[str, ...], annotators: Mapping[str, int]) -> str:
    if who not in annotators:
        return _("Nobody in this project has the name or platform id “%(name)s”.") % {"name": shortened(who)}
    return "" if names else _("This row has no tag. Give one or more, separated by commas or vertical bars.")
