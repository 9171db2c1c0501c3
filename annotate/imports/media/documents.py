"""Scripts as items: the pages of a PDF as pictures with their text, a DOCX as cleaned HTML with its pictures.

It runs in the worker's process for one job, whose memory and time are limited; a file beyond a limit says which. What
reads PDF and DOCX is loaded where it is used: most processes never read one, and each would take longer to start.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from xml.parsers.expat import ExpatError

from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils.translation import gettext as _

from annotate.core.sanitizing import HTML_CLEANER, strip_tags
from annotate.files.limits import (
    MAX_DOCUMENT_BYTES,
    MAX_DOCUMENT_PAGES,
    MAX_DOCUMENT_UNFOLDED,
    MAX_TEXT,
    MOST_FOLDED,
    Unusable,
)
from annotate.files.packages import MAX_PARTS, check_size_of, declares_entities
from annotate.items.media.images import read_picture
from annotate.models import Item

SUFFIXES = (".pdf", ".docx")
OTHERS = (".doc", ".odt", ".rtf", ".pages", ".dotx", ".docm")
PAGE_WIDTH, PAGE_HEIGHT, MAX_SCALE = 1400, 3000, 3.0  # pixels; pixels for each point
WEBP_QUALITY = 80
OLE = b"\xd0\xcf\x11\xe0"  # how old and encrypted Office files begin
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

# What mammoth raises on documents that no word processor writes.
UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, ExpatError, SyntaxError, ValueError, TypeError),
    *(LookupError, AttributeError, OSError, RecursionError),
)

Keep = Callable[[bytes, str], str]


class Document(NamedTuple):
    """kind: image, of pages, or html.   pages: the names that Keep gave to the pictures, in their order."""

    kind: str
    body: str
    pages: tuple[str, ...]


def is_document(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def refuse_other_formats(name: str) -> None:
    """Raise Unusable for documents of formats that are not read."""
    if name.lower().endswith(OTHERS):
        raise Unusable(
            _("%(suffix)s files are not read. Save it as PDF or .docx and upload that.")
            % {"suffix": PurePosixPath(name).suffix}
        )


def read_document(name: str, data: bytes, keep: Keep, n_left: int) -> Document:
    """Read a PDF or DOCX.

    keep: takes a picture and its suffix, returns its name.   n_left: pages that the import may still have. Raises
    Unusable, with the value, the limit and what to do.
    """
    if not data:
        raise Unusable(_("The file is empty. Upload it again."))
    if len(data) > MAX_DOCUMENT_BYTES:
        raise Unusable(
            _("The file has %(size).1f MB; the limit is %(limit)d MB. Save it with smaller pictures, or divide it.")
            % {"size": len(data) / 2**20, "limit": MAX_DOCUMENT_BYTES // 2**20}
        )
    return read_pdf(data, keep, n_left) if name.lower().endswith(".pdf") else read_docx(data, keep, n_left)


def check_pages(n: int, n_left: int) -> None:
    if n > MAX_DOCUMENT_PAGES:
        raise Unusable(
            _("The document has %(n)d pages or pictures; the limit is %(limit)d. Divide it, or leave pages out.")
            % {"n": n, "limit": MAX_DOCUMENT_PAGES}
        )
    if n > n_left:
        raise Unusable(
            _("With its %(n)d pages the import has too many; %(left)d are left. Import it in several parts.")
            % {"n": n, "left": max(n_left, 0)}
        )


def read_pdf(data: bytes, keep: Keep, n_left: int) -> Document:
    pdfium = import_module("pypdfium2")
    try:
        with pdfium.PdfDocument(data) as pdf:
            if not len(pdf):
                raise Unusable(_("The document has no pages. Save it again."))
            check_pages(len(pdf), n_left)
            found = [read_page(pdf[n], keep) for n in range(len(pdf))]
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == pdfium.raw.FPDF_ERR_PASSWORD:
            raise Unusable(_("The PDF is encrypted. Save it without a password and upload that.")) from error
        raise Unusable(_("The PDF is damaged and can't be read. Save or scan it again.")) from error
    text = "\n\n".join(text for _name, text in found if text)
    return Document(Item.Kind.IMAGE, limited(text), tuple(name for name, _text in found))


def read_page(page: Any, keep: Keep) -> tuple[str, str]:
    """Return the kept picture of a page, and its text."""
    try:
        width, height = page.get_size()
        if width <= 0 or height <= 0:
            raise Unusable(_("The document has a page without a size. Save it again."))
        scale = min(PAGE_WIDTH / width, PAGE_HEIGHT / height, MAX_SCALE)
        picture = page.render(scale=scale).to_pil()
        words = page.get_textpage()
        text = clean(words.get_text_bounded())
        words.close()
    finally:
        page.close()
    out = io.BytesIO()
    picture.convert("RGB").save(out, "WEBP", quality=WEBP_QUALITY)
    return keep(out.getvalue(), "webp"), text


def clean(text: str) -> str:
    """Return the text without control characters, in lines of one kind."""
    return CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def limited(text: str) -> str:
    """Raise Unusable for a text longer than an item's may be."""
    if len(text) > MAX_TEXT:
        raise Unusable(
            _("The text has %(length)d characters; the limit is %(limit)d. Divide it.")
            % {"length": len(text), "limit": MAX_TEXT}
        )
    return text


