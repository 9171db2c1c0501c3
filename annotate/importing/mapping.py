"""Which column holds what: guessed from the names, changeable by the owner."""

from collections.abc import Sequence
from dataclasses import dataclass

from annotate.importing.sheets import SheetRow

# Names that people give such columns, the more telling first.
KEY = tuple("key id item_id itemid item doc_id document_id argument_id identifier uid uuid".split())
TEXT = tuple("text body content sentence argument document passage statement translation essay answer".split())
TEXT += tuple("response prompt description title name".split())
KIND = ("kind", "type", "format")
CONTEXT = ("context", "prompt")
LINK = ("link", "url")
TAGS = tuple("tags tag topics topic categories category group theme issue".split())
KNOWN = frozenset(KEY + TEXT + KIND + CONTEXT + LINK + TAGS)


@dataclass(frozen=True)
class Columns:
    """The places of the columns; None where there is none."""

    text: int
    key: int | None = None
    kind: int | None = None
    tags: int | None = None
    context: int | None = None
    link: int | None = None
    # Of columns of numbers: the places and the names that the features get.
    features: tuple[tuple[int, str], ...] = ()


def guess(names: Sequence[str], first_rows: Sequence[SheetRow]) -> Columns:
    """By name; without a name for the text, the column with the longest cells among the others."""
    others = [find(names, known) for known in (KEY, KIND, TAGS, CONTEXT, LINK)]
    text = find(names, TEXT)
    if text is None:
        free = [place for place in range(len(names)) if place not in others] or [0]
        text = max(free, key=lambda place: length(first_rows, place))
    key, kind, tags, context, link = (None if place == text else place for place in others)
    return Columns(text, key, kind, tags, context, link)


def find(names: Sequence[str], known: Sequence[str]) -> int | None:
    folded = [name.strip().casefold().replace(" ", "_") for name in names]
    return next((folded.index(name) for name in known if name in folded), None)


def length(rows: Sequence[SheetRow], place: int) -> int:
    return sum(len(row.cells[place]) for row in rows if place < len(row.cells) and isinstance(row.cells[place], str))
