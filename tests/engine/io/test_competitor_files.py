"""The command with --competitors: the leaderboard's files, and what is refused before anything is written."""

import csv
import json

import numpy as np
import pytest

from models_engine.__main__ import main
from models_engine.simulate import competition


@pytest.fixture
def files(tmp_path):
    """labels.csv and items.csv of four models on twenty prompts, and a fifth that met nobody."""
    rng = np.random.default_rng(0)
    truth = competition(rng, 4, 20, 6, item_sd=0.5, tie=0.5, n_tags=2, tag_sd=0.4)
    pairs = truth.pairs(400, rng).pairs()
    rows = zip(pairs.annotator, pairs.left, pairs.right, pairs.outcome, strict=True)
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["annotator", "left", "right", "outcome"], *([f"a{j}", f"i{x}", f"i{y}", o] for j, x, y, o in rows)]
        )
    items = [
        [f"i{item}", f"model {one}", f"p{context}", ["code", "prose"][truth.tag[context]]]
        for item, (one, context) in enumerate(zip(truth.competitor, truth.context, strict=True))
    ]
    write_items(tmp_path, [*items, ["never compared", "model 9", "p0", ""]])
    return tmp_path


def write_items(folder, rows, header=("item", "competitor", "context", "tag")):
    with (folder / "items.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def run(folder, *options: str) -> int:
    given = ["fit", str(folder / "labels.csv"), "--competitors", str(folder / "items.csv"), "--output"]
    return main([*given, str(folder / "out"), *options])


def table(folder, name: str) -> list[dict[str, str]]:
    with (folder / "out" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_leaderboard_stands_beside_the_ranking(files):
    assert run(files, "--top-k", "1", "--set-competitors", "side_sd=0.5") == 0
    board = table(files, "leaderboard.csv")
    assert [row["rank"] for row in board] == ["1", "2", "3", "4"]
    assert {row["competitor"] for row in board} == {f"model {one}" for one in range(4)}
    assert sum(float(row["p_top_k"]) for row in board) == pytest.approx(1)
    for row in board:
        utility, sd = float(row["utility"]), float(row["sd"])
        assert float(row["high"]) == pytest.approx(utility + 1.6448536 * sd, abs=1e-6)
        assert int(row["n_contexts"]) <= 20
        assert int(row["n_annotators"]) == 6
    assert sum(int(row["n_labels"]) for row in board) == 800, "each label shows two competitors"
    pairs = table(files, "leaderboard_pairs.csv")
    assert len(pairs) == 12
    assert sum(int(row["wins"]) + int(row["ties"]) / 2 for row in pairs) == 400
    other = {(row["competitor"], row["other"]): float(row["p_answer_on_new_context"]) for row in pairs}
    assert other["model 0", "model 1"] + other["model 1", "model 0"] == pytest.approx(1)
    tags = table(files, "leaderboard_tags.csv")
    assert [row["tag"] for row in tags] == ["code"] * 4 + ["prose"] * 4
    record = json.loads((files / "out" / "leaderboard.json").read_text())
    assert record["settings"]["side_sd"] == 0.5
    assert record["item_spread"]["sd"] > 0
    assert record["diagnostics"]["converged"] is True
    assert (files / "out" / "ranking.csv").exists()


def test_competitors_that_never_met_are_ranked_in_parts_of_their_own(tmp_path):
    (tmp_path / "labels.csv").write_text("annotator,left,right,outcome\na,i0,i1,1\na,i2,i3,0\nb,i0,i1,0.5\nb,i4,i5,1\n")
    rows = [["i0", "A"], ["i1", "B"], ["i2", "C"], ["i3", "D"], ["i4", "A"], ["i5", "B"]]
    write_items(tmp_path, rows, header=("item", "competitor"))
    assert run(tmp_path) == 0
    board = table(tmp_path, "leaderboard.csv")
    assert [(row["part"], row["rank"]) for row in board] == [("1", "1"), ("1", "2"), ("2", "1"), ("2", "2")]
    pairs = {(row["competitor"], row["other"]): row for row in table(tmp_path, "leaderboard_pairs.csv")}
    assert pairs["A", "C"]["p_better"] == "", "nothing is known across parts"
    assert pairs["A", "B"]["p_better"] != ""


@pytest.mark.parametrize(
    ("rows", "header", "words"),
    [
        ([["i0", "A"]], ("item", "competitor"), "has no competitor; add a row for it to items.csv"),
        ([["i0", ""]], ("item", "competitor"), "items.csv, line 2: item 'i0' has no competitor; fill it in"),
        ([["i0", "A"], ["i0", "B"]], ("item", "competitor"), "line 3: item 'i0' is empty or named twice"),
        ([["i0"]], ("item",), "item and competitor are needed"),
        ([["i0", "A", "p"]], ("item", "competitor"), "line 2: 3 columns, the header has 2"),
        ([[f"i{k}", "A"] for k in range(80)], ("item", "competitor"), "two competitors or more"),
        (
            [[f"i{k}", f"{k % 2}", f"{k % 7}"] for k in range(80)],
            ("item", "competitor", "context"),
            "give both the same",
        ),
    ],
)
def test_what_cannot_be_ranked_is_refused_before_anything_is_written(files, capsys, rows, header, words):
    write_items(files, rows, header)
    assert run(files) == 2
    assert words in capsys.readouterr().err
    assert not (files / "out").exists()


def test_an_unknown_setting_of_the_leaderboard_is_refused_before_anything_is_written(files, capsys):
    assert run(files, "--set-competitors", "colour=3") == 2
    assert "Competitors has no setting 'colour'" in capsys.readouterr().err
    assert not (files / "out").exists()
