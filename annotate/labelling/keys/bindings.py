"""The keys of the task page: which one does what, by default and as an annotator has chosen."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.utils.translation import get_language_bidi

from annotate.models import MAX_ITEMS_SHOWN

# What each character does unless chosen otherwise. "1" is the first item (or step of a scale) on the page, 0 the tenth.
DEFAULTS = {
    **{str(place): str(place % 10) for place in range(1, MAX_ITEMS_SHOWN + 1)},
    "tie": "t",
    "both_good": "g",
    "both_bad": "b",
    "cant_judge": "c",
    "skip": "s",
    "undo": "u",
    "help": "?",
}
# Keys that type nothing go with their action whatever is chosen; they hardly happen by speech or by chance.
NAMED_KEYS = {"skip": ["Space"], "undo": ["Backspace"], "done": ["Enter"]}
LEFT, RIGHT = ("ArrowLeft", "Numpad4"), ("ArrowRight", "Numpad6")


def is_usable(key: str) -> bool:
    """Return whether the text is one letter, digit or sign that a key types; capitals count as small letters."""
    return len(key) == 1 and unicodedata.category(key)[0] in "LNPS"


@dataclass(frozen=True)
class Keys:
    """The keys of one task page. chosen: action -> character, "" for none; pair: one of two items is chosen."""

    chosen: Mapping[str, str] = field(default_factory=dict)
    pair: bool = False

    @property
    def bound(self) -> tuple[bool, tuple[tuple[str, str], ...]]:
        """Return what tells these keys from others."""
        return self.pair, tuple(sorted(self.chosen.items()))

    def of(self, action: str) -> str:
        """Return the character that does it, "" for none: who chose it for something else took it from its default."""
        if action in self.chosen:
            return self.chosen[action]
        default = DEFAULTS.get(action, "")
        return "" if default in self.chosen.values() else default

    def also(self, action: str) -> list[str]:
        """Return the other keys that do it, by the browser's names for them."""
        names = list(NAMED_KEYS.get(action, []))
        if action == "tie" and self.of(action) == DEFAULTS[action] and "0" not in self.chosen.values():
            names.append("0")
        if self.pair and action in ("1", "2"):
            arrow, numpad = LEFT if (action == "1") != get_language_bidi() else RIGHT
            names.append(arrow)
            if self.of(action) == DEFAULTS[action]:
                names.append(numpad)
        return names
