"""Archives and documents that unfold without end, where the engine opens them: refused, in some megabytes."""

import io
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from annotate.files.limits import BadFile, Unusable
from annotate.files.packages import check_size_of
from annotate.imports.media.documents import read_document
from tests.attack import bombs
from tests.site.documents import docx
from tests.site.imports.test_archives import packed, png, rows

pytestmark = [pytest.mark.embedded, pytest.mark.slow]
MEGABYTES, UNFOLDED = 64, 128


@contextmanager
def within_memory() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MEGABYTES * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", bombs.METHODS)
@pytest.mark.parametrize("part", ["word/document.xml", "[Content_Types].xml"])
def test_a_document_with_a_part_longer_than_stated(part, method):
    content = bombs.understated(docx("Cats"), part, bombs.METHODS[method], UNFOLDED)
    with within_memory(), pytest.raises(Unusable, match="damaged"):
        read_document("essay.docx", content, lambda data, suffix: "", 10)


@pytest.mark.parametrize("method", ["LZMA", "bzip2"])
def test_an_archive_is_packed_as_all_programs_do(method):
    """Of what is packed otherwise, zipfile unfolds at once whatever it has read."""
    content = bombs.understated(packed({"a.png": png()}), "a.png", bombs.METHODS[method], UNFOLDED)
    with within_memory(), pytest.raises(BadFile, match=r"“a\.png” in the zip file is packed in an unusual way"):
        rows(content)


def test_a_file_longer_than_its_archive_says_is_read_no_further():
    content = bombs.understated(packed({"a.png": png()}), "a.png", zipfile.ZIP_DEFLATED, UNFOLDED)
    with within_memory():
        (found,) = rows(content)
    assert not found.problem, "its first bytes are a picture, which is what the archive says"


def test_one_file_named_ten_thousand_times_is_measured_as_often():
    """A hundred gigabytes in a hundred kilobytes of folded blanks and a directory."""
    content = bombs.overlapping(9_999, 10)
    with within_memory(), pytest.raises(BadFile, match=r"unpacks to more than 200 times its size|has over"):
        rows(content)


def test_honest_packages_pass():
    for content in (docx("Cats"), packed({"a.png": png(), "empty.txt": b""})):
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            for info in package.infolist():
                check_size_of(package, info)
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w") as package:
        package.writestr("a.txt", b"x" * 100_000)
    with zipfile.ZipFile(stored) as package:
        check_size_of(package, package.infolist()[0])
