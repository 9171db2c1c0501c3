"""From the bytes of an uploaded table, gzipped or not, to text: UTF-8, UTF-16, UTF-32 or Windows-1252, and never a
binary file."""

import codecs
import gzip
import io
import zlib
from dataclasses import dataclass

from django.core.files.base import File
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotate.files.limits import MAX_FILE_BYTES, BadFile

BOMS = [
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is how this one begins
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
]
SPREADSHEET = gettext_lazy(
    "“%(name)s” is a workbook or a zip file. Save its table as .xlsx or “CSV UTF-8” and upload that."
)
PICTURE = gettext_lazy("“%(name)s” is a picture or a recording. Upload it under “Upload media”.")
BINARY = gettext_lazy("“%(name)s” is not a text file. Upload CSV, TSV, JSON, JSON lines or plain text.")
SIGNATURES = [
    (b"PK\x03\x04", SPREADSHEET),
    (b"PK\x05\x06", SPREADSHEET),  # without a file in it
    (b"\xd0\xcf\x11\xe0", SPREADSHEET),
    (b"\x89PNG", PICTURE),
    (b"\xff\xd8\xff", PICTURE),
    (b"GIF8", PICTURE),
    (b"RIFF", PICTURE),
    (b"%PDF", BINARY),
    (b"\x1f\x8b", BINARY),  # packed twice
    (b"PAR1", BINARY),
    (b"SQLite", BINARY),
]
GZIP = b"\x1f\x8b"
NAMES = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "utf-16": "UTF-16", "utf-32": "UTF-32", "cp1252": "Windows-1252"}
LOOK = 4096  # bytes looked at for UTF-16 without a mark


@dataclass(frozen=True)
class Decoded:
    text: str
    encoding: str  # as people know it


def decode(data: bytes, name: str) -> Decoded:
    """Return the text of an uploaded file; raises BadFile for what is no text or too much of it."""
    if len(data) > MAX_FILE_BYTES:
        raise too_large(name, len(data))
    if data.startswith(GZIP):
        data = unfolded(data, name)
    for signature, message in SIGNATURES:
        if data.startswith(signature):
            raise BadFile(str(message) % {"name": name})
    if name.lower().endswith(".zip"):
        raise BadFile(
            _(
                "“%(name)s” is called a zip file, but it is none: it is damaged, or it has the wrong name. If it is a "
                "table, give it a name that ends in .csv and upload it again."
            )
            % {"name": name}
        )
    encoding = encoding_of(data)
    text = decoded(data, encoding, name)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise BadFile(
            _(
                "“%(name)s” contains a NUL character in line %(line)d: it is damaged or not text. Save it again as "
                "UTF-8."
            )
            % {"name": name, "line": line}
        )
    if not text.strip():
        raise BadFile(_("“%(name)s” is empty. Put one item in each row and upload it again.") % {"name": name})
    return Decoded(text, NAMES.get(encoding, "UTF-16"))


def decode_upload(file: File) -> Decoded:
    """Return the same of a file as it came; one that is too large is not even read."""
    name = file.name or _("a file")
    if (file.size or 0) > MAX_FILE_BYTES:
        raise too_large(name, file.size or 0)
    return decode(file.read(), name)


def unfolded(data: bytes, name: str) -> bytes:
    """Return what a gzipped file holds, no more of it read than the limit of a file. Raises BadFile."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(MAX_FILE_BYTES + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise BadFile(
            _(
                "“%(name)s” can't be unpacked (%(problem)s): it is damaged. Pack it again with gzip, or upload it "
                "unpacked."
            )
            % {"name": name, "problem": type(error).__name__}
        ) from error
    if len(found) > MAX_FILE_BYTES:
        raise BadFile(
            _("“%(name)s” unpacks to more than %(limit)d MB, the limit. Split it and import the parts one by one.")
            % {"name": name, "limit": MAX_FILE_BYTES // 2**20}
        )
    return found


def too_large(name: str, size: int) -> BadFile:
    return BadFile(
        _("“%(name)s” has %(size).1f MB; the limit is %(limit)d MB. Split it and import the parts one by one.")
        % {"name": name, "size": size / 2**20, "limit": MAX_FILE_BYTES // 2**20}
    )


def encoding_of(data: bytes) -> str:
    for mark, encoding in BOMS:
        if data.startswith(mark):
            return encoding
    head = data[:LOOK]
    # In UTF-16 every second byte of most European text is zero; which one tells the byte order.
    if head[1::2].count(0) > len(head) // 6:
        return "utf-16-le"
    if head[::2].count(0) > len(head) // 6:
        return "utf-16-be"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def decoded(data: bytes, encoding: str, name: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadFile(
            ngettext(
                "“%(name)s” is neither UTF-8, UTF-16 nor Windows-1252: the byte %(value)s in line %(line)d fits none.",
                "“%(name)s” is neither UTF-8, UTF-16 nor Windows-1252: the bytes %(value)s in line %(line)d fit none.",
                error.end - error.start,
            )
            % {"name": name, "value": data[error.start : error.end][:4].hex(" "), "line": line}
            + " "
            + _("Save it again as UTF-8.")
        ) from error
