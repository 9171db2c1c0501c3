"""Keeps the pictures of documents: in a zip file while an import is checked, then where items keep their files."""

import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from annotate.core.quoting import quoted
from annotate.files.cells import shortened
from annotate.files.limits import MAX_IMPORT_PAGES, Unusable
from annotate.imports.media.documents import Document, read_document


class Pages:
    """The pictures of documents, written to a zip file of their own while the documents are read."""

    def __init__(self, target: Path | IO[bytes], on_page: Callable[[], None]) -> None:
        self.on_page, self.target, self.n = on_page, target, 0
        self.zip: zipfile.ZipFile | None = None  # until there is a picture

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        if self.zip:
            self.zip.close()

    def read(self, name: str, data: bytes, place: int) -> Document:
        """Raise Unusable, with the document's name."""
        try:
            return read_document(
                name, data, lambda picture, suffix: self.keep(place, picture, suffix), MAX_IMPORT_PAGES - self.n
            )
        except Unusable as problem:
            raise Unusable(f"{quoted(shortened(name))}: {problem}") from problem

    def keep(self, place: int, data: bytes, suffix: str) -> str:
        """Keep one file of the item in this place; return its name in the zip file."""
        self.n += 1
        self.zip = self.zip or zipfile.ZipFile(self.target, "w")
        self.zip.writestr(page := f"{place}-{self.n}.{suffix}", data)
        self.on_page()
        return page


def store_pages(file: IO[bytes], documents: Mapping[int, Sequence[str]], prefix: str) -> dict[int, tuple[str, ...]]:
    """Store the pictures of documents, by their place; return the names that they are stored under."""
    with zipfile.ZipFile(file) as pages:
        return {
            place: tuple(store_over(f"items/{prefix}-{page}", pages.read(page)) for page in names)
            for place, names in documents.items()
        }


def store_over(name: str, data: bytes) -> str:
    """Store a file under this name, over what a first attempt has left there."""
    default_storage.delete(name)
    return default_storage.save(name, ContentFile(data))
