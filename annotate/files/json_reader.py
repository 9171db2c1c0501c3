"""Reading JSON: a list of objects or texts, or one of them per line; Label Studio's tasks are understood."""

import io
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, NoReturn, TextIO

from django.utils.translation import gettext as _

from annotate.files.limits import MAX_COMPARISONS, MAX_ROWS, BadFile
from annotate.files.sheets import Cell, Sheet, SheetRow

MOST_LINES = max(MAX_ROWS, MAX_COMPARISONS)


class Record(NamedTuple):
    place: int
    values: dict[str, Any]
    problem: str = ""


def read_list(text: str) -> Sheet:
    """Return the sheet of one JSON document; raises BadFile where it breaks off or holds no list."""
    try:
        document = parse(text)
    except json.JSONDecodeError as error:
        raise BadFile(
            _(
                "This is not valid JSON: line %(line)d, column %(column)d: %(problem)s. Correct it there and "
                "upload it again."
            )
            % {"line": error.lineno, "column": error.colno, "problem": error.msg}
        ) from error
    except ValueError as error:
        message = _("This is not valid JSON: %(problem)s. Correct it and upload it again.") % {"problem": error}
        raise BadFile(message) from error
    if isinstance(document, dict):
        lists = [value for value in document.values() if isinstance(value, list)]
        document = lists[0] if len(lists) == 1 else [document]
    if not isinstance(document, list):
        raise BadFile(_('The JSON contains no list. Write the items as [{"text": …}, {"text": …}].'))
    return sheet_of([record(place, value) for place, value in enumerate(document, 1)])


def read_lines(text: str | TextIO) -> Sheet:
    """Return the sheet of JSON lines; a line that can't be read is a problem of its row alone.

    Read twice, first for the names, so that a file's lines are never all in memory.
    """
    lines = io.StringIO(text, newline="\n") if isinstance(text, str) else text
    columns = list(dict.fromkeys(name for record in records(lines) for name in record.values)) or ["text"]
    return Sheet(columns, rows_of(records(lines), columns))


def records(lines: TextIO) -> Iterator[Record]:
    """Yield records from the first line; one more than any import takes, which the check of the rows reports."""
    lines.seek(0)
    filled = ((place, line) for place, line in enumerate(lines, 1) if line.strip())
    for place, line in islice(filled, MOST_LINES + 1):
        try:
            yield record(place, parse(line))
        except ValueError as error:
            message = _("The line is not valid JSON: %(problem)s.") % {"problem": getattr(error, "msg", error)}
            yield Record(place, {}, message)
        except BadFile as error:
            yield Record(place, {}, str(error))


def parse(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except RecursionError as error:
        raise BadFile(_("The JSON is nested too deeply. An item is an object of plain values.")) from error


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(_("%(name)s is not a JSON value") % {"name": name})


def record(place: int, value: Any) -> Record:
    if isinstance(value, str):
        return Record(place, {"text": value})
    if not isinstance(value, dict):
        return Record(place, {}, _("This is neither a text nor an object with a “text”."))
    data = value.get("data")
    if isinstance(data, dict):  # Label Studio: {"id": 1, "data": {"text": ...}}
        value = {**{name: other for name, other in value.items() if name != "data"}, **data}
    return Record(place, value)


def sheet_of(records: list[Record]) -> Sheet:
    columns = list(dict.fromkeys(name for record in records for name in record.values)) or ["text"]
    return Sheet(columns, rows_of(records, columns))


def rows_of(records: Iterable[Record], columns: list[str]) -> Iterable[SheetRow]:
    for place, values, problem in records:
        yield SheetRow(place, [cell_of(values.get(name)) for name in columns], problem)


def cell_of(value: Any) -> Cell:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str | int | float) for one in value):
        return [str(one) for one in value]
    return json.dumps(value, ensure_ascii=False)
