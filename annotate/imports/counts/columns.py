"""Which columns of a table of counts hold what: guessed from their names, chosen by the owner."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.files.cells import names_listed
from annotate.files.layout import Layout, guess_layout, read_sheet
from annotate.files.limits import BadFile
from annotate.imports.comparisons.tables import folded
from annotate.imports.guessing import check_known_columns, place_of

COLUMNS = {
    "annotator": gettext_lazy("Annotator"),
    "item": gettext_lazy("Item"),
    "count": gettext_lazy("Count"),
    "exposure": gettext_lazy("Exposure: times shown, or seconds on offer"),
}
NEEDED = ("item", "count")
# What columns are called, the more telling first.
NAMES = {
    "annotator": "annotator worker user user_id userid listener visitor session session_id worker_id".split(),
    "item": "item item_id itemid key song song_id artist artist_id track track_id product id".split(),
    "count": "count counts plays clicks n weight dwell seconds views purchases likes listens".split(),
    "exposure": "exposure exposures shown times_shown impressions on_offer".split(),
}


@dataclass(frozen=True)
class Counting:
    """How a file of counts is read. columns: the place of each of COLUMNS that there is.

    someone: who counted where no column names an annotator.   prefix: stands before every annotator's name.
    create: whether items are created that the project does not have.
    """

    columns: dict[str, int] = field(default_factory=dict)
    someone: str = "imported"
    prefix: str = ""
    create: bool = False


def guess_counts(text: str, name: str, *, columns: Mapping[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    """Return the mapping of an import. columns: names of those that are said (None: there is none), the others guessed.

    Raises BadFile.
    """
    layout = guess_layout(text, name)
    layout = replace(guess_layout(text, "") if layout.format == "lines" else layout, header=True)
    names = read_sheet(text, layout).columns
    have = folded(names)
    places = {
        what: have.index(next(one for one in known if one in have))
        for what, known in NAMES.items()
        if {*known} & {*have}
    }
    for what, column in check_known_columns(columns or {}, COLUMNS).items():
        places.pop(what, None)
        if (place := place_of(column, names)) is not None:
            places[what] = place
    return {"layout": asdict(layout), "counting": asdict(Counting(places, **settings))}


def check_count_columns(counting: Counting, names: Sequence[str]) -> None:
    """Raise BadFile where a needed column is not chosen, or one is chosen twice."""
    missing = [str(COLUMNS[what]) for what in NEEDED if what not in counting.columns]
    if missing:
        raise BadFile(
            _("Choose which columns hold: %(missing)s. The file has: %(names)s.")
            % {"missing": ", ".join(missing), "names": names_listed(names)}
        )
    places = sorted(counting.columns.values())
    again = next((place for place, after in pairwise(places) if place == after), None)
    if again is not None:
        raise BadFile(
            _("The column “%(name)s” is chosen twice. Choose another one for each.") % {"name": names[again][:60]}
        )


def layout_of(mapping: Mapping[str, Any]) -> Layout:
    return Layout(**mapping["layout"])
