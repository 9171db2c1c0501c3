"""Reading a table of features: the items' keys, then a column for each feature, as the engine's files are."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, TextIO

from django.core.files.base import ContentFile, File
from django.utils.translation import gettext as _

from annotate.files.cells import check_characters, shortened, text_in, unknown_item
from annotate.files.decoding import decode
from annotate.files.layout import Layout, guess_layout, is_figure, read_sheet
from annotate.files.limits import MAX_ROWS, BadFile, Unusable
from annotate.files.sheets import SheetRow
from annotate.files.workbooks import decode_table, read_head
from annotate.imports.matrix import looks_like_matrix
from annotate.imports.prepared import EVERY, Line, Read
from annotate.items.features import MOST_FEATURES
from annotate.items.rows import number_in
from models_engine.io.names import decode_name, feature_columns

MAX_NAME = 60


def features_given(file: File, keys: File | None, called: str, sheet: str = "") -> tuple[File, dict[str, Any], bytes]:
    """Return (file, mapping, keys) for `start_import` of a matrix or a table. Raises BadFile."""
    name = file.name or ""
    if looks_like_matrix(name, read_head(file)):
        text = decode(keys.read(), keys.name or "").text if keys else ""
        return file, {"prefix": called}, text.encode()
    if keys:
        raise BadFile(_("A table names its items in its first column. Leave the file of keys out."))
    table = decode_table(file, sheet)
    return ContentFile(table.encode()), table_mapping(table, name), b""


def table_mapping(text: str, name: str) -> dict[str, Any]:
    """Return how a table of features is read: its first row names the columns. Raises BadFile."""
    mapping, columns = named_columns(text, name)
    check_columns(columns)
    return mapping


def named_columns(text: str, name: str) -> tuple[dict[str, Any], list[str]]:
    """Return (mapping, columns) of a table whose first row names the columns. Raises BadFile."""
    layout = replace(guess_layout(text, name), header=True)
    return {"layout": asdict(layout)}, list(read_sheet(text, layout).columns)


def check_columns(columns: list[str]) -> None:
    """Raise BadFile."""
    names = columns[1:]
    if not names or len(names) > MOST_FEATURES:
        raise BadFile(
            _("The table has %(n)d columns of features. It needs the items' keys first, and then 1 to %(limit)d.")
            % {"n": len(names), "limit": MOST_FEATURES}
        )
    check_names(names)


def check_names(names: list[str]) -> None:
    """Raise BadFile."""
    if all(is_figure(name) for name in names):
        raise BadFile(_("The first row has to name the columns; it holds numbers. Put names above them."))
    for place, name in enumerate(names):
        if name in names[:place]:
            raise BadFile(_("Two columns are called “%(name)s”. Rename one of them.") % {"name": shortened(name)})
        if len(name) > MAX_NAME:
            raise BadFile(
                _("The column “%(name)s” has a name of %(length)d characters; the limit is %(limit)d.")
                % {"name": shortened(name), "length": len(name), "limit": MAX_NAME}
            )
        try:
            check_characters(name)
        except Unusable as problem:
            raise BadFile(str(problem)) from problem


class FeatureTable:
    """Rows of a table as features of the items that they name."""

    every = EVERY
    kind = "features"  # of its lines

    def __init__(self, text: TextIO, mapping: Mapping[str, Any], known: Mapping[str, int]) -> None:
        self.sheet = read_sheet(text, Layout(**mapping["layout"]))
        self.columns, self.known = self.sheet.columns, known
        self.check_columns(list(self.columns))
        self.features = list(self.columns[1:])
        self.of_record = self.features == feature_columns(len(self.features))

    def check_columns(self, columns: list[str]) -> None:
        """Raise BadFile."""
        check_columns(columns)

    def ahead(self) -> Iterable[Line]:
        return ()

    def rows(self) -> Iterator[Read]:
        seen: dict[str, int] = {}
        for n, row in enumerate(self.sheet.rows, 1):
            if n > MAX_ROWS:
                raise BadFile(
                    _("There are more than %(limit)d rows. Split the file and import the parts one by one.")
                    % {"limit": MAX_ROWS}
                )
            try:
                key, values = self.read(row, seen)
            except Unusable as problem:
                yield Read(row.place, row.cells, problem=str(problem))
                continue
            yield Read(row.place, row.cells[:6], [(self.kind, (key, values))])

    def read(self, row: SheetRow, seen: dict[str, int]) -> tuple[str | int, list[float]]:
        """Return what the line names and the values of one row. Raises Unusable."""
        if row.problem:
            raise Unusable(row.problem)
        key = self.named(text_in(row.cells[0]))
        if key not in self.known:
            raise Unusable(self.unknown(key))
        if seen.setdefault(key, row.place) != row.place:
            raise Unusable(self.repeated(key, seen[key]))
        return key, [number_in(row, place, name) for place, name in enumerate(self.features, 1)]

    def named(self, text: str) -> str:
        """Return the name that a cell holds, as it is or as a run record's file writes it. Raises Unusable."""
        name = decode_name(text)
        if name != text and {name, text} <= self.known.keys() and not self.of_record:
            raise Unusable(
                _("“%(text)s” may be “%(text)s” itself or “%(name)s” as a run record writes it. Remove the row.")
                % {"text": shortened(text), "name": shortened(name)}
            )
        return name if name in self.known else text

    def unknown(self, key: str) -> str:
        return unknown_item(key)

    def repeated(self, key: str, place: int) -> str:
        return _("The key “%(key)s” is already used in row %(row)d.") % {"key": shortened(key), "row": place}