def read_docx(data: bytes, keep: Keep, n_left: int) -> Document:
    check_package(data)
    mammoth = import_module("mammoth")
    pictures: list[str] = []

    def kept(image: Any) -> list[Any]:
        """Keep a picture that can be read and say where it stands."""
        check_pages(len(pictures) + 1, n_left)
        with image.open() as file:
            picture = read_picture(SimpleUploadedFile("picture", file.read(MAX_DOCUMENT_BYTES)))
        if picture.problem or picture.file:
            return [mammoth.html.text(f"[{_('picture that cannot be shown')}]")]
        pictures.append(keep(picture.content, picture.suffix))
        caption = f"{_('Picture %(n)d') % {'n': len(pictures)}}{': ' + image.alt_text if image.alt_text else ''}"
        return [mammoth.html.text(f"[{caption}]")]

    try:
        found = mammoth.convert_to_html(io.BytesIO(data), convert_image=kept)
    except UNREADABLE as error:
        problem = type(error).__name__
        raise Unusable(
            _("The document is damaged or unusual (%(problem)s). Save it again, or as PDF.") % {"problem": problem}
        ) from error
    body = limited(HTML_CLEANER.clean(clean(found.value)))
    if not strip_tags(body).strip():
        raise Unusable(_("The document has no text and no pictures that can be shown. Save it as PDF."))
    return Document(Item.Kind.HTML, body, tuple(pictures))


def check_package(data: bytes) -> None:
    """Check the parts of a DOCX before one is unfolded. Raises Unusable."""
    if data.startswith(OLE):
        raise Unusable(_("The document is encrypted or an old .doc. Save it as .docx without a password, or as PDF."))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            infos = package.infolist()
            if "word/document.xml" not in package.namelist():
                raise Unusable(_("This is not a DOCX document. Save it as .docx or PDF."))
            check_unfolded(infos)
            for info in infos:
                check_size_of(package, info)
                if declares_entities(package, info):
                    raise Unusable(
                        _("The document declares XML entities, which no word processor does. Save it as PDF.")
                    )
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, RuntimeError) as error:
        raise Unusable(
            _("The document is damaged: %(problem)s. Save it again, or as PDF.") % {"problem": error}
        ) from error


def check_unfolded(infos: list[zipfile.ZipInfo]) -> None:
    """Check sizes as the package states them, which check_size_of then compares with what is there."""
    if len(infos) > MAX_PARTS:
        raise Unusable(
            _("The document has %(n)d parts; the limit is %(limit)d. Save it as PDF, or divide it.")
            % {"n": len(infos), "limit": MAX_PARTS}
        )
    unfolded = sum(info.file_size for info in infos)
    if unfolded > MAX_DOCUMENT_UNFOLDED:
        raise Unusable(
            _("Unpacked, the document has %(size).0f MB; the limit is %(limit)d MB. Save it as PDF, or divide it.")
            % {"size": unfolded / 2**20, "limit": MAX_DOCUMENT_UNFOLDED // 2**20}
        )
    for info in infos:
        if info.file_size > 2**20 and info.file_size > MOST_FOLDED * max(info.compress_size, 1):
            raise Unusable(
                _("A part of the document unpacks to more than %(limit)d times its size. Save it as PDF.")
                % {"limit": MOST_FOLDED}
            )
