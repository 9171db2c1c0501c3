"""Formulas in CSV: a spreadsheet must run neither a cell nor the name of a column, and what is exported comes back."""

import csv
import io

import pytest
from django.core.management import call_command
from hypothesis import given
from hypothesis import strategies as st

from annotate.criteria import Criterion
from annotate.files.csv_reader import OF_OUR_ITEMS
from annotate.files.writers import DANGEROUS, cell, csv_chunks, jsonl_chunks, without_apostrophe
from annotate.publishing.exports import items as item_table
from annotate.publishing.exports.pairs import matrix
from tests.site.imports.test_comparison_tables import media, other_project  # noqa: F401 (media is a fixture)

pytestmark = pytest.mark.embedded
FULL_WIDTH = ["\uff1dcmd|' /C calc'!A0", "\uff0b1", "\uff0d1", "\uff20SUM(A1)"]  # run by a Japanese Excel
TITLES = ["=1+1", "+1", "-1", "@home", *FULL_WIDTH, "'=quoted", "''\uff1dtwice", "'tis plain", "'", "plain"]


def cells_of(text: str) -> list[str]:
    return [one for row in csv.reader(io.StringIO(text, newline="")) for one in row]


def test_keys_as_names_of_columns_are_no_formulas(project):
    project.items.filter(key="item-0").update(key='=HYPERLINK("https://evil.example")')
    text = b"".join(csv_chunks(*matrix(Criterion(project)))).decode()
    assert not [cell for cell in cells_of(text) if cell[:1] in DANGEROUS]


@pytest.mark.slow
@given(st.text("'=+-@\t\n\uff1d\uff0b\uff0d\uff20a", max_size=5))
def test_no_text_begins_as_a_formula_and_each_comes_back(text):
    assert cell(text)[:1] not in DANGEROUS
    assert without_apostrophe(cell(text)) == text


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
