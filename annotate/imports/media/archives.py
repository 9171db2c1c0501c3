"""Reading a zip file of media: its manifest row by row, every file by what is in it, and nothing that could do harm."""

import io
import json
import math
import stat
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile
from django.utils.translation import gettext as _

from annotate.core.quoting import quoted
from annotate.files.cells import check_characters, check_key, names_listed, shortened, tags_in, text_in
from annotate.files.column_guessing import find, metadata_columns
from annotate.files.decoding import decode
from annotate.files.layout import guess_layout, read_sheet
from annotate.files.limits import (
    MAX_DOCUMENT_BYTES,
    MAX_ENTRIES,
    MAX_FILE_BYTES,
    MAX_IMAGE_BYTES,
    MAX_IMPORT_PAGES,
    MAX_RECORDING_BYTES,
    MAX_TEXT,
    MAX_TITLE,
    MAX_UNFOLDED,
    MAX_ZIP_BYTES,
    MOST_FOLDED,
    BadFile,
    Unusable,
)
from annotate.files.packages import BOUNDED
from annotate.files.sheets import Cell, Sheet, SheetRow
from annotate.imports.media.documents import Document, check_pages, is_document, refuse_other_formats
from annotate.imports.media.pages import Pages, store_over
from annotate.imports.media.sections import read_sections
from annotate.imports.prepared import Line, Read
from annotate.items.media.images import Picture, read_picture
from annotate.items.metadata import metadata_in
from annotate.items.rows import Keys, competitor_in, title_in

MANIFESTS = ("manifest.csv", "manifest.tsv", "manifest.jsonl", "manifest.json")
COLUMNS = {
    "file": ("file", "filename", "file_name", "path", "image", "media"),
    "key": ("key", "id", "item"),
    "text": ("text", "alt", "description", "caption", "transcript", "title"),
    "title": ("title", "name", "titel"),
    "tags": ("tags", "tag"),
    "context": ("context", "prompt"),
    "competitor": ("competitor", "model", "system"),
    "features": ("features",),
    "sections": ("sections",),
}
FEATURE = "feature_"
IGNORED = ("__MACOSX", "Thumbs.db", "desktop.ini")
ENCRYPTED = 1


class Entry(NamedTuple):
    """A file that becomes an item."""

    place: int
    file: str
    key: str
    body: str
    kind: str
    suffix: str
    tags: Sequence[str]
    context: str
    features: Sequence[float]
    title: str = ""
    competitor: str = ""
    pages: Sequence[str] = ()  # of a document: the names of its pictures in the archive of pages
    metadata: Sequence[Sequence[str]] = ()


