"""The command line: every layout and encoding gives the same ranking, bad rows are named, nothing is half-written."""

import csv
import gzip
import json
import math
import re

import choix
import numpy as np
import pytest

from models_engine.__main__ import main
from models_engine.estimators.table import ESTIMATORS
from tests.engine.simulated_data import QUICK

ROWS = [("ann", "å1", "b,2", "1"), ("ann", "b,2", "c", "1"), ("bob", "å1", "c", "0.5"), ("bob", "c", "å1", "0")]
PLAIN = 'annotator,left,right,outcome\nann,å1,"b,2",1\nann,"b,2",c,1\nbob,å1,c,0.5\nbob,c,å1,0\n'


def run(tmp_path, content: str | bytes, *options: str, name: str = "labels.csv") -> int:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return main(["fit", str(path), "--output", str(tmp_path / "out"), *options])


def table(tmp_path, name: str = "ranking.csv") -> list[dict[str, str]]:
    with (tmp_path / "out" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def record(tmp_path) -> dict:
    return json.loads((tmp_path / "out" / "fit.json").read_text())


def test_a_fit_writes_the_three_files(tmp_path, capsys):
    assert run(tmp_path, PLAIN, "--seed", "3", "--set", "prior_sd=2", "--top-k", "1") == 0
    ranking = table(tmp_path)
    header = "item,utility,sd,low,high,rank,rank_low,rank_high,p_top_k,n_comparisons"
    assert (tmp_path / "out" / "ranking.csv").read_text().splitlines()[0] == header
    assert [row["item"] for row in ranking] == ["å1", "b,2", "c"]
    assert [row["rank"] for row in ranking] == ["1", "2", "3"]
    assert [row["n_comparisons"] for row in ranking] == ["3", "2", "3"]
    for row in ranking:
        utility, sd = float(row["utility"]), float(row["sd"])
        assert float(row["low"]) == pytest.approx(utility - 1.6448536 * sd, abs=1e-6)
        assert float(row["high"]) == pytest.approx(utility + 1.6448536 * sd, abs=1e-6)
        assert 1 <= int(row["rank_low"]) <= int(row["rank_high"]) <= 3
    assert sum(float(row["p_top_k"]) for row in ranking) == pytest.approx(1)
    annotators = table(tmp_path, "annotators.csv")
    assert [(row["annotator"], row["n_labels"]) for row in annotators] == [("ann", "2"), ("bob", "2")]
    assert [row["agreement"] for row in annotators] == ["1", "1"]
    fit = record(tmp_path)
    assert fit["settings"]["prior_sd"] == 2.0
    assert (fit["seed"], fit["n_items"], fit["n_annotators"], fit["n_labels"], fit["n_parts"]) == (3, 3, 2, 4, 1)
    assert len(fit["data_hash"]) == 64
    assert fit["diagnostics"]["converged"] is True
    progress = capsys.readouterr()
    assert progress.out == ""
    assert "step" in progress.err
    assert "converged" in progress.err


def test_the_command_line_agrees_with_choix(tmp_path):
    rng = np.random.default_rng(0)
    won = [tuple(rng.permutation(8)[:2].tolist()) for _ in range(80)]
    lines = [f"a,{i},{j},1" for i, j in won]
    mode = ["--set", "prior_sd=1.5", "--set", "inference=map"]
    assert run(tmp_path, "\n".join(["annotator,left,right,outcome", *lines]), *mode) == 0
    theirs = choix.opt_pairwise(8, won, alpha=1 / (2 * 1.5**2), method="Newton-CG", tol=1e-12)
    theirs -= theirs.mean()
    for row in table(tmp_path):
        assert float(row["utility"]) == pytest.approx(theirs[int(row["item"])], abs=1e-6)


def semicolons() -> str:
    return "annotator;left;right;outcome\n" + "".join(";".join(row) + "\n" for row in ROWS)


ENCODED = {
    "byte-order mark": PLAIN.encode("utf-8-sig"),
    "UTF-16": PLAIN.encode("utf-16"),
    "Windows-1252": PLAIN.encode("cp1252"),
    "gzip": gzip.compress(PLAIN.encode(), mtime=0),
    "semicolons": semicolons(),
    "tabs": semicolons().replace(";", "\t"),
    "Windows line ends": PLAIN.replace("\n", "\r\n"),
    "blank lines": PLAIN.replace("\n", "\n\n"),
    "capitals and spaces": PLAIN.replace("annotator,left", "Annotator , Left"),
    "words": PLAIN.replace(",1\n", ",left\n").replace(",0.5\n", ",Tie\n").replace(",0\n", ",right\n"),
    "crowd-kit": 'worker,left,right,label\nann,å1,"b,2",å1\nann,"b,2",c,"b,2"\nbob,å1,c,tie\nbob,c,å1,å1\n',
    "weights": PLAIN.replace("outcome\n", "outcome,weight\n").replace("1\n", "1,1\n").replace("c,0.5\n", "c,0.5,1\n")
    .replace("å1,0\n", "å1,0,1\n"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ENCODED)
def test_every_encoding_and_spelling_reads_the_same(tmp_path, kind):
    assert run(tmp_path, PLAIN) == 0
    expected, digest = table(tmp_path), record(tmp_path)["data_hash"]
    assert run(tmp_path, ENCODED[kind]) == 0
    assert table(tmp_path) == expected
    assert record(tmp_path)["data_hash"] == digest


SETS = {
    "annotator,ranking\na,x;y;z\nb,y;x\n": [3, 3, 2],
    "annotator,chosen,set\na,x,z;x;y\nb,y,x;y;z\n": [2, 2, 2],
    "annotator,top,set\na,x;y,z;x;y\nb,y;x,x;y;z\n": [2, 2, 2],
    "annotator,best,worst,set\na,x,z,z;x;y\nb,y,z,x;y;z\n": [2, 2, 2],
    "annotator,winner,loser\na,x,z\nb,y,z\n": [1, 1, 2],
}


@pytest.mark.parametrize("content", SETS)
def test_larger_sets_are_read(tmp_path, content):
    assert run(tmp_path, content) == 0
    ranking = table(tmp_path)
    assert ranking[-1]["item"] == "z"
    assert {row["item"] for row in ranking} == {"x", "y", "z"}
    assert record(tmp_path)["n_labels"] == 2


def test_columns_can_be_renamed(tmp_path):
    content = "judge,harder,easier\na,x,y\nb,x,y\n"
    columns = "annotator=judge,winner=harder,loser=easier"
    assert run(tmp_path, content, "--columns", columns) == 0
    assert [row["item"] for row in table(tmp_path)] == ["x", "y"]


def test_each_connected_part_is_ranked_on_its_own(tmp_path):
    content = "annotator,left,right,outcome\na,x,y,1\na,y,z,1\na,p,q,1\n"
    assert run(tmp_path, content) == 0
    ranking = table(tmp_path)
    assert [(row["item"], row["part"], row["rank"]) for row in ranking] == [
        ("x", "1", "1"),
        ("y", "1", "2"),
        ("z", "1", "3"),
        ("p", "2", "1"),
        ("q", "2", "2"),
    ]
    for part in ("1", "2"):
        assert sum(float(row["utility"]) for row in ranking if row["part"] == part) == pytest.approx(0, abs=1e-8)


def test_an_items_file_adds_items_never_compared(tmp_path):
    (tmp_path / "items.csv").write_text("item,length\nx,3\ny,4\nlonely,5\n")
    content = "annotator,left,right,outcome\na,x,y,1\n"
    assert run(tmp_path, content, "--items", str(tmp_path / "items.csv")) == 0
    assert {row["item"]: row["n_comparisons"] for row in table(tmp_path)} == {"x": "1", "y": "1", "lonely": "0"}


BAD = {
    "outcome": (PLAIN.replace("0.5", "0.7"), "line 4: outcome '0.7' is none of 1"),
    "itself": (PLAIN.replace("å1,c", "c,c"), "line 4: item 'c' is shown twice"),
    "columns": ("annotator,left,right,outcome\na,x,y\n", "line 2: 3 columns, the header has 4"),
    "layout": ("who,what\n1,2\n", "columns who, what; known layouts"),
    "empty file": ("", r"\(none\)"),
    "no rows": ("annotator,left,right,outcome\n", "no labels"),
    "no annotator": ("annotator,left,right,outcome\n,x,y,1\n", "line 2: the annotator is empty"),
    "empty item": ("annotator,left,right,outcome\na,,y,1\n", "line 2: an item name is empty"),
    "weight": ("annotator,left,right,outcome,weight\na,x,y,1,nan\n", "line 2: weight 'nan'"),
    "negative": ("annotator,left,right,outcome,weight\na,x,y,1,-2\n", "line 2: weight '-2'"),
    "label": ("worker,left,right,label\na,x,y,z\n", "line 2: label 'z' is none of 'x', 'y'"),
    "one item": ("annotator,ranking\na,x\n", "line 2: 'x' shows fewer than two"),
    "twice": ("annotator,ranking\na,x;y;x\n", "line 2: item 'x' is shown twice"),
    "not shown": ("annotator,chosen,set\na,q,x;y\n", "line 2: 'q' is not in the set"),
    "quotes": ('annotator,left,right,outcome\na,"x,y,1\n', "check the quotes"),
    "huge cell": (f"annotator,left,right,outcome\na,{'x' * 10_000_000},y,1\n", "the limit|field limit"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_files_are_rejected_with_line_and_value_and_write_nothing(tmp_path, capsys, kind):
    content, message = BAD[kind]
    assert run(tmp_path, content) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert len(error) < 1_000
    assert re.search(message, error), error
    assert not (tmp_path / "out").exists()


def test_bad_rows_can_be_skipped_and_are_listed(tmp_path, capsys):
    content = PLAIN + "bob,c,c,1\nbob,c,å1,7\n"
    assert run(tmp_path, content, "--skip-bad-rows") == 0
    assert record(tmp_path)["n_labels"] == 4
    refused = record(tmp_path)["refused_rows"]
    assert [line.partition(":")[0] for line in refused] == ["labels.csv, line 6", "labels.csv, line 7"]
    assert capsys.readouterr().err.count("left out: ") == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "prior_sd=wide"], "prior_sd='wide' is not allowed; it takes a number"),
        (["--set", "prior_sd=-1"], "prior_sd=-1.0 is not allowed; give a number from"),
        (["--set", "ties=often"], "'davidson' or 'half' or 'ignore'"),
        (["--set", "wide=1"], "no setting 'wide'; it has prior_sd"),
        (["--set", "side"], "not NAME=VALUE"),
        (["--columns", "winner"], "not NAME=COLUMN"),
        (["--columns", "winner=best"], "no column 'best'"),
        (["--level", "1.5"], "between 0 and 1"),
        (["--top-k", "0"], "1 or more"),
        (["--items", "/nowhere/items.csv"], "cannot be read"),
    ],
)
def test_bad_options_are_rejected(tmp_path, capsys, options, message):
    assert run(tmp_path, PLAIN, *options) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("output", ["taken", "taken/below", "gone"])
