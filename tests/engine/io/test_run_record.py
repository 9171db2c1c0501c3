"""Run records: the files hold the labels exactly, whatever they are called, and the fit can be repeated from them."""

import csv
import json
import os
import shutil
import subprocess
import sys
from urllib.parse import unquote

import numpy as np
import pytest

from models_engine.__main__ import main
from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.estimators.crowd_bt import CrowdBT
from models_engine.io import run_records
from models_engine.io.environment import compare_environments, describe_environment
from models_engine.io.names import decode_name, encode_name
from models_engine.io.reproduction import compare_rankings, reproduce
from models_engine.io.run_records import FitSpec, read_record, write_labels, write_record

DIFFICULT_NAMES = [
    "=1+1",
    "'=1+1",
    "a;b",
    "a%3Bb",
    "-5",
    " x",
    "x ",
    "50%",
    "50%25",
    "line\nbreak",
    "@me",
    'q"u,ote',
    "نص",
    "%2D5",
]
SPEC = FitSpec("BradleyTerry", {"prior_sd": 1.5}, seed=3, k=2)


def simulate_labels(n_labels: int = 120, n_items: int = 6, seed: int = 0) -> Comparisons:
    """Pairs with ties and rankings of three, as shown."""
    rng = np.random.default_rng(seed)
    worth = np.linspace(2, -2, n_items)
    pairs = np.array([rng.choice(n_items, 2, replace=False) for _ in range(n_labels)])
    win = rng.random(n_labels) < 1 / (1 + np.exp(worth[pairs[:, 1]] - worth[pairs[:, 0]]))
    who = rng.integers(0, 5, n_labels)
    first = Comparisons.from_pairs(
        pairs[:, 0], pairs[:, 1], np.where(rng.random(n_labels) < 0.1, 0.5, win), who, n_items=n_items
    )
    shown = np.array([rng.choice(n_items, 3, replace=False) for _ in range(10)])
    best_first = np.take_along_axis(shown, np.argsort(-worth[shown] + rng.normal(size=(10, 3)), axis=1), axis=1)
    return Comparisons.concatenate([first, Comparisons.from_rankings(best_first, np.arange(10) % 5, shown=shown)])


def names(n: int, prefix: str) -> list[str]:
    return [f"{prefix} {i}" for i in range(n)]


def write(folder, data: Comparisons, spec: FitSpec = SPEC) -> dict:
    return write_record(folder, data, names(data.n_items, "item"), names(5, "otter"), spec, about={"project": "P"})


def labels_by_name(data: Comparisons, items: list[str], annotators: list[str]) -> list[tuple]:
    """Each label by names, in the order shown."""
    found = []
    for label in range(data.n_labels):
        cells = slice(data.starts[label], data.starts[label + 1])
        order = np.argsort(data.positions[cells])
        shown = tuple(items[i] for i in data.items[cells][order])
        ranks = tuple(data.ranks[cells][order].tolist())
        found.append((annotators[data.annotators[label]], shown, ranks, data.weights[label]))
    return sorted(found)


def test_labels_are_read_back_unchanged(tmp_path):
    rng = np.random.default_rng(1)
    data = simulate_labels(n_items=len(DIFFICULT_NAMES)).with_weights(rng.random(130) * 3)
    data = Comparisons.concatenate([data, Comparisons.from_pairs([0], [1], [1], [0], n_items=len(DIFFICULT_NAMES))])
    people = ["=cmd()", "Bob; Bob", "Zoë", "-", "+1"]
    read = write_labels(tmp_path, data, DIFFICULT_NAMES, people)
    items, annotators = list(map(unquote, read.items)), list(map(unquote, read.annotators))
    assert labels_by_name(read.data, items, annotators) == labels_by_name(data, DIFFICULT_NAMES, people)
    assert sorted(items) == sorted(DIFFICULT_NAMES)


def test_grades_and_ties_within_sets_are_read_back_and_repeated(tmp_path):
    graded = Comparisons.from_pairs([0, 1, 2], [1, 2, 0], [1, 0, 0.5], grades=[2, 1, 0])
    weak = Comparisons.from_ranks([[0, 0, 1], [1, 0, 0]], [[0, 1, 2], [2, 0, 1]], tied=[True, False])
    data = Comparisons.concatenate([graded, weak])
    read = write_labels(tmp_path, data, names(3, "item"), ["otter"]).data
    assert sorted(read.grades.tolist()) == [0, 0, 0, 1, 2]
    assert read.tied.sum() == 1
    write(tmp_path / "record", Comparisons.concatenate([graded, weak, simulate_labels(n_items=3)]))
    assert reproduce(tmp_path / "record").reproduced