def check_is_zip(file: UploadedFile) -> None:
    """At first sight; raises BadFile."""
    if (file.size or 0) > MAX_ZIP_BYTES:
        raise BadFile(
            _("The zip file has %(size).0f MB; the limit is %(limit)d MB. Import it in several parts.")
            % {"size": (file.size or 0) / 2**20, "limit": MAX_ZIP_BYTES // 2**20}
        )
    if file.read(4) not in (b"PK\x03\x04", b"PK\x05\x06"):
        raise BadFile(_("“%(name)s” is not a zip file. Pack the media files into one.") % {"name": file.name})


def opened(file: IO[bytes]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise BadFile(
            _("This is not a zip file, or it is damaged: %(problem)s. Create it again.") % {"problem": error}
        ) from error


def files_in(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the archive's files by name. Raises BadFile, naming it, for an entry that no honest packer writes."""
    infos = [info for info in archive.infolist() if not info.is_dir() and not is_ignored(info.filename)]
    if len(infos) > MAX_ENTRIES:
        raise BadFile(
            _("The zip file holds %(n)d files; the limit is %(limit)d. Import them in several parts.")
            % {"n": len(infos), "limit": MAX_ENTRIES}
        )
    unfolded, found = 0, dict[str, zipfile.ZipInfo]()
    for info in infos:
        if problem := harm_in(info, found):
            raise BadFile(
                _("“%(name)s” in the zip file %(problem)s") % {"name": shortened(info.filename), "problem": problem}
            )
        unfolded += info.file_size
        if unfolded > MAX_UNFOLDED:
            raise BadFile(
                _("Unpacked, the zip file has over %(limit)d MB (reached at “%(name)s”). Import it in several parts.")
                % {"limit": MAX_UNFOLDED // 2**20, "name": shortened(info.filename)}
            )
        found[info.filename] = info
    return found


def is_ignored(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and (parts[0] in IGNORED or parts[-1] in IGNORED or parts[-1].startswith("."))


def harm_in(info: zipfile.ZipInfo, before: Collection[str]) -> str:
    name = info.filename
    if name.startswith("/") or "\\" in name or ":" in name or ".." in PurePosixPath(name).parts:
        return _("has a path that leads out of the zip file. Create it again with plain names.")
    if stat.S_ISLNK(info.external_attr >> 16):
        return _("is a link to another file. Pack the file itself.")
    if info.flag_bits & ENCRYPTED:
        return _("is encrypted. Pack it again without a password.")
    if info.compress_type not in BOUNDED:
        return _("is packed in an unusual way. Create it again as an ordinary zip file.")
    if info.file_size > 2**20 and info.file_size > MOST_FOLDED * max(info.compress_size, 1):
        return _("unpacks to more than %(limit)d times its size, which no picture or recording does. Leave it out.") % {
            "limit": MOST_FOLDED
        }
    if name in before:
        return _("appears twice. Create the zip file again.")
    return ""


def content(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes:
    """Return the file, unfolded no further than the limit, whatever its entry says of its size. Raises Unusable."""
    try:
        with archive.open(info) as file:
            data = file.read(min(limit, info.file_size) + 1)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, RuntimeError, ValueError) as error:
        raise Unusable(
            _("The file is damaged in the zip file: %(problem)s. Pack it again.") % {"problem": error}
        ) from error
    if len(data) > limit:
        raise Unusable(
            _("The file has more than %(limit)d MB. Make it smaller, or leave it out.") % {"limit": limit // 2**20}
        )
    return data


class Archive:
    """A zip file as rows, those of its manifest or else one for each file."""

    def __init__(
        self,
        file: IO[bytes],
        keys: Collection[str],
        pages: Path | IO[bytes] | None = None,
        on_page: Callable[[], None] = lambda: None,
    ) -> None:
        """pages: where the pictures of documents go, as a zip file; it is there only if there are some.

        on_page: called after each of them.
        """
        self.pages = Pages(pages or io.BytesIO(), on_page)
        self.zip = opened(file)
        self.files = files_in(self.zip)
        self.keys = Keys(keys, _("row"))
        name = next((name for name in self.files if PurePosixPath(name).name.casefold() in MANIFESTS), "")
        self.folder = PurePosixPath(name).parent
        self.media = {path: info for path, info in self.files.items() if path != name}
        self.has_manifest = bool(name)
        self.sheet = self.manifest(name) if name else self.no_manifest()
        self.columns = self.sheet.columns
        self.at = {what: find(self.columns, names) for what, names in COLUMNS.items()}
        if self.at["file"] is None and self.at["sections"] is None:
            raise BadFile(
                _("“%(name)s” has no column “file” that names each file. It has: %(columns)s.")
                % {"name": name, "columns": names_listed(self.columns)}
            )
        self.numbers = [place for place, column in enumerate(self.columns) if column.startswith(FEATURE)]
        self.features = [self.columns[place].removeprefix(FEATURE) for place in self.numbers]

    def manifest(self, name: str) -> Sheet:
        try:
            text = decode(content(self.zip, self.files[name], MAX_FILE_BYTES), name).text
        except Unusable as problem:
            raise BadFile(f"{quoted(shortened(name))}: {problem}") from problem
        layout = guess_layout(text, name)
        return read_sheet(text, layout)

    def no_manifest(self) -> Sheet:
        return Sheet(["file"], (SheetRow(n, [name]) for n, name in enumerate(self.media, 1)))

    @property
    def every(self) -> int:
        """Return the rows between two notes of progress: a document takes its time."""
        return 1 if any(is_document(name) for name in self.files) else 10

    def rows(self) -> Iterator[Read]:
        with self.pages:
            yield from self.read_rows()

    def read_rows(self) -> Iterator[Read]:
        used: dict[str, int] = {}
        for row in self.sheet.rows:
            if row.place > 0 and len(used) > MAX_ENTRIES:
                raise BadFile(_("The manifest has more than %(limit)d rows. Divide it.") % {"limit": MAX_ENTRIES})
            try:
                entry = self.entry(row, used)
            except Unusable as problem:
                # Without a manifest there are no rows that a person could look at: the problem names the file.
                yield Read(row.place if self.has_manifest else 0, row.cells, problem=str(problem))
            else:
                yield Read(row.place, row.cells, [("media", entry)])
        if self.at["file"] is not None or self.at["sections"] is not None:
            yield from (
                Read(
                    0,
                    [name],
                    problem=_("No row of the manifest names the file “%(name)s”.") % {"name": shortened(name)},
                )
                for name in self.media
                if name not in used
            )

    def ahead(self) -> Sequence[Line]:
        return ()

    def entry(self, row: SheetRow, used: dict[str, int]) -> Entry:
        if row.problem:
            raise Unusable(row.problem)
        cells = {what: "" if place is None else row.cells[place] for what, place in self.at.items()}
        sections = text_in(cells["sections"])
        name = "" if sections else self.path_of(text_in(cells["file"]), row.place, used)
        picture, document = self.sections(sections, row.place, used) if sections else self.read(name, row.place)
        key = text_in(cells["key"]) or picture.key
        check_key(key)
        values = self.values(row, cells["features"])
        described = document.body if document else picture.description
        body, context = (not sections and text_in(cells["text"])) or described, text_in(cells["context"])
        for text in (body, context):
            if len(text) > MAX_TEXT:
                raise Unusable(
                    _("The text has %(length)d characters; the limit is %(limit)d. Shorten it.")
                    % {"length": len(text), "limit": MAX_TEXT}
                )
        tags, title = tags_in(cells["tags"]), title_in(cells["title"])
        key = self.keys.take(key, row.place)
        competitor, kept = competitor_in(cells["competitor"]), metadata_in(row, metadata_columns(self.columns))
        if document:
            title = title or ("" if sections else title_in(picture.description[:MAX_TITLE]))
            kind, suffix, pages = document.kind, "", document.pages
        else:
            kind, suffix, pages = picture.kind, picture.suffix, ()
        return Entry(row.place, name, key, body, kind, suffix, tags, context, values, title, competitor, pages, kept)

    def path_of(self, name: str, place: int, used: dict[str, int]) -> str:
        if not name:
            raise Unusable(_("The row names no file. Fill the column “file”."))
        path = str(self.folder / name) if str(self.folder / name) in self.media else name
        if path not in self.media:
            raise Unusable(
                _("There is no file “%(name)s” in the zip file. Add it, or correct the name (large and small letters).")
                % {"name": shortened(name)}
            )
        earlier = used.setdefault(path, place)
        if earlier != place:
            raise Unusable(
                _("The file “%(name)s” is already used in row %(row)d.") % {"name": shortened(name), "row": earlier}
            )
        return path

    def read(self, name: str, place: int) -> tuple[Picture, Document | None]:
        """Return what a file holds; of a document, the picture has its name alone."""
        check_characters(name)
        refuse_other_formats(name)
        if is_document(name):
            data = content(self.zip, self.media[name], MAX_DOCUMENT_BYTES)
            return Picture(PurePosixPath(name).name), self.pages.read(name, data, place)
        picture = picture_in(self.zip, self.media[name])
        if picture.problem:
            raise Unusable(f"{quoted(shortened(name))}: {picture.problem}")
        return picture, None

    def sections(self, text: str, place: int, used: dict[str, int]) -> tuple[Picture, Document]:
        """Return the item's sections as a document whose pictures are their files."""

        def stored(name: str, kind: str) -> tuple[str, str]:
            check_characters(name)
            check_pages(1, MAX_IMPORT_PAGES - self.pages.n)
            picture = picture_in(self.zip, self.media[self.path_of(name, place, used)])
            if picture.problem or picture.kind != kind:
                problem = picture.problem or _("The file is not of the kind “%(kind)s”.") % {"kind": kind}
                raise Unusable(f"{quoted(shortened(name))}: {problem}")
            data = picture.file.read() if picture.file else picture.content
            return self.pages.keep(place, data, picture.suffix), picture.description

        return Picture(f"item-{place}"), read_sections(text, stored)

    def values(self, row: SheetRow, cell: Cell) -> list[float]:
        """From columns feature_…, or from a column `features` of JSON objects with the same names in every row."""
        if self.at["features"] is None:
            cells = (row.cells[place] for place in self.numbers)
            return [finite(name, value) for name, value in zip(self.features, cells, strict=True)]
        given = object_in(text_in(cell))
        self.features = self.features or list(given)
        if list(given) != self.features:
            raise Unusable(
                _(
                    "This row has the features %(these)s; the rows before it have %(those)s. Give all items the "
                    "same features."
                )
                % {"these": shortened(", ".join(given)) or "–", "those": shortened(", ".join(self.features))}
            )
        return [finite(name, value) for name, value in given.items()]


def object_in(text: str) -> dict[str, object]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Unusable(
            _('The features “%(value)s” are not a JSON object such as {"length": 3}.') % {"value": shortened(text)}
        )
    return found


def finite(name: str, value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise Unusable(
            _("The feature “%(name)s” is “%(value)s”, which is not a finite number. Correct it.")
            % {"name": shortened(name), "value": shortened(str(value))}
        )
    return number


def picture_in(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Picture:
    """Raise Unusable for what can't be unfolded; other problems are the picture's own."""
    data = content(archive, info, max(MAX_IMAGE_BYTES, MAX_RECORDING_BYTES))
    return read_picture(SimpleUploadedFile(PurePosixPath(info.filename).name, data))


def store(file: IO[bytes], entries: Sequence[Entry], prefix: str) -> list[str]:
    """Store the entries' files where items keep theirs. A second attempt finds the same names and writes over them.

    Returns a name for each, empty for documents (store_pages).
    """
    names = []
    with opened(file) as archive:
        for entry in entries:
            if entry.pages or not entry.suffix:
                names.append("")
                continue
            picture = picture_in(archive, archive.getinfo(entry.file))
            data = picture.file.read() if picture.file else picture.content
            names.append(store_over(f"items/{prefix}-{entry.place}.{entry.suffix}", data))
    return names