def test_an_output_that_is_no_folder_is_named_before_the_fit(tmp_path, capsys, output):
    labels, taken = tmp_path / "labels.csv", tmp_path / "taken"
    labels.write_text("winner,loser\na,b\n")
    taken.write_text("mine")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    assert main(["fit", str(labels), "--output", str(tmp_path / output)]) == 2
    found = capsys.readouterr().err
    assert "is a file; name a folder" in found
    assert "BradleyTerry on" not in found, "nothing was fitted"
    assert taken.read_text() == "mine"


def test_feature_files_are_checked(tmp_path, capsys):
    for content, message in (
        ("item,f\nå1,nan\n", "line 2, column f: 'nan'"),
        ("item,f\nå1,1\nå1,2\n", "appears twice"),
        ("item,f\nå1\n", "1 columns"),
        ("item,f\nå1,1\n", "item 'b,2' is not in the items file"),
    ):
        (tmp_path / "items.csv").write_text(content)
        assert run(tmp_path, PLAIN, "--items", str(tmp_path / "items.csv")) == 2
        assert message in capsys.readouterr().err


def test_the_same_seed_writes_the_same_bytes_whatever_the_row_order(tmp_path):
    names = ("ranking.csv", "annotators.csv")
    assert run(tmp_path, PLAIN, "--seed", "5") == 0
    first = [(tmp_path / "out" / name).read_bytes() for name in names]
    assert run(tmp_path, PLAIN, "--seed", "5") == 0
    assert [(tmp_path / "out" / name).read_bytes() for name in names] == first
    head, *lines = PLAIN.splitlines()
    assert run(tmp_path, "\n".join([head, *reversed(lines)])) == 0
    assert [row["item"] for row in table(tmp_path)] == ["å1", "b,2", "c"]


