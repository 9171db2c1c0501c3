"""Which column holds what: guessed from the names and the first rows, changeable by the owner."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf.locale import LANG_INFO

from annotate.core.languages import is_language_tag
from annotate.files.cells import TAG_SEPARATORS, is_number
from annotate.files.sheets import SheetRow

# Names that people give such columns, in English and German, the more telling first.
KEY = tuple("key id item_id itemid item doc_id document_id argument_id identifier uid uuid kennung".split())
TEXT = tuple("text body content sentence argument document passage statement translation essay answer".split())
TEXT += tuple("response prompt description inhalt aufsatz antwort dokument satz aussage beschreibung".split())
TITLE = tuple("title name heading pupil student titel bezeichnung überschrift schüler schülerin".split())
TITLE += ("schüler/in", "schüler:in", "schüler*in")
KIND = ("kind", "type", "format")
CONTEXT = ("context", "prompt")
COMPETITOR = tuple("competitor model system model_name system_name translator modell teilnehmer übersetzer".split())
LINK = ("link", "url")
TAGS = tuple("tags tag topics topic categories category group theme issue class".split())
TAGS += tuple("schlagwörter schlagwort themen thema kategorien kategorie gruppe klasse".split())
KNOWN = frozenset(KEY + TEXT + TITLE + KIND + CONTEXT + COMPETITOR + LINK + TAGS)

META, METADATA = "meta_", "metadata"
SECTIONS = "sections"
SECTION = re.compile(r"section_?(\d{1,2})(?:_(text|markdown|html|code|chat|link))?")
TRANSLATED = {"text": "text", "body": "text", "title": "title", "name": "title", "titel": "title"}
TRANSLATED |= {"context": "context", "prompt": "context"}

KINDS = frozenset("text markdown md html link url image audio video".split())
MAX_GUESSED_TITLE = 80  # characters; a longer cell is a text
MAX_GUESSED_TAG = 40  # characters
MAX_GUESSED_TAGS = 20  # different ones


# The engine's files of competitors name items by their keys and have no texts.
OF_COMPETITORS = [{"item", "competitor", *more} for more in ((), ("context",), ("tag",), ("context", "tag"))]


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
    title: int | None = None
    # Of columns such as text_de and title_de: the places, "text", "title" or "context", and the language.
    translations: tuple[tuple[int, str, str], ...] = ()
    competitor: int | None = None
    # Of columns such as section_1_markdown: the places and kinds, by number; of a column `sections`, in JSON.
    sections: tuple[tuple[int, str], ...] = ()
    # Of columns that are kept as they are: the places and their names; of a column `metadata`, a JSON object, "".
    metadata: tuple[tuple[int, str], ...] = ()


def guess(names: Sequence[str], first_rows: Sequence[SheetRow]) -> Columns:
    """Guess columns by name, else by what is in the first rows: the longest cells are the text, short ones that differ
    from row to row the title (and the key), a few that come again and again the tags."""
    values = [cells_of(first_rows, place) for place in range(len(names))]
    translated = translation_columns(names, taken=())
    guessed: dict[str, int | None] = {"kind": guess_kind(names, values, len(first_rows))}
    wanted = {"key": KEY, "tags": TAGS, "context": CONTEXT, "link": LINK, "competitor": COMPETITOR}
    guessed |= {what: find(names, known) for what, known in wanted.items()}
    text = find(names, TEXT)
    if text is None:
        text = next((place for place, what, _language in translated if what == "text"), None)
    sections = section_columns(names)
    if text is None and sections:
        text = sections[0][0]
    if text is None:
        text = longest(values, taken=set(guessed.values()))
    places: dict[str, Any] = {what: None if place == text else place for what, place in guessed.items()}
    if {name.strip().casefold() for name in names} in OF_COMPETITORS:
        places["key"] = text
    columns = Columns(text, **places, translations=translation_columns(names, taken={text}), sections=sections)
    columns = replace(columns, metadata=metadata_columns(names))
    return guess_names(names, values, len(first_rows), columns)


def guess_names(names: Sequence[str], values: Sequence[list[str]], n_rows: int, columns: Columns) -> Columns:
    """Guess title, key and tags where names have not told them."""
    taken = {columns.text, columns.key, columns.kind, columns.tags, columns.context, columns.link}
    taken |= {place for place, _what, _language in columns.translations}
    taken |= {columns.competitor, *(place for place, _kind in (*columns.sections, *columns.metadata))}
    free = [place for place in range(len(names)) if place not in taken]
    like_titles = [place for place in free if looks_like_title(values[place], n_rows)]
    like_tags = [place for place in free if looks_like_tags(values[place])]
    named = find(names, TITLE)
    title = named if named in free else next(iter(like_titles), None)
    tags = next((place for place in like_tags if place != title), None) if columns.tags is None else columns.tags
    key = title if columns.key is None and title in like_titles else columns.key
    return replace(columns, title=title, key=key, tags=tags)


def section_columns(names: Sequence[str]) -> tuple[tuple[int, str], ...]:
    """Return the columns whose names say that they are sections of an item, by number, and their kinds."""
    folded = [name.strip().casefold().replace(" ", "_") for name in names]
    if SECTIONS in folded:
        return ((folded.index(SECTIONS), SECTIONS),)
    found = [
        (int(match[1]), place, match[2] or "text")
        for place, name in enumerate(folded)
        if (match := SECTION.fullmatch(name))
    ]
    return tuple((place, kind) for _number, place, kind in sorted(found))


def metadata_columns(names: Sequence[str]) -> tuple[tuple[int, str], ...]:
    """Return the columns whose names say that they are metadata, as meta_author, and what that is called."""
    folded = [name.strip() for name in names]
    found = [(place, name[len(META) :]) for place, name in enumerate(folded) if name.casefold().startswith(META)]
    whole = [(place, "") for place, name in enumerate(folded) if name.casefold() == METADATA]
    return (*whole[:1], *((place, name) for place, name in found if name))


def translation_columns(names: Sequence[str], taken: Collection[int | None]) -> tuple[tuple[int, str, str], ...]:
    """Return the columns whose names say what they translate and into which language, as text_de and title_pt-BR."""
    found: dict[tuple[str, str], int] = {}
    for place, name in enumerate(names):
        what, _mark, language = name.strip().partition("_")
        known = language.lower().split("-")[0] in LANG_INFO and is_language_tag(language)
        if place not in taken and known and (kind := TRANSLATED.get(what.casefold())):
            found.setdefault((kind, language), place)
    return tuple((place, kind, language) for (kind, language), place in found.items())


def guess_kind(names: Sequence[str], values: Sequence[list[str]], n_rows: int) -> int | None:
    """Return the column called so, unless it holds a name in each row: Kind is the German for child."""
    kind = find(names, KIND)
    if kind is None or KINDS.intersection(cell.casefold() for cell in values[kind]):
        return kind
    return None if looks_like_title(values[kind], n_rows) else kind


def find(names: Sequence[str], known: Sequence[str]) -> int | None:
    folded = [name.strip().casefold().replace(" ", "_") for name in names]
    return next((folded.index(name) for name in known if name in folded), None)


def cells_of(rows: Sequence[SheetRow], place: int) -> list[str]:
    """Return the column's cells that are texts and not blank."""
    cells = [row.cells[place] for row in rows if place < len(row.cells)]
    return [cell.strip() for cell in cells if isinstance(cell, str) and cell.strip()]


def longest(values: Sequence[list[str]], taken: Collection[int | None]) -> int:
    """Choose among the columns not taken, rather one of words than of numbers."""
    free = [place for place in range(len(values)) if place not in taken] or [0]
    words = [place for place in free if not all(map(is_number, values[place]))] or free
    return max(words, key=lambda place: sum(map(len, values[place])))


def looks_like_title(cells: Sequence[str], n_rows: int) -> bool:
    """Check for short words in every row, different in each."""
    is_short = all(len(cell) <= MAX_GUESSED_TITLE for cell in cells)
    return 1 < n_rows == len(set(cells)) and is_short and not all(map(is_number, cells))


def looks_like_tags(cells: Sequence[str]) -> bool:
    """Return a few words that come twice or more on average."""
    tags = {tag.strip() for cell in cells for tag in TAG_SEPARATORS.split(cell)} - {""}
    is_short = all(len(tag) <= MAX_GUESSED_TAG for tag in tags)
    return 0 < len(tags) <= min(MAX_GUESSED_TAGS, len(cells) // 2) and is_short and not all(map(is_number, tags))
