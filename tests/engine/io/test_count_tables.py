"""Counts on the command line: a ranking from a table, named errors, and records that repeat it."""

import csv
import json

import numpy as np
import pytest

from models_engine.__main__ import main
from models_engine.errors import InvalidData
from models_engine.inference.counts.cells import CountCells
from models_engine.io.reproduction import reproduce
from models_engine.io.run_records import FitSpec, read_record, write_record

TABLE = "user,song,plays,seen\nann,a,30,1\nann,b,10,1\nbob,a,300,1\nbob,b,100,1\nbob,c,10,1\n"
COLUMNS = "annotator=user,item=song,count=plays,exposure=seen"


def run(tmp_path, content, *options):
    path = tmp_path / "counts.csv"
    path.write_text(content)
    output = str(tmp_path / "out")
    return main(["fit", str(path), "--estimator", "CountFactorization", "--output", output, *options])


def table(folder, name):
    with (folder / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_table_of_plays_is_ranked(tmp_path):
    assert run(tmp_path, TABLE, "--columns", COLUMNS) == 0
    ranking = table(tmp_path / "out", "ranking.csv")
    assert [row["item"] for row in ranking] == ["a", "b", "c"]
    assert [row["n_comparisons"] for row in ranking] == ["2", "2", "1"]
    assert float(ranking[0]["utility"]) - float(ranking[1]["utility"]) == pytest.approx(np.log(3), abs=0.02)
    people = table(tmp_path / "out", "annotators.csv")
    assert [(row["annotator"], row["n_counts"]) for row in people] == [("ann", "2"), ("bob", "3")]
    fit = json.loads((tmp_path / "out" / "fit.json").read_text())
    assert (fit["n_labels"], fit["n_items"], fit["n_annotators"], fit["n_parts"]) == (5, 3, 2, 1)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("u,a,-1,1", "line 2: count '-1' is not a whole number"),
        ("u,a,1.5,1", "count '1.5'"),
        ("u,a,nan,1", "count 'nan'"),
        ("u,a,2e9,1", "count '2e9'"),
        ("u,a,5,0", "exposure '0'"),
        ("u,a,5,nan", "exposure 'nan'"),
        (",a,5,1", "the annotator is empty"),
        ("u,,5,1", "the item is empty"),
        ("u,a,5", "3 columns, the header has 4"),
    ],
)
def test_rows_that_are_no_counts_are_named(tmp_path, capsys, row, message):
    assert run(tmp_path, f"annotator,item,count,exposure\n{row}\n") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_wrong_columns_and_competitors_are_refused(tmp_path, capsys):
    assert run(tmp_path, "annotator,left,right,outcome\nu,a,b,1\n") == 2
    assert "lacks item, count" in capsys.readouterr().err
    assert run(tmp_path, TABLE, "--columns", COLUMNS, "--competitors", "x.csv") == 2
    assert "--competitors needs comparisons" in capsys.readouterr().err


def test_a_record_of_counts_is_reproduced_and_changes_are_found(tmp_path):
    rng = np.random.default_rng(0)
    data = CountCells.from_rows(rng.integers(0, 5, 40), rng.integers(0, 6, 40), rng.poisson(4, 40), n_items=6)
    items, people = ["=1+1", "a;b", " x", "c", "d", "never"], [f"p {i}" for i in range(data.n_annotators)]
    spec = FitSpec("CountFactorization", {"family": "best"}, k=2, unranked=["d"])
    record = write_record(tmp_path, data, items, people, spec, about={})
    assert record["n_labels"] == data.n_cells
    assert reproduce(tmp_path).how == "identical"
    ranking = read_record(tmp_path)[3]
    assert [row["part"] for row in ranking] == ["1"] * 4 + ["2"]
    text = (tmp_path / "counts.csv").read_text()
    (tmp_path / "counts.csv").write_text(text.replace(",1.0\n", ",2.0\n", 1))
    with pytest.raises(InvalidData, match="A file has been changed"):
        read_record(tmp_path)
