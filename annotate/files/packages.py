"""Checks the parts of zip files and of office files, which are zip files of XML, before a parser sees one of them."""

import copy
import zipfile
from collections.abc import Iterator

BLOCK = 2**16
DECLARATIONS = (b"<!DOCTYPE",)
OF_DRAWINGS = (b"<!ENTITY", b"<!ATTLIST")  # honest SVG pictures may name their document type, no more
OVERLAP = 8  # bytes, one less than the longest of them
XML_NAMES = (".xml", ".rels", ".vml")
MARK = b"\xef\xbb\xbf"  # of UTF-8
UTF_16 = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")  # how XML in UTF-16 begins
MAX_PARTS = 2_000
# Of the others zipfile unfolds whatever it has read at once, without a bound.
BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def check_size_of(package: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
    """Raise BadZipFile unless the part can be unfolded within a bound and has the size that the package states.

    zipfile unfolds a whole part, up to two gigabytes, before it cuts off what goes beyond the stated size.
    """
    if info.compress_type not in BOUNDED:
        raise zipfile.BadZipFile("a part is packed in an unusual way")
    one_more, size = copy.copy(info), 0
    one_more.file_size += 1
    with package.open(one_more) as part:
        while size <= info.file_size and (block := part.read(BLOCK)):
            size += len(block)
    if size != info.file_size:
        raise zipfile.BadZipFile("a part has another size than stated")


def blocks_of(package: zipfile.ZipFile, info: zipfile.ZipInfo, overlap: int = 0) -> Iterator[bytes]:
    """Yield the content of a part, each block with the last bytes of the one before."""
    kept = b""
    with package.open(info) as part:
        while more := part.read(BLOCK):
            yield (block := kept + more)
            kept = block[-overlap:] if overlap else b""


def is_xml(name: str, head: bytes) -> bool:
    """Tell whether a parser would take the part for XML, whatever its name: relations may name any part."""
    start = head.removeprefix(MARK).lstrip(b" \t\r\n")
    return name.endswith(XML_NAMES) or head[:2] in UTF_16 or start[:1] in (b"", b"<")


def declares_entities(package: zipfile.ZipFile, info: zipfile.ZipInfo) -> bool:
    """Tell whether a part declares XML entities or may: in an encoding with zero bytes no declaration is found."""
    declarations = OF_DRAWINGS if info.filename.endswith(".svg") else DECLARATIONS
    for number, block in enumerate(blocks_of(package, info, OVERLAP)):
        if number == 0 and not is_xml(info.filename, block):
            return False
        if b"\0" in block or any(one in block for one in declarations):
            return True
    return False