def test_settings_of_every_type_and_a_saved_posterior(tmp_path):
    options = [
        "ties=half",
        "side=true",
        "prior_sd=null",
        "inference=auto",
        "max_iterations=50",
        "annotator_weights=[1, 2]",
    ]
    flags = [flag for option in options for flag in ("--set", option)]
    assert run(tmp_path, PLAIN, *flags, "--save-posterior") == 0
    settings = record(tmp_path)["settings"]
    assert settings["annotator_weights"] == [1.0, 2.0]
    assert settings["prior_sd"] is None
    assert settings["side"] is True
    posterior = ESTIMATORS["BradleyTerry"].posterior.from_arrays(np.load(tmp_path / "out" / "posterior.npz"))
    found = sorted(posterior.utilities(), reverse=True)
    assert [f"{value:.6f}" for value in found] == [f"{float(row['utility']):.6f}" for row in table(tmp_path)]


def test_a_fit_that_did_not_converge_is_reported(tmp_path, capsys):
    assert run(tmp_path, PLAIN, "--set", "max_iterations=1") == 0
    assert record(tmp_path)["diagnostics"]["converged"] is False
    error = capsys.readouterr().err
    assert "NOT CONVERGED" in error
    assert "warning: not converged" in error


def test_list_names_every_estimator_and_when_to_choose_it(capsys):
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    for name, entry in ESTIMATORS.items():
        assert name in printed
        assert entry.when in printed


