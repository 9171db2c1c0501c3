"""Checking the rows of a sheet one by one: each becomes a new item or an error that says what to correct."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.utils.translation import gettext as _

from annotate.core.chat import parse_turns
from annotate.core.embeds import is_web_address
from annotate.core.sanitizing import strip_tags
from annotate.core.sections import Section, parse_sections, write_sections
from annotate.files.cells import check_key, shortened, tags_in, text_in
from annotate.files.column_guessing import SECTIONS, Columns
from annotate.files.limits import MAX_COMPETITOR, MAX_LINK, MAX_ROWS, MAX_TEXT, MAX_TITLE, BadFile, Unusable
from annotate.files.row_errors import RowError
from annotate.files.sheets import Cell, Sheet, SheetRow
from annotate.items.metadata import metadata_in
from annotate.models import Item

KINDS = {
    "": "",
    "text": Item.Kind.TEXT,
    "markdown": Item.Kind.MARKDOWN,
    "md": Item.Kind.MARKDOWN,
    "html": Item.Kind.HTML,
    "chat": Item.Kind.CHAT,
    "sections": Item.Kind.SECTIONS,
    "link": Item.Kind.LINK,
    "url": Item.Kind.LINK,
}


class NewItem(NamedTuple):
    place: int
    key: str
    body: str
    kind: str
    tags: tuple[str, ...] = ()
    media: str = ""  # the stored file's name
    context: str = ""
    link: str = ""
    features: tuple[float, ...] = ()
    captions: str = ""  # WebVTT
    captions_language: str = ""
    title: str = ""
    pages: tuple[str, ...] = ()  # the stored pictures of a document
    translations: tuple[tuple[str, ...], ...] = ()  # language, text, title and perhaps the context's text
    competitor: str = ""
    metadata: tuple[tuple[str, str], ...] = ()


@dataclass
class Checked:
    """`warnings` are about rows that become items all the same."""

    items: list[NewItem] = field(default_factory=list)
    errors: list[RowError] = field(default_factory=list)
    warnings: list[RowError] = field(default_factory=list)


class Keys:
    """The keys in use, by the project or by an earlier row, and a supply of new ones. row: what a row is called."""

    def __init__(self, in_project: Collection[str], row: str) -> None:
        self.in_project, self.row, self.rows = in_project, row, dict[str, int]()
        self.number = len(in_project)

    def __contains__(self, key: str) -> bool:
        return key in self.in_project or key in self.rows

    def take(self, key: str, place: int) -> str:
        """Return the key, now taken; raises Unusable if it was."""
        if key in self.in_project:
            message = _("The key “%(key)s” is already used by an item of this project. Choose another.")
            raise Unusable(message % {"key": shortened(key)})
        if key in self.rows:
            message = _(
                "The key “%(key)s” is already used in %(row)s %(place)d. Choose a different key for one of them."
            )
            raise Unusable(message % {"key": shortened(key), "row": self.row, "place": self.rows[key]})
        self.rows[key] = place
        return key

    def new(self, place: int) -> str:
        while True:
            self.number += 1
            key = f"item-{self.number}"
            if key not in self:
                return self.take(key, place)


def check(
    sheet: Sheet, columns: Columns, *, kind: str, keys: Collection[str], known_text: Callable[[str], bool]
) -> Checked:
    """Return every row as an item or an error. kind: of rows that name none; keys: those in use; known_text: is such a
    text in the project? Raises BadFile past MAX_ROWS rows, and what the sheet's own reader raises."""
    checked, texts = Checked(), dict[int, int]()
    for row, item, problem in each_row(sheet, columns, kind=kind, keys=keys):
        if item is None:
            checked.errors.append(RowError(row.place, problem))
            continue
        checked.items.append(item)
        checked.warnings.extend(repeated_text(item, texts, known_text))
    return checked


