"""Formulas in CSV: a spreadsheet must run neither a cell nor the name of a column, and what is exported comes back."""

import csv
import io
import json
import re

import pytest
from django.core.management import call_command
from hypothesis import given
from hypothesis import strategies as st

from annotate.criteria import Criterion
from annotate.files.csv_reader import OF_OUR_ITEMS
from annotate.files.writers import DANGEROUS, SIGNS, cell, csv_chunks, jsonl_chunks, without_apostrophes
from annotate.publishing.exports import items as item_table
from annotate.publishing.exports.pairs import matrix
from tests.site.imports.test_comparison_tables import media, other_project  # noqa: F401 (media is a fixture)

pytestmark = pytest.mark.embedded
FULL_WIDTH = ["\uff1dcmd|' /C calc'!A0", "\uff0b1", "\uff0d1", "\uff20SUM(A1)"]  # run by a Japanese Excel
TITLES = ["=1+1", "+1", "-1", "@home", *FULL_WIDTH, "'=quoted", "''\uff1dtwice", "'tis plain", "'", "plain"]
TITLES += ["a;=1", "a;'=1"]


def cells_of(text: str) -> list[str]:
    return [one for row in csv.reader(io.StringIO(text, newline="")) for one in row]


def test_keys_as_names_of_columns_are_no_formulas(project):
    project.items.filter(key="item-0").update(key='=HYPERLINK("https://evil.example")')
    text = b"".join(csv_chunks(*matrix(Criterion(project)))).decode()
    assert not [cell for cell in cells_of(text) if cell[:1] in DANGEROUS]


@pytest.mark.slow
@given(st.text("'\"=+-@;)\t\r\n\uff1d\uff0b\uff0d\uff20a", max_size=8))
def test_no_text_begins_as_a_formula_and_each_comes_back(text):
    assert cell(text)[:1] not in DANGEROUS
    assert without_apostrophes(cell(text)) == text


def divided_by_semicolons(content: str) -> list[str]:
    """Return the cells of a German Excel: a quotation mark holds a cell together only where it begins one."""
    cells, rest = [], content
    while rest:
        if rest[0] == '"':
            closed = re.match(r'"((?:[^"]|"")*)"', rest)
            inside, rest = (closed[1].replace('""', '"'), rest[closed.end() :]) if closed else (rest[1:], "")
        else:
            inside = ""
        outside = re.match(r"[^;\r\n]*", rest)[0]
        cells.append(inside + outside)
        rest = rest[len(outside) + 1 :]
    return cells


@pytest.mark.parametrize("between", [";", "\n", "\r\n", ';"', ';""', ";'", ";;", '"\n'])
@pytest.mark.parametrize("sign", [*"=+@-", "\uff1d"])
def test_no_cell_of_a_german_excel_is_a_formula(between, sign):
    formula = f"{sign}HYPERLINK(A1)"
    row = ["plain", f"x{between}{formula}", [f"x{between}{formula}"], "last"]
    content = b"".join(csv_chunks(["id", "text", "list", "end"], [row])).decode()
    assert not [one for one in divided_by_semicolons(content) if one.lstrip('"')[:1] in {*SIGNS}]
    _header, read = csv.reader(io.StringIO(content, newline=""))
    assert without_apostrophes(read[1]) == row[1]
    assert json.loads(read[2]) == row[2]


def test_a_smile_is_no_formula():
    assert cell("thanks ;-)") == "thanks ;-)"


def take_items(project, content: bytes, file) -> None:
    file.write_bytes(content)
    call_command("import_file", "items", str(project.pk), str(file))


@pytest.mark.usefixtures("media")
@pytest.mark.parametrize("encode", [csv_chunks, jsonl_chunks])
def test_our_own_export_of_items_comes_back_as_it_was(project, encode, tmp_path):
    project.items.all().delete()
    for number, title in enumerate(TITLES):
        project.items.create(key=f"{title} {number}", name=title, body=f"{title} text", competitor=title)
    names = [column.name for column in item_table.COLUMNS]
    content = b"".join(encode(names, item_table.rows(project)))
    if encode is csv_chunks:
        assert not [one for one in cells_of(content.decode()) if one[:1] in DANGEROUS]
    copy = other_project(project)
    copy.items.all().delete()
    take_items(copy, content, tmp_path / ("items.csv" if encode is csv_chunks else "items.jsonl"))
    told = ("key", "name", "body", "competitor")
    assert [*copy.items.order_by("pk").values_list(*told)] == [*project.items.order_by("pk").values_list(*told)]


@pytest.mark.usefixtures("media")
def test_an_apostrophe_in_a_table_of_others_is_part_of_the_text(project, tmp_path):
    copy = other_project(project)
    copy.items.all().delete()
    take_items(copy, b"key,text\nk,'-isms' are many\n", tmp_path / "items.csv")
    assert copy.items.get().body == "'-isms' are many"


def test_the_export_of_items_is_known_by_its_columns():
    assert OF_OUR_ITEMS <= {column.name for column in item_table.COLUMNS}
