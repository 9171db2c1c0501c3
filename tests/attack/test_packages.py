"""Workbooks and documents made to fill the memory: entities wherever they are declared, texts shared by many cells."""

import io
import zipfile

import pytest

from annotate.files import workbooks
from annotate.files.limits import BadFile, Unusable
from annotate.imports.media.documents import read_document
from tests.site.documents import docx
from tests.site.imports.test_workbooks import OTHERS, read, xlsx

pytestmark = pytest.mark.embedded

BOMB = '<!DOCTYPE a [<!ENTITY x "boom"><!ENTITY y "&x;&x;">]>'
PADDING = f"<!--{'.' * 70_000}-->"
SECRETS = {
    "far in": f'<?xml version="1.0"?>{PADDING}{BOMB}<a>&y;</a>'.encode(),
    "across two blocks": f'<?xml version="1.0"?><!--{"." * (2**16 - 31)}-->{BOMB}<a>&y;</a>'.encode(),
    "UTF-16": f'<?xml version="1.0" encoding="UTF-16"?>{BOMB}<a>&y;</a>'.encode("utf-16"),
    "UTF-16 without a mark": f'<?xml version="1.0" encoding="UTF-16"?>{BOMB}<a>&y;</a>'.encode("utf-16-le"),
}


def repacked(content: bytes, **parts: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name not in parts:
                new.writestr(name, old.read(name))
        for name, data in parts.items():
            new.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize("part", ["xl/sharedStrings.xml", "xl/other.bin", "xl/media/a.svg"])
@pytest.mark.parametrize("how", SECRETS)
def test_a_workbook_declares_no_entities_anywhere(how, part):
    with pytest.raises(BadFile, match="XML entities"):
        read(repacked(xlsx(A=OTHERS), **{part: SECRETS[how]}))


@pytest.mark.parametrize("part", ["word/styles.xml", "word/other.bin", "word/media/a.svg"])
@pytest.mark.parametrize("how", SECRETS)
def test_a_document_declares_no_entities_anywhere(how, part):
    with pytest.raises(Unusable, match="XML entities"):
        read_document("essay.docx", docx("Cats", **{part: SECRETS[how]}), lambda data, suffix: "", 10)


def test_a_drawing_may_name_its_document_type():
    drawing = b'<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "svg11.dtd"><svg/>'
    assert "Cats" in read_document("a.docx", docx("Cats", **{"word/media/a.svg": drawing}), lambda *_: "", 10).body


def test_one_text_shared_by_many_cells_stays_within_the_limit_of_a_file(monkeypatch):
    monkeypatch.setattr(workbooks, "MAX_FILE_BYTES", 20_000)
    with pytest.raises(BadFile, match="the limit is"):
        read(xlsx(A=[["word " * 500] * 5] * 5))


def test_a_package_has_no_more_parts_than_a_program_writes():
    parts = {f"xl/n{n}.xml": b"<a/>" for n in range(3_000)}
    with pytest.raises(BadFile, match="parts"):
        read(repacked(xlsx(A=OTHERS), **parts))
