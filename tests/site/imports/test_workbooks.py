"""XLSX in place of CSV: sheets to choose from, results of formulas, and limits that say what helps."""

import io
import re

import openpyxl
import pytest
from django.core.files.base import ContentFile
from django.urls import reverse

from annotate.files import workbooks
from annotate.files.limits import BadFile
from annotate.files.workbooks import read_workbook
from annotate.models import Item
from tests.site.api_client import Api
from tests.site.imports.test_api import hand_in
from tests.site.imports.test_archives import damaged, media, packed
from tests.site.pages import signed_in

__all__ = ["media"]


def xlsx(**sheets: list) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def read(content: bytes):
    return read_workbook(io.BytesIO(content), "class.xlsx")


PUPILS = [["Pupil", "Essay", "Class"], ["Anna", "I like\ncats, they sleep", 8], ["Ben", "Dogs are loud", 8.5]]
OTHERS = [["Pupil", "Essay"], ["Cleo", "Birds can fly"], ["Dan", "Fish can swim"]]


def test_sheets_are_chosen_and_rows_imported(project, alice):
    owner, url = signed_in(alice), reverse("items-import", args=[project.pk])
    page = owner.post(url, {"way": "file", "file": ContentFile(xlsx(A=PUPILS, B=OTHERS), "class.xlsx")}, follow=True)
    html = page.content.decode()
    assert "I like" in html
    assert re.findall(r'<option value="\d"[^>]*>([AB])</option>', html) == ["A", "B"]
    upload = page.context["upload"].id
    page = owner.get(url, {"upload": upload, "sheet": "1"})
    assert "Birds can fly" in page.content.decode()
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page.content.decode()))
    owner.post(url, {**fields, "upload": upload, "sheet": "1", "n": "2", "action": "all"})
    assert set(project.items.filter(body__in=["Birds can fly", "Fish can swim"]).values_list("name", flat=True)) == {
        "Cleo",
        "Dan",
    }


def test_the_api_takes_a_sheet_by_its_name(project, alice):
    api, content = Api(alice, project), xlsx(A=PUPILS, B=OTHERS)
    refused = hand_in(api, "items", "class.xlsx", content, sheet="C")
    assert "no sheet “C” that holds something. It has: A, B." in refused.json()["errors"]["file"][0]
    assert hand_in(api, "items", "class.xlsx", content, sheet="B").status_code == 202
    assert not Item.objects.filter(body="Birds can fly").exists(), "a worker checks it first"


def test_cells_are_written_as_people_see_them():
    [sheet] = read(xlsx(A=PUPILS, Empty=[]))
    assert sheet.text == 'Pupil,Essay,Class\r\nAnna,"I like\ncats, they sleep",8\r\nBen,Dogs are loud,8.5\r\n'


def test_formulas_without_results_are_named():
    with pytest.raises(BadFile, match=r"“A” has a formula without its result in row 2, column 2.*save it again"):
        read(xlsx(A=[["Pupil", "Essay"], ["Anna", '=CONCAT("a","b")']]))


def test_a_sheet_of_a_billion_rows_ends_where_its_cells_do():
    book = openpyxl.Workbook()
    book.active["A1"], book.active["A2"], book.active["A1048576"] = "Essay", "One", "far away"
    out = io.BytesIO()
    book.save(out)
    content = out.getvalue().replace(b"A1:A1048576", b"A1:A9999999")
    assert read(content)[0].text == "Essay\r\nOne\r\n"


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [
        ("MAX_ROWS", 1, "The sheet “A” has more than 1 rows. Split it"),
        ("MAX_SHEET_CELLS", 5, "more than 5 cells. Save the sheet alone as CSV"),
        ("MAX_WORKBOOK_UNFOLDED", 100, "the limits are 0 MB and 200 times its size"),
        ("MAX_FILE_BYTES", 100, "the limit is 0 MB. Split it"),
    ],
)
def test_too_much_is_refused_with_the_limit(monkeypatch, limit, value, message):
    monkeypatch.setattr(workbooks, limit, value)
    with pytest.raises(BadFile, match=message):
        read(xlsx(A=PUPILS))


@pytest.mark.parametrize("name", ["xl/workbook.xml", "xl/worksheets/sheet1.xml", "[Content_Types].xml"])
def test_a_part_that_can_not_be_unpacked_is_refused(name):
    with pytest.raises(BadFile):
        read(damaged(xlsx(Sheet=[["text"], ["one"]]), name))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"x": b"y"}, "can't be read as a workbook"),
        ({"xl/worksheets/sheet1.xml": b"\0" * 3 * 2**20}, "200 times its size"),
        ({"xl/workbook.xml": b"<!DOCTYPE lolz []>"}, "declares XML entities"),
    ],
)
def test_what_is_no_workbook_or_does_harm_is_refused(files, message):
    with pytest.raises(BadFile, match=message):
        read(packed(files))
