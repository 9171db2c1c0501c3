"""A run record repeats the predicted places, bit for bit, and says so where they come out otherwise."""

import csv
import json

import numpy as np
import pytest

from models_engine.analysis.unseen_items import predict_unseen
from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.io.reproduction import reproduce
from models_engine.io.run_records import FitSpec, write_record

N_OLD, NEW = 24, ["item 24", "item 25"]
NAMES = [f"item {number:02d}" for number in range(N_OLD + 3)]
SPEC = FitSpec("BradleyTerry", {"prior_sd": 1.5}, seed=3, k=2, predicted=dict.fromkeys(NEW, "item 03"))


def labels() -> Comparisons:
    """Pairs by utilities that the first of two features tells; the last three items are in none."""
    rng = np.random.default_rng(0)
    worth = np.append(1.5 * rng.standard_normal(N_OLD), [3.0, -3.0, 0.0])
    pairs = np.array([rng.choice(N_OLD, 2, replace=False) for _ in range(400)])
    won = rng.random(400) < 1 / (1 + np.exp(worth[pairs[:, 1]] - worth[pairs[:, 0]]))
    looks = np.column_stack([worth + 0.3 * rng.standard_normal(len(worth)), rng.standard_normal(len(worth))])
    people = rng.integers(0, 5, 400)
    return Comparisons.from_pairs(pairs[:, 0], pairs[:, 1], won, people, n_items=len(worth), item_features=looks)


def write(folder, spec: FitSpec = SPEC) -> dict:
    return write_record(folder, labels(), NAMES, [f"otter {number}" for number in range(5)], spec, about={})


def rows_of(path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_predicted_places_are_those_of_the_same_fit_and_are_repeated(tmp_path):
    record = write(tmp_path)
    assert record["predicted"] == dict.fromkeys(NEW, "item 03")
    rows = rows_of(tmp_path / "predicted.csv")
    assert [row["item"] for row in rows] == NEW, "the best first"
    data = labels()
    posterior = BradleyTerry(prior_sd=1.5).fit(data, rng=np.random.default_rng(3))
    compared, new = data.n_comparisons() > 0, np.array([N_OLD, N_OLD + 1])
    told = predict_unseen(posterior, data.item_features, data.connected_parts(), compared, new, np.zeros(2, np.int64))
    assert [float(row["utility"]) for row in rows] == pytest.approx(told.mean.tolist(), rel=1e-6)
    assert [float(row["sd"]) for row in rows] == pytest.approx(told.sd.tolist(), rel=1e-6)
    assert rows[0]["rank"] == "1"
    assert int(rows[1]["rank_high"]) == N_OLD + 1
    verdict = reproduce(tmp_path)
    assert verdict.how == "identical"


def test_what_differs_is_said(tmp_path):
    write(tmp_path)
    path = tmp_path / "predicted.csv"
    rows = path.read_text().splitlines()
    path.write_text("\n".join([rows[0], *rows[:0:-1]]) + "\n")
    assert "item 24" in reproduce(tmp_path).words()
    assert not reproduce(tmp_path).reproduced
    path.unlink()
    assert reproduce(tmp_path).how == "different"


def test_a_record_without_predictions_has_no_such_file_and_is_read_as_before(tmp_path):
    write(tmp_path, FitSpec("BradleyTerry", {}, seed=3))
    assert not (tmp_path / "predicted.csv").exists()
    path = tmp_path / "record.json"
    record = json.loads(path.read_text())
    del record["predicted"]
    path.write_text(json.dumps(record))
    assert reproduce(tmp_path).how == "identical"


@pytest.mark.parametrize("among", [{"nobody": "item 03"}, {"item 24": "nobody"}, {"item 01": "item 03"}])
def test_what_cannot_be_predicted_is_refused(tmp_path, among):
    with pytest.raises(InvalidData):
        write(tmp_path, FitSpec("BradleyTerry", {}, predicted=among))


def test_predictions_need_features_and_others_in_the_part(tmp_path):
    data = labels()
    bare = Comparisons.from_pairs([0, 1], [1, 2], [1, 0], n_items=len(NAMES))
    with pytest.raises(InvalidData, match="no features"):
        write_record(tmp_path / "bare", bare, NAMES, ["otter"], SPEC, about={})
    alone = FitSpec("BradleyTerry", {}, predicted={"item 24": "item 25"})
    with pytest.raises(InvalidData, match="home"):
        write_record(tmp_path / "alone", data, NAMES, [f"otter {number}" for number in range(5)], alone, about={})
