"""Reads single cells of an uploaded table: texts, tags, and the errors they give."""

import json
import re
from collections.abc import Sequence

from django.utils.translation import gettext as _

from annotate.files.limits import MAX_KEY, MAX_TAG, MAX_TAGS, Unusable
from annotate.files.sheets import Cell

TAG_SEPARATORS = re.compile(r"[;,|\n]")


# What no database column or page can hold: NUL, and halves of characters, which only JSON can spell.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def text_in(cell: Cell) -> str:
    if not isinstance(cell, str):
        raise Unusable(_("The cell is a list of %(n)d values. Choose a column of single values.") % {"n": len(cell)})
    check_characters(cell)
    return cell.replace("\r\n", "\n").replace("\r", "\n").strip()


def check_characters(text: str) -> None:
    found = UNSTORABLE.search(text)
    if found:
        raise Unusable(
            _("The character U+%(code)04X at place %(place)d can't be stored. Remove it.")
            % {"code": ord(found.group()), "place": found.start() + 1}
        )


def tags_in(cell: Cell) -> tuple[str, ...]:
    names = listed(cell) if isinstance(cell, str) else cell
    tags = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    if len(tags) > MAX_TAGS:
        raise Unusable(
            _("The row has %(n)d tags; the limit is %(limit)d. Remove some, or choose another column for the tags.")
            % {"n": len(tags), "limit": MAX_TAGS}
        )
    for tag in tags:
        check_characters(tag)
        if len(tag) > MAX_TAG:
            raise Unusable(
                _("The tag “%(tag)s” has %(length)d characters; the limit is %(limit)d. Shorten it.")
                % {"tag": shortened(tag), "length": len(tag), "limit": MAX_TAG}
            )
    return tags


def listed(cell: str) -> list[str]:
    """Return the names in a cell: divided by commas, semicolons, bars or lines, or a JSON list, as the export writes
    it."""
    if cell.startswith("["):
        try:
            found = json.loads(cell)
        except ValueError:
            found = None
        if isinstance(found, list) and all(isinstance(one, str) for one in found):
            return found
    return TAG_SEPARATORS.split(cell)


def shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


def check_key(key: str) -> None:
    """Raise Unusable for a key that no item can have."""
    if not key.strip():
        raise Unusable(_("The item's key is empty. Write one of at most %(limit)d characters.") % {"limit": MAX_KEY})
    if len(key) > MAX_KEY:
        raise Unusable(
            _("The key “%(key)s” has %(length)d characters; the limit is %(limit)d. Shorten it.")
            % {"key": shortened(key), "length": len(key), "limit": MAX_KEY}
        )
    check_characters(key)


def unknown_item(key: str) -> str:
    """Return what is wrong with a row that names an item which the project does not have."""
    return _("There is no item with the key “%(key)s” in this project. Correct the key, or import the item first.") % {
        "key": shortened(key)
    }


def names_listed(names: Sequence[str], limit: int = 12) -> str:
    """Return the names, long ones cut; of many the first `limit` and how many more there are, two at least."""
    if len(names) <= limit + 1:
        return ", ".join(map(shortened, names))
    shown = ", ".join(map(shortened, names[:limit]))
    return _("%(names)s and %(n)d more") % {"names": shown, "n": len(names) - limit}


def is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