def each_row(
    sheet: Sheet, columns: Columns, *, kind: str, keys: Collection[str]
) -> Iterator[tuple[SheetRow, NewItem | None, str]]:
    """Yield every row with its item, or else what is wrong with it; raises what `check` raises."""
    taken, number = Keys(keys, _("row")), 0
    for number, row in enumerate(sheet.rows, 1):
        if number > MAX_ROWS:
            raise BadFile(
                _("There are more than %(limit)d rows. Split the file and import the parts one by one.")
                % {"limit": MAX_ROWS}
            )
        try:
            yield row, item_of(row, columns, kind, taken), ""
        except Unusable as problem:
            yield row, None, str(problem)
    if not number:
        raise BadFile(_("There are no rows. Put one item in each row."))


def item_of(row: SheetRow, columns: Columns, kind: str, keys: Keys) -> NewItem:
    if row.problem:
        raise Unusable(row.problem)
    named = "" if columns.kind is None else kind_in(row.cells[columns.kind])
    link = link_in(row, columns.link, named)
    sections = "" if link else sections_in_row(row, columns.sections)
    body = sections or text_in(row.cells[columns.text]) or link
    if len(body) > MAX_TEXT:
        raise Unusable(
            _("The text has %(length)d characters; the limit is %(limit)d. Shorten it or split it into several items.")
            % {"length": len(body), "limit": MAX_TEXT}
        )
    if not body:
        raise Unusable(_("The text is missing. Fill the cell or remove the row."))
    kind = Item.Kind.SECTIONS if sections else Item.Kind.LINK if link else named or kind
    if kind == Item.Kind.HTML and not strip_tags(body).strip():
        raise Unusable(_("The HTML contains no text that can be shown. Add some text."))
    if kind == Item.Kind.CHAT:
        check_chat(body)
    if kind == Item.Kind.SECTIONS:
        body = checked_sections(body)
    return NewItem(
        row.place,
        key_in(row, columns, keys),
        body,
        kind,
        () if columns.tags is None else tags_in(row.cells[columns.tags]),
        context=context_in(row, columns.context),
        link=link,
        features=tuple(number_in(row, place, sheet_name) for place, sheet_name in columns.features),
        title="" if columns.title is None else title_in(row.cells[columns.title]),
        translations=translations_in(row, columns.translations),
        competitor="" if columns.competitor is None else competitor_in(row.cells[columns.competitor]),
        metadata=metadata_in(row, columns.metadata),
    )


def check_chat(body: str) -> None:
    try:
        parse_turns(body)
    except ValueError as problem:
        raise Unusable(str(problem)) from problem


def sections_in_row(row: SheetRow, columns: Sequence[tuple[int, str]]) -> str:
    """Return the sections that the row's columns hold, as JSON; empty cells are none."""
    found = []
    for place, kind in columns:
        text = text_in(row.cells[place])
        if text and kind == SECTIONS:
            return text
        if text:
            found.append(Section(kind, link=text) if kind == Item.Kind.LINK else Section(kind, text))
    return write_sections(found) if found else ""


def checked_sections(body: str) -> str:
    """Return the sections as they are stored. Files come by a zip file alone."""
    try:
        sections = parse_sections(body)
    except ValueError as problem:
        raise Unusable(str(problem)) from problem
    if any(one.is_file for one in sections):
        raise Unusable(_("A section is an image, sound or video. Import such items as a zip file with a manifest."))
    return write_sections(sections)


def translations_in(row: SheetRow, columns: Sequence[tuple[int, str, str]]) -> tuple[tuple[str, ...], ...]:
    """Return what the row says in each further language: empty cells say nothing."""
    found: dict[str, dict[str, str]] = {}
    for place, what, language in columns:
        text = title_in(row.cells[place]) if what == "title" else text_in(row.cells[place])
        if len(text) > MAX_TEXT:
            raise Unusable(
                _("The text in “%(language)s” has %(length)d characters; the limit is %(limit)d. Shorten it.")
                % {"language": language, "length": len(text), "limit": MAX_TEXT}
            )
        if text:
            found.setdefault(language, {})[what] = text
    names = ("text", "title", "context")
    return tuple((language, *(one.get(name, "") for name in names)) for language, one in found.items())


