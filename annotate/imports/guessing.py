"""How a file seems to be meant, as the mapping of an import: layout, columns, format; the owner may change it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields, replace
from itertools import islice
from typing import Any

from django.utils.translation import gettext as _

from annotate.files.cells import names_listed, shortened
from annotate.files.column_guessing import Columns
from annotate.files.layout import Layout, guess_columns, guess_layout, numeric_columns, read_sheet
from annotate.files.limits import BadFile
from annotate.files.sheets import Sheet
from annotate.imports.comparisons.lists import indices, looks_like_indices, looks_like_orders, orders
from annotate.imports.comparisons.tables import (
    COLUMNS,
    NEEDED,
    SAID_OF_SETS,
    TABLES,
    Voting,
    columns_of_sets,
    folded,
    guess,
)
from annotate.imports.comparisons.tools import PLACES, looks_like_tools, pairs_sheet
from annotate.models import Item

FIRST_ROWS = 10


def items_mapping(layout: Layout, columns: Columns, kind: str = Item.Kind.TEXT) -> dict[str, Any]:
    return {"layout": asdict(layout), "columns": asdict(columns), "kind": str(kind)}


def guess_items(
    text: str, name: str, *, columns: Mapping[str, Any] | None = None, kind: str = Item.Kind.TEXT
) -> dict[str, Any]:
    """columns: the names of those that are given (None: there is none), of features and metadata a list.

    Raises BadFile.
    """
    layout = guess_layout(text, name)
    names, guessed = guess_columns(text, layout)
    given = dict(columns or {})
    features = given.pop("features", None) or []
    kept = given.pop("metadata", None)
    known = {one.name for one in fields(Columns)} - {"features", "translations", "sections", "metadata"}
    places: dict[str, Any] = {
        what: place_of(column, names) for what, column in check_known_columns(given, known).items()
    }
    if places.get("text", 0) is None:
        raise BadFile(_("Choose the column that holds the text."))
    if not isinstance(features, list):
        raise BadFile(_("Give the features as a list of columns."))
    numbers = {one: place for one in features if (place := place_of(one, names)) is not None}
    if set(numbers.values()) - set(numeric_columns(text, layout)):
        raise BadFile(_("Features must be columns of numbers; one of these is not."))
    if kept is not None and not isinstance(kept, list):
        raise BadFile(_("Give the metadata as a list of columns."))
    kept_places = [(place, one) for one in kept or () if (place := place_of(one, names)) is not None]
    taken = {*places.values(), *numbers.values(), *(place for place, _name in kept_places)}
    translations = tuple(one for one in guessed.translations if one[0] not in taken)
    named = tuple((place, one) for one, place in numbers.items())
    metadata = guessed.metadata if kept is None else tuple(kept_places)
    chosen = replace(guessed, **places, translations=translations, features=named, metadata=metadata)
    return items_mapping(layout, chosen, kind)


def check_known_columns(columns: Mapping[str, Any], known: Collection[str]) -> Mapping[str, Any]:
    """Raise BadFile where a column is given that is not known."""
    if unknown := [what for what in columns if what not in known]:
        raise BadFile(
            _("There is no column for “%(what)s”. Use one of: %(known)s.")
            % {"what": shortened(unknown[0]), "known": ", ".join(sorted(known))}
        )
    return columns


def place_of(column: Any, names: Sequence[str]) -> int | None:
    """Raise BadFile where no column has the name."""
    if column is None:
        return None
    if column not in names:
        raise BadFile(
            _("The file has no column “%(name)s”. It has: %(names)s.")
            % {"name": shortened(str(column)), "names": names_listed(names)}
        )
    return list(names).index(column)


def guess_votes(text: str, name: str, *, columns: Mapping[str, Any] | None = None, format: str = "") -> dict[str, Any]:
    """columns, format: what is given, else guessed. Raises BadFile."""
    mapping = guessed_votes(text, name)
    voting = mapping["voting"]
    if format and format != voting["format"]:
        is_list = format in ("orders", "indices")
        voting |= {"format": format, "columns": PLACES if format == "tools" else {}}
        mapping["layout"] = asdict(Layout("lines") if is_list else replace(guess_layout(text, name), header=True))
        if format == "sets":
            voting["columns"] = columns_of_sets(folded(sheet_of(text, mapping).columns))
    if columns:
        names = sheet_of(text, mapping).columns
        for what, column in check_known_columns(columns, COLUMNS).items():
            voting["columns"].pop(what, None)
            if (place := place_of(column, names)) is not None:
                voting["columns"][what] = place
    return mapping


def guessed_votes(text: str, name: str) -> dict[str, Any]:
    """Raise BadFile."""
    if looks_like_orders(text, name):
        return votes_mapping(Voting("orders"), Layout("lines"))
    if looks_like_indices(text):
        return votes_mapping(Voting("indices"), Layout("lines"))
    layout = guess_layout(text, name)
    if layout.format == "lines":
        layout = guess_layout(text, "")
    layout = replace(layout, header=True)
    names = read_sheet(text, layout).columns
    voting = Voting("tools", PLACES) if looks_like_tools(names) else guess(names)
    return votes_mapping(voting, layout)


def votes_mapping(voting: Voting, layout: Layout) -> dict[str, Any]:
    return {"voting": asdict(voting), "layout": asdict(layout)}


def sheet_of(text: str, mapping: dict[str, Any]) -> Sheet:
    """Raise BadFile."""
    format = mapping["voting"]["format"]
    if format == "indices":
        return indices(text)
    if format == "orders":
        return orders(text)
    sheet = read_sheet(text, Layout(**mapping["layout"]))
    return pairs_sheet(sheet) if format == "tools" else sheet


def check_votes(mapping: dict[str, Any], names: list[str]) -> None:
    """Raise BadFile where a column that the format needs is not chosen."""
    voting = mapping["voting"]
    needed = NEEDED.get(voting["format"], ())
    missing = [str(COLUMNS.get(what, what)) for what in needed if voting["columns"].get(what) is None]
    if voting["format"] == "sets" and not voting["columns"]:
        missing = ["set", *SAID_OF_SETS]
    if missing and voting["format"] in (*TABLES, "sets"):
        raise BadFile(
            _("Choose which columns hold: %(missing)s. The file has: %(names)s.")
            % {"missing": ", ".join(missing), "names": names_listed(names)}
        )


def first_rows(sheet: Sheet) -> list[tuple[int, list[str]]]:
    """To look at: a few rows, long cells cut."""
    return [
        (row.place, [shortened(cell if isinstance(cell, str) else ", ".join(cell)) for cell in row.cells])
        for row in islice(sheet.rows, FIRST_ROWS)
    ]
