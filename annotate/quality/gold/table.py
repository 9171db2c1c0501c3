"""Reading a table of sets with their right answers: a row a set, what is wrong with a row told with its line."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotate.files import csv_reader
from annotate.files.cells import shortened, unknown_item
from annotate.files.limits import BadFile
from annotate.files.row_errors import RowError
from annotate.files.sheets import Sheet, SheetRow
from annotate.labelling.outcomes import allowed_extra_outcomes, main_outcome, n_ranked
from annotate.labelling.task_types.base import shared_in
from annotate.labelling.task_types.registry import task_type_of
from annotate.models import Project, Purpose

PURPOSES = {"practice": Purpose.PRACTICE, "gold": Purpose.GOLD, "attention": Purpose.ATTENTION}
MAX_ROWS = 1000
MAX_WHY_LENGTH = 2000
DIVIDER, SHARING = ">", "="


@dataclass(frozen=True)
class NewGoldSet:
    """items, named: primary keys; `named` best first.

    shared: which of `named`, from 0, share the place of the one before.
    """

    line: int
    purpose: str
    items: tuple[int, ...]
    outcome: str
    named: tuple[int, ...]
    why: str
    shared: tuple[int, ...] = ()


class InvalidRow(Exception):
    """Says what is wrong with the row."""


def columns_of(project: Project) -> list[str]:
    return ["purpose", *(f"item_{n}" for n in range(1, project.k + 1)), "answer", "why"]


def parse_table(project: Project, text: str, items: Mapping[str, int]) -> tuple[list[NewGoldSet], list[RowError]]:
    """Return the rows that are right and what is wrong with the others. items: the project's, key to primary key.

    Raises BadFile where the table as a whole can't be read.
    """
    return parse_sheet(project, csv_reader.read(text, csv_reader.sniff_delimiter(text), header=True), items)


def parse_sheet(project: Project, sheet: Sheet, items: Mapping[str, int]) -> tuple[list[NewGoldSet], list[RowError]]:
    """Return the same of a table that has been read."""
    places = {name.strip().casefold(): place for place, name in enumerate(sheet.columns)}
    missing = [name for name in columns_of(project) if name not in places and name != "why"]
    if missing:
        raise BadFile(
            _("The first row must name the columns. Missing: %(missing)s. Needed: %(all)s.")
            % {"missing": ", ".join(missing), "all": ", ".join(columns_of(project))}
        )
    found: list[NewGoldSet] = []
    problems: list[RowError] = []
    seen: dict[tuple[str, frozenset[int]], int] = {}
    contexts = dict(project.items.exclude(context=None).values_list("pk", "context"))
    for n, row in enumerate(sheet.rows, 1):
        if n > MAX_ROWS:
            raise BadFile(_("The table has more than %(limit)d rows. Divide it.") % {"limit": MAX_ROWS})
        try:
            one = parse_row(project, row, places, items)
            if len({contexts.get(item) for item in one.items}) > 1:
                raise InvalidRow(
                    _(
                        "The items of this row have different contexts; only items of the same "
                        "context are shown together."
                    )
                )
            before = seen.setdefault((one.purpose, frozenset(one.items)), one.line)
            if before != one.line:
                raise InvalidRow(_("Line %(line)d already has the same set.") % {"line": before})
        except InvalidRow as error:
            problems.append(RowError(row.place, str(error)))
        else:
            found.append(one)
    return found, problems


def parse_row(project: Project, row: SheetRow, places: Mapping[str, int], items: Mapping[str, int]) -> NewGoldSet:
    if row.problem:
        raise InvalidRow(row.problem)
    cell = {name: str(row.cells[place] or "").strip() for name, place in places.items()}
    purpose = PURPOSES.get(cell["purpose"].casefold())
    if purpose is None:
        raise InvalidRow(
            _("The purpose “%(value)s” is unknown. Use one of: %(known)s.")
            % {"value": shortened(cell["purpose"]), "known": ", ".join(PURPOSES)}
        )
    keys = [cell[f"item_{n}"] for n in range(1, project.k + 1)]
    for key in keys:
        if key not in items:
            raise InvalidRow(unknown_item(key))
    if len(set(keys)) != len(keys):
        raise InvalidRow(_("An item is named twice. Name %(n)d different items.") % {"n": project.k})
    outcome, named, shared = parse_right_answer(project, cell["answer"], keys)
    why = cell.get("why", "")
    if len(why) > MAX_WHY_LENGTH:
        raise InvalidRow(
            _("“why” has %(n)d characters; the limit is %(limit)d. Shorten it.")
            % {"n": len(why), "limit": MAX_WHY_LENGTH}
        )
    members, right = tuple(items[key] for key in keys), tuple(items[key] for key in named)
    return NewGoldSet(row.place, purpose.value, members, outcome, right, why, shared)


def parse_right_answer(project: Project, text: str, keys: list[str]) -> tuple[str, list[str], tuple[int, ...]]:
    """Return (outcome, the keys that it names, best first, which of them share the place of the one before).

    The text: one key, several divided by “>”, or by “=” where they share a place, or another outcome.
    """
    asked = main_outcome(project)
    others = allowed_extra_outcomes(project)
    if text in others and text not in keys:
        return text, [], ()
    divided = [[text]] if text in keys else [part.split(SHARING) for part in text.split(DIVIDER)]
    if not task_type_of(project).shares_places(project):
        divided = [[SHARING.join(part)] for part in divided]
    named = [key.strip() for part in divided for key in part]
    shared = shared_in([place for place, part in enumerate(divided) for _key in part])
    for key in named:
        if key not in keys:
            raise InvalidRow(
                _(
                    "The answer “%(value)s” is neither an item of the set (%(items)s) nor another allowed answer "
                    "(%(others)s)."
                )
                % {"value": shortened(key), "items": ", ".join(keys)[:200], "others": ", ".join(others) or "–"}
            )
    return asked.value, checked_order(project, named), shared


def checked_order(project: Project, named: list[str]) -> list[str]:
    """Return these items as the right answer, best first; raises BadRow if it takes another number of them."""
    needed = n_ranked(project)
    if len(named) != needed or len(set(named)) != len(named):
        raise InvalidRow(
            _("The answer names %(value)d items; this task needs %(n)d different ones, best first, separated by “>”.")
            % {"value": len(named), "n": needed}
        )
    return named