def test_no_cell_is_a_formula_and_names_stay_different(tmp_path):
    assert len(set(map(encode_name, DIFFICULT_NAMES))) == len(DIFFICULT_NAMES)
    assert [unquote(encode_name(name)) for name in DIFFICULT_NAMES] == DIFFICULT_NAMES
    assert [decode_name(encode_name(name)) for name in DIFFICULT_NAMES] == DIFFICULT_NAMES
    never_encoded = ["plain name, 50%", "%41lice", "%ZZ"]
    assert list(map(decode_name, never_encoded)) == never_encoded
    assert encode_name("plain name, 50%") == "plain name, 50%"
    write_record(
        tmp_path, simulate_labels(n_items=len(DIFFICULT_NAMES)), DIFFICULT_NAMES, names(5, "=otter"), SPEC, about={}
    )
    for path in tmp_path.glob("*.csv"):
        with path.open(newline="") as file:
            header, *rows = csv.reader(file)
        numbers = {"utility", "low", "high"}  # a number below zero is a number
        text = [cell for row in rows for name, cell in zip(header, row, strict=True) if name not in numbers]
        assert text
        assert not [cell for cell in text if cell[:1] in "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20" and cell]


def test_the_order_labels_arrived_in_does_not_matter(tmp_path):
    data = simulate_labels()
    write(tmp_path / "a", data)
    shuffled = data.subset(np.random.default_rng(2).permutation(data.n_labels))
    write(tmp_path / "b", shuffled)
    for name in ("labels.csv", "items.csv", "annotators.csv", "ranking.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_record_describes_the_fit(tmp_path):
    record = write(tmp_path, simulate_labels(), FitSpec("CrowdBT", {}, seed=9, k=2, unranked=["item 3"]))
    assert record == json.loads((tmp_path / "record.json").read_text())
    assert record["about"] == {"project": "P"}
    assert (record["estimator"], record["seed"], record["n_labels"], record["unranked"]) == (
        "CrowdBT",
        9,
        130,
        ["item 3"],
    )
    assert set(record["environment"]) >= {"python", "numpy", "scipy", "crowdrank", "processor", "blas", "blas_threads"}
    _, spec, labels, ranking = read_record(tmp_path)
    assert sorted(row["item"] for row in ranking) == ["item 0", "item 1", "item 2", "item 4", "item 5"]
    posterior = CrowdBT().fit(labels.data, rng=np.random.default_rng(9))
    own = posterior.restrict([0, 1, 2, 4, 5])
    expected = dict(zip(["item 0", "item 1", "item 2", "item 4", "item 5"], own.utilities(), strict=True))
    assert {row["item"]: float(row["utility"]) for row in ranking} == expected
    assert spec.level == 0.9


@pytest.mark.process
def test_reproduce_in_another_process(tmp_path):
    """Made and repeated by two processes, the engine's one way: one BLAS thread, and no Django."""
    data = simulate_labels()
    arrays = {"items": data.items, "starts": data.starts, "ranks": data.ranks, "annotators": data.annotators}
    np.savez(tmp_path / "data.npz", **arrays)
    make = """
import sys, numpy as np
from pathlib import Path
from models_engine.data import Comparisons
from models_engine.io.run_records import FitSpec, write_record
folder = Path(sys.argv[1]); a = np.load(folder / "data.npz")
cut = a["starts"][1:-1]
data = Comparisons.from_ranks(np.split(a["ranks"], cut), np.split(a["items"], cut), a["annotators"])
items, people = [f"i{n}" for n in range(6)], [f"o{n}" for n in range(5)]
write_record(folder / "r", data, items, people, FitSpec("CollaborativeGP", {}, seed=1, k=3), about={})
"""
    one_thread = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", make, str(tmp_path)], check=True, env=one_thread)
    command = [sys.executable, "-m", "models_engine", "reproduce", str(tmp_path / "r")]
    bare = {name: value for name, value in os.environ.items() if not name.endswith("_THREADS")}
    done = subprocess.run(command, capture_output=True, text=True, env=bare)
    assert (done.returncode, done.stdout.strip()) == (0, "Reproduced bit for bit."), done.stderr


@pytest.fixture
def record(tmp_path):
    folder = tmp_path / "record"
    write(folder, simulate_labels())
    return folder


def change_environment(folder, **environment) -> None:
    path = folder / "record.json"
    record = json.loads(path.read_text())
    record["environment"] |= environment
    path.write_text(json.dumps(record))


def change_figure(folder, name: str, by: float, place: int = 2) -> str:
    """Adds to one figure of ranking.csv; the item it belongs to."""
    with (folder / "ranking.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows[place][name] = repr(float(rows[place][name]) + by)
    with (folder / "ranking.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return rows[place]["item"]


def test_other_versions_need_only_be_close(record, capsys):
    change_environment(record, numpy="1.0.0", blas_threads=1)
    change_figure(record, "utility", 3e-9)
    assert main(["reproduce", str(record)]) == 0
    output = capsys.readouterr().out
    assert "Reproduced to 1e-08 with the same ranking" in output
    assert f"numpy is {np.__version__} here, 1.0.0 in the record" in output


def test_the_same_environment_must_match_bit_for_bit(record, monkeypatch, capsys):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    change_environment(record, blas_threads=1)
    item = change_figure(record, "sd", 3e-9)
    assert main(["reproduce", str(record)]) == 1
    output = capsys.readouterr().out
    assert "NOT reproduced bit for bit" in output
    assert repr(item) in output


def test_a_difference_is_reported_with_the_first_item(record, capsys):
    change_environment(record, numpy="1.0.0")
    change_figure(record, "high", 1e-6, place=4)
    item = change_figure(record, "utility", -1e-6, place=1)
    assert main(["reproduce", str(record)]) == 1
    assert f"First difference: item {item!r}, utility" in capsys.readouterr().out


def test_another_order_is_a_difference(record):
    _, spec, labels, ranking = read_record(record)
    rows = run_records.fit_cold(labels, spec).rows
    rows[1], rows[2] = rows[2], rows[1]
    verdict = compare_rankings(ranking, rows, ["elsewhere"])
    assert (verdict.how, verdict.reproduced) == ("different", False)
    assert "place 2 of part 1" in verdict.first
    assert not compare_rankings(ranking, rows[:-1], ["elsewhere"]).reproduced


def test_changed_files_are_rejected(record, capsys):
    labels = (record / "labels.csv").read_text().splitlines()
    (record / "labels.csv").write_text("\n".join(labels[:-1]) + "\n")
    assert main(["reproduce", str(record)]) == 2
    assert "A file has been changed" in capsys.readouterr().err
    (record / "record.json").unlink()
    with pytest.raises(InvalidData, match="is not a run record"):
        reproduce(record)
    shutil.rmtree(record)
    with pytest.raises(InvalidData, match="is not a run record"):
        reproduce(record)


def test_differences_of_environments_are_listed():
    here = describe_environment()
    assert compare_environments(here, here | {"blas_threads": 1}) == [] or here["blas_threads"] != 1
    output = compare_environments(here | {"scipy": "0.1", "blas_threads": 8}, here)
    assert any("scipy" in line for line in output)
    assert any("8 in the record" in line for line in output)


def test_a_ranking_with_unknown_order_shown_is_rejected(tmp_path):
    with pytest.raises(InvalidData, match="order shown"):
        write_labels(tmp_path, Comparisons.from_rankings([[0, 1, 2]]), names(3, "i"), ["a"])


@pytest.mark.parametrize("ranks", [[[0, 2]], [[1, 1]], [[0]], [[0, 1, 2]]])
def test_ranks_must_be_whole(ranks):
    with pytest.raises(InvalidData, match="row 0"):
        Comparisons.from_ranks(ranks, [[0, 1]])


def test_the_command_line_fits_the_labels_of_a_record(record, tmp_path):
    out = tmp_path / "out"
    options = ["--items", str(record / "items.csv"), "--set", "prior_sd=1.5", "--seed", "3", "--top-k", "2"]
    assert main(["fit", str(record / "labels.csv"), "--output", str(out), *options]) == 0
    with (out / "ranking.csv").open() as a, (record / "ranking.csv").open() as b:
        for one, other in zip(csv.DictReader(a), csv.DictReader(b), strict=True):
            assert one["item"] == other["item"]
            assert float(one["utility"]) == pytest.approx(float(other["utility"]), abs=1e-8)