@pytest.mark.slow
@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_every_estimator_runs_from_the_command_line(tmp_path, name):
    rng = np.random.default_rng(0)
    (tmp_path / "items.csv").write_text(
        "item,f,g\n" + "".join(f"{i},{rng.normal():.3f},{rng.normal():.3f}\n" for i in range(6))
    )
    lines = ["annotator,left,right,outcome"]
    for _ in range(60):
        i, j = rng.permutation(6)[:2]
        lines.append(f"p{rng.integers(3)},{i},{j},{int(rng.random() < 1 / (1 + math.exp(j - i)))}")
    given = [flag for key, value in QUICK.get(name, {}).items() for flag in ("--set", f"{key}={value}")]
    assert run(tmp_path, "\n".join(lines), "--estimator", name, "--items", str(tmp_path / "items.csv"), *given) == 0
    assert len(table(tmp_path)) == 6
    assert record(tmp_path)["estimator"] == name


@pytest.mark.slow
def test_automatic_reports_the_estimator_it_chose(tmp_path, capsys):
    rng = np.random.default_rng(1)
    lines = ["annotator,left,right,outcome"]
    for _ in range(80):
        i, j = rng.permutation(6)[:2]
        lines.append(f"p{rng.integers(3)},{i},{j},{int(rng.random() < 1 / (1 + math.exp(j - i)))}")
    assert run(tmp_path, "\n".join(lines), "--estimator", "Automatic") == 0
    name = record(tmp_path)["estimator"]
    said = capsys.readouterr().err
    assert f"{name} predicts 80 labels it had not seen" in said
    assert f"{name} on 80 labels" in said
    assert run(tmp_path, "\n".join(lines), "--estimator", "Automatic", "--set", "prior_sd=2") == 2
    assert "--set needs one estimator" in capsys.readouterr().err


GRADED = """annotator,left,right,outcome,grade
ann,a,b,1,2
ann,b,c,1,1
bob,a,c,1,
bob,c,b,0.5,
bob,b,a,0,2
ann,c,a,0,1
"""


def test_a_column_of_grades_is_fitted_with_cut_points_and_their_intervals(tmp_path):
    assert run(tmp_path, GRADED) == 0
    fit = record(tmp_path)
    assert [row["below"] for row in fit["cut_points"]] == [0, 1]
    for row in fit["cut_points"]:
        assert 0 <= row["low"] < row["cut"] < row["high"]
    assert fit["settings"]["grades"] == "ordered"
    assert run(tmp_path, GRADED, "--set", "grades=ignore") == 0
    assert record(tmp_path)["cut_points"] == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("ann,a,b,1,x", "grade 'x' is not a whole number from 0 to 50"),
        ("ann,a,b,0.5,1", "only a pair with a winner has a grade"),
        ("ann,a,b,1,51", "grade '51'"),
    ],
)
def test_a_grade_that_says_nothing_is_rejected_with_its_line(tmp_path, capsys, row, message):
    assert run(tmp_path, f"annotator,left,right,outcome,grade\n{row}\n") == 2
    error = capsys.readouterr().err
    assert "line 2" in error
    assert message in error


def test_a_column_says_whether_equal_ranks_are_ties(tmp_path, capsys):
    rows = ["annotator,set,ranks,tied", "ann,a;b;c,0;0;1,1", "bob,a;b;c,0;1;1,0", "bob,b;a;c,0;0;1,"]
    assert run(tmp_path, "\n".join(rows)) == 0
    assert record(tmp_path)["likelihood"]["tie"] is not None
    assert run(tmp_path, "annotator,set,ranks,tied\nann,a;b;c,0;0;1,x\n") == 2
    assert "neither 1 (equal ranks are ties) nor 0" in capsys.readouterr().err
