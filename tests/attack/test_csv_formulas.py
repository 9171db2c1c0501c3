"""Formulas in CSV: a spreadsheet must run neither a cell nor the name of a column."""

import csv
import io

import pytest

from annotate.criteria import Criterion
from annotate.files.writers import DANGEROUS, csv_chunks
from annotate.publishing.exports.pairs import matrix

pytestmark = pytest.mark.embedded


def test_keys_as_names_of_columns_are_no_formulas(project):
    project.items.filter(key="item-0").update(key='=HYPERLINK("https://evil.example")')
    text = b"".join(csv_chunks(*matrix(Criterion(project)))).decode()
    assert not [cell for row in csv.reader(io.StringIO(text)) for cell in row if cell[:1] in DANGEROUS]
