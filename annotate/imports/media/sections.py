"""Reads the sections of an item in a zip file: its JSON, with the files that they name."""

from collections.abc import Callable

from annotate.core.sections import parse_sections, write_sections
from annotate.files.limits import Unusable
from annotate.imports.media.documents import Document
from annotate.models import Item

Stored = Callable[[str, str], tuple[str, str]]


def read_sections(text: str, stored: Stored) -> Document:
    """Return the sections with their files by number.

    stored: takes a file's name and kind, returns the name that it is kept under and what its name says of it. Raises
    Unusable.
    """
    try:
        sections = parse_sections(text)
    except ValueError as problem:
        raise Unusable(str(problem)) from problem
    pages: list[str] = []
    found = []
    for one in sections:
        if one.is_file:
            page, described = stored(str(one.file), one.kind)
            pages.append(page)
            one = one._replace(file=len(pages), text=one.text or described)
        found.append(one)
    return Document(Item.Kind.SECTIONS, write_sections(found), tuple(pages))
