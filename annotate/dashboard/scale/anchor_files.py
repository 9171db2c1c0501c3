"""Reads anchors from a file, as another project exports its scale: an item's key, its value, its deviation."""

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _

from annotate.dashboard.scale.queries import MAX_ANCHORS, Anchors, read_number
from annotate.files.cells import shortened
from annotate.files.column_guessing import find
from annotate.files.layout import guess_layout, read_sheet
from annotate.files.limits import BadFile
from annotate.files.workbooks import decode_table
from annotate.models import Project

COLUMNS = {"key": ("item", "key", "id"), "value": ("value",), "deviation": ("deviation", "sd")}


def read_anchor_file(project: Project, file: UploadedFile) -> tuple[Anchors, int]:
    """Return the anchors that are items of this project, and how many others the file has. Raises BadFile."""
    text = decode_table(file)
    sheet = read_sheet(text, guess_layout(text, file.name or ""))
    at = {what: find(sheet.columns, names) for what, names in COLUMNS.items()}
    if at["key"] is None or at["value"] is None:
        raise BadFile(
            _("The file has the columns %(columns)s. It needs “item” and “value”, as the scale's CSV file has.")
            % {"columns": shortened(", ".join(sheet.columns))}
        )
    rows = [(row.place, {what: cell_at(row.cells, place) for what, place in at.items()}) for row in sheet.rows]
    given = {cells["key"]: anchor_of(place, cells) for place, cells in rows}
    found = project.items.filter(key__in=list(given)).order_by("pk").values_list("key", flat=True)
    anchors = tuple(given[key] for key in found)
    if not anchors:
        raise BadFile(_("None of the %(n)d items of the file is an item of this project.") % {"n": len(given)})
    if len(anchors) > MAX_ANCHORS:
        raise BadFile(
            _("There are %(n)d anchors; the limit is %(limit)d. Leave some out.")
            % {"n": len(anchors), "limit": MAX_ANCHORS}
        )
    return anchors, len(given) - len(anchors)


def cell_at(cells: list, place: int | None) -> str:
    return str(cells[place]).strip() if place is not None and place < len(cells) else ""


def anchor_of(place: int, cells: dict[str, str]) -> tuple[str, float, float | None]:
    """Raise BadFile."""
    value, deviation = read_number(cells["value"]), read_number(cells["deviation"] or "0")
    if value is None or deviation is None or deviation < 0:
        raise BadFile(
            _("Row %(row)d: “%(value)s” and “%(deviation)s” are no value and deviation. Write numbers, as 62 and 3.")
            % {"row": place, "value": shortened(cells["value"]), "deviation": shortened(cells["deviation"])}
        )
    return cells["key"], value, deviation if cells["deviation"] else None