def title_in(cell: Cell) -> str:
    """Return the title in one line."""
    title = " ".join(text_in(cell).split())
    if len(title) > MAX_TITLE:
        raise Unusable(
            _("The title “%(title)s” has %(length)d characters; the limit is %(limit)d. Shorten it.")
            % {"title": shortened(title), "length": len(title), "limit": MAX_TITLE}
        )
    return title


def competitor_in(cell: Cell) -> str:
    """Return the competitor's name in one line."""
    name = " ".join(text_in(cell).split())
    if len(name) > MAX_COMPETITOR:
        raise Unusable(
            _("The competitor “%(name)s” has %(length)d characters; the limit is %(limit)d. Shorten it.")
            % {"name": shortened(name), "length": len(name), "limit": MAX_COMPETITOR}
        )
    return name


def number_in(row: SheetRow, place: int, name: str) -> float:
    """Return a feature's value: a finite number; a comma may divide its decimals."""
    text = text_in(row.cells[place])
    if not text:
        raise Unusable(
            _("The feature “%(name)s” is empty. Fill in a number, or choose other features.")
            % {"name": shortened(name)}
        )
    try:
        value = float(text if "." in text else text.replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Unusable(
            _("The feature “%(name)s” is “%(value)s”, which is not a finite number. Correct it.")
            % {"name": shortened(name), "value": shortened(text)}
        )
    return value


def context_in(row: SheetRow, column: int | None) -> str:
    context = "" if column is None else text_in(row.cells[column])
    if len(context) > MAX_TEXT:
        raise Unusable(
            _("The context has %(length)d characters; the limit is %(limit)d. Shorten it.")
            % {"length": len(context), "limit": MAX_TEXT}
        )
    return context


def link_in(row: SheetRow, column: int | None, kind: str) -> str:
    """Return the row's address, checked; only an item that is a link may have one, and each such must."""
    link = "" if column is None else text_in(row.cells[column])
    if not link:
        if kind == Item.Kind.LINK:
            raise Unusable(_("The kind is “link”, but the column for links is empty. Add the address."))
        return ""
    if kind not in ("", Item.Kind.LINK):
        raise Unusable(
            _("The row has an address, but its kind is “%(kind)s”. Change the kind to “link”.") % {"kind": kind}
        )
    if len(link) > MAX_LINK:
        raise Unusable(
            _("The address has %(length)d characters; the limit is %(limit)d. Use a shorter one.")
            % {"length": len(link), "limit": MAX_LINK}
        )
    if not is_web_address(link):
        raise Unusable(
            _("“%(link)s” is not a web address. Write it in full, as in https://example.org/page.")
            % {"link": shortened(link)}
        )
    return link


def key_in(row: SheetRow, columns: Columns, keys: Keys) -> str:
    """Return the row's key; a new one where the cell is empty, or repeats what is a title too, which need not be
    unique."""
    key = "" if columns.key is None else text_in(row.cells[columns.key])
    if not key or (columns.key == columns.title and key in keys):
        return keys.new(row.place)
    check_key(key)
    return keys.take(key, row.place)


def kind_in(cell: Cell) -> str:
    name = text_in(cell).casefold()
    if name in KINDS:
        return KINDS[name]
    if name in (Item.Kind.IMAGE, Item.Kind.AUDIO, Item.Kind.VIDEO):
        message = _("The kind is “%(kind)s”. Images, sound and video come as files: upload them under “Upload media”.")
        raise Unusable(message % {"kind": name})
    raise Unusable(
        _("The kind “%(kind)s” is unknown. Use one of: %(known)s. Or leave the cell empty.")
        % {"kind": shortened(name), "known": "text, markdown, html, chat, sections, link"}
    )


def repeated_text(item: NewItem, texts: dict[int, int], known_text: Callable[[str], bool]) -> Iterator[RowError]:
    earlier = texts.setdefault(hash((item.context, item.body)), item.place)
    if earlier != item.place:
        yield RowError(item.place, _("Row %(row)d has the same text.") % {"row": earlier})
    elif not item.context and known_text(item.body):
        yield RowError(item.place, _("The project already has an item with the same text."))
