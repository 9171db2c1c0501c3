"""A column of weights in a file of comparisons: checked and left aside, for every answer counts once on the site."""

import math
from collections.abc import Sequence

from django.utils.translation import gettext as _

from annotate.files.cells import shortened
from annotate.files.limits import Unusable
from annotate.files.sheets import SheetRow
from annotate.imports.comparisons.tables import Voting, folded

NAMES = ("weight", "weights", "label_weight")
LEAST, MOST = 1e-12, 1e12  # the limits of the engine, whose command line counts weights


def weight_column(names: Sequence[str], voting: Voting) -> int | None:
    """Return the place of the column of weights; None where there is none, or it was chosen for something else."""
    have = folded(names)
    place = next((have.index(name) for name in NAMES if name in have), None)
    return None if place in voting.columns.values() else place


def check_weight(row: SheetRow, place: int | None) -> bool:
    """Return whether the row gives a weight other than 1. Raises Unusable where it is none, or 0."""
    cell = row.cells[place] if place is not None and place < len(row.cells) else ""
    text = (cell if isinstance(cell, str) else ";".join(cell)).strip()
    if not text:
        return False
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if weight == 0:
        raise Unusable(_("The weight 0 says that the answer does not count. Leave the row out."))
    if not LEAST <= weight <= MOST:
        raise Unusable(
            _("The weight “%(value)s” is not a number above 0, up to %(limit)s. Correct it, or empty the cell for 1.")
            % {"value": shortened(text), "limit": f"{MOST:.0e}".replace("+", "")}
        )
    return weight != 1
