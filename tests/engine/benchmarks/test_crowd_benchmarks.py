"""The benchmarks on crowds' real labels: readers, folds and scores by hand, and floors where the data are present."""

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from models_engine.analysis.metrics import auc_unequal_grades, spearman
from models_engine.benchmarks import readability, ukp_pairs
from models_engine.benchmarks.__main__ import COMMANDS
from models_engine.benchmarks.__main__ import main as benchmarks
from models_engine.benchmarks.crowd_data import read_readability, read_ukp
from models_engine.benchmarks.fits import measure_fit, parse_estimator_names
from models_engine.data import Comparisons
from models_engine.errors import InvalidData, InvalidSetting
from models_engine.estimators.bradley_terry import QUICK, BradleyTerry
from models_engine.estimators.table import ESTIMATORS
from models_engine.posterior import BasePosterior
from models_engine.simulate import simulate_crowd
from tests.paths import DATA


def require_data(name: str, file: str):
    return pytest.mark.skipif(
        not (DATA / name / file).is_file(), reason=f"the {name} data are not in {DATA}; set CROWDRANK_DATA"
    )


needs_readability = require_data("readability_crowd", "comparisons.csv.gz")
needs_ukp = require_data("ukpconvarg1", "labels.csv.gz")


def write_gzip(path: Path, rows: list[list]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    opened = gzip.open(path, "wt", newline="") if path.suffix == ".gz" else path.open("w", newline="")
    with opened as file:
        csv.writer(file).writerows(rows)


@pytest.fixture
def simulated_data(tmp_path) -> Path:
    """Both data sets in small, in their folders; 24 items in 4 topics."""
    rng = np.random.default_rng(0)
    people = simulate_crowd(rng, 24, 10, utility_sd=1.5, tie=0.5)
    shown = rng.integers(4, size=900) * 6 + np.array([[0], [0]])
    places = np.argsort(rng.random((900, 6)), axis=1)[:, :2]
    pairs = people.pairs(900, rng, shown=shown.T + places).pairs()
    names = {1.0: "a1", 0.0: "a2", 0.5: "equal"}
    labels = [
        [w, a, b, names[y]] for w, a, b, y in zip(pairs.annotator, pairs.left, pairs.right, pairs.outcome, strict=True)
    ]
    write_gzip(tmp_path / "ukpconvarg1" / "labels.csv.gz", [["worker", "item1", "item2", "label"], *labels])
    topics = [["item", "topic_id", "text"], *([item, item // 6, "one\ntwo, three"] for item in range(24))]
    write_gzip(tmp_path / "ukpconvarg1" / "arguments.csv.gz", topics)
    harder = [
        [w, *((a, b) if y == 1 else (b, a))]
        for w, a, b, y in zip(pairs.annotator, pairs.left, pairs.right, pairs.outcome, strict=True)
        if y != 0.5
    ]
    folder = tmp_path / "readability_crowd"
    write_gzip(folder / "comparisons.csv.gz", [["worker", "harder", "easier"], *harder, [0, 5, 5]])
    order = np.argsort(np.argsort(people.utilities))
    write_gzip(folder / "documents.csv", [["doc", "grade_level"], *([item, order[item] // 3] for item in range(24))])
    return tmp_path


def test_readers_leave_out_only_comparisons_of_a_document_with_itself(simulated_data):
    labels, topics = read_ukp(simulated_data)
    assert (labels.n_labels, labels.n_items) == (900, 24)
    assert_array_equal(topics, np.arange(24) // 6)
    pairs = labels.pairs()
    assert_array_equal(topics[pairs.left], topics[pairs.right])
    assert (labels.positions >= 0).all()
    answers, grades = read_readability(simulated_data / "readability_crowd")
    assert answers.n_labels == (pairs.outcome != 0.5).sum()
    assert (answers.positions == -1).all(), "which was shown left is not known"
    assert np.bincount(grades).tolist() == [3] * 8


def test_a_missing_folder_is_reported(tmp_path):
    for read in (read_ukp, read_readability):
        with pytest.raises(InvalidData, match="does not exist"):
            read(tmp_path)
    with pytest.raises(InvalidSetting, match="'Elo'"):
        parse_estimator_names("BradleyTerry,Elo")


def test_a_folder_without_the_data_gives_a_one_line_error(tmp_path, capsys):
    assert benchmarks(["readability", "--data", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert benchmarks(["ukp-all"]) == 2
    assert "ukp-pairs" in capsys.readouterr().err


def test_win_rates_by_hand():
    data = Comparisons.from_pairs([0, 1, 2], [1, 2, 0], [1, 0.5, 0], n_items=4)
    assert_allclose(readability.compute_win_rates(data), [1, 0.25, 0.25, 0.5])


def test_the_bootstrap_error_of_an_auc_difference_matches_new_samples():
    """The bootstrap against the spread over fresh documents of the same kind."""
    rng = np.random.default_rng(0)

    def documents(n: int = 150):
        grades = rng.integers(6, size=n)
        return grades + rng.normal(size=n), grades + 3 * rng.normal(size=n), grades

    def gain(good, bad, grades):
        return auc_unequal_grades(good, grades) - auc_unequal_grades(bad, grades)

    fresh = np.std([gain(*documents()) for _ in range(200)])
    good, bad, grades = documents()
    found, error = readability.bootstrap_difference(good, bad, grades, 200, rng)
    assert found == pytest.approx(gain(good, bad, grades))
    assert error == pytest.approx(fresh, rel=0.3)
    assert readability.bootstrap_difference(good, good, grades, 5, rng) == (0, 0)


@pytest.mark.parametrize("hold_out", ["labels", "pairs"])
def test_folds_are_even_and_depend_on_the_seed_only(simulated_data, hold_out):
    data, _ = read_ukp(simulated_data)
    fold = ukp_pairs.assign_folds(data, hold_out, 3)
    assert_array_equal(fold, ukp_pairs.assign_folds(data, hold_out, 3))
    assert (fold != ukp_pairs.assign_folds(data, hold_out, 4)).any()
    assert np.bincount(fold, minlength=5).min() > 0.6 * len(fold) / 5
    pairs = data.pairs()
    homes: dict[tuple[int, int], set[int]] = {}
    for left, right, one in zip(pairs.left.tolist(), pairs.right.tolist(), fold.tolist(), strict=True):
        homes.setdefault((min(left, right), max(left, right)), set()).add(one)
    together = all(len(folds) == 1 for folds in homes.values())
    assert together == (hold_out == "pairs")


def test_the_base_rate_comes_from_the_training_folds():
    train = Comparisons.from_pairs([0] * 10, [1] * 10, [1] * 5 + [0] * 3 + [0.5] * 2)
    test = Comparisons.from_pairs([0, 1, 0], [1, 0, 1], [1, 0, 0.5])
    assert_allclose(ukp_pairs.base_rate_loss(train, test), -np.log([0.5, 0.3, 0.2]))


def test_standard_errors_are_clustered():
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(40), 25)
    shared = rng.normal(size=40)[cluster]
    mean, error = ukp_pairs.cluster_mean(shared, cluster)
    assert mean == pytest.approx(shared.mean())
    assert error == pytest.approx(shared[::25].std(ddof=1) / np.sqrt(40))
    alone = ukp_pairs.cluster_mean(shared, np.arange(1000))[1]
    assert alone == pytest.approx(shared.std(ddof=1) / np.sqrt(1000))


def test_the_cost_of_a_fit_is_measured():
    data = simulate_crowd(np.random.default_rng(0), 400, 10).pairs(5_000, np.random.default_rng(1))
    posterior, cost = measure_fit(BradleyTerry(), data)
    assert posterior.n_items == 400
    assert cost.converged
    assert 0 < cost.cpu_s < 60
    assert 20 < cost.peak_mib < 100_000


@pytest.mark.process
def test_both_commands_print_a_table_and_write_its_figures(simulated_data, tmp_path, capsys):
    estimators = {"readability": ["BradleyTerry"], "ukp-pairs": ["BradleyTerry", "CrowdBT"]}
    for name, first in (("readability", readability.WIN_RATES), ("ukp-pairs", ukp_pairs.BASE_RATE)):
        main, _ = COMMANDS[name]
        out = tmp_path / f"{name}.json"
        given = ["--data", str(simulated_data), "--json", str(out), "--estimators", ",".join(estimators[name])]
        assert main(given) == 0
        printed = capsys.readouterr().out
        found = json.loads(out.read_text())
        assert "commit" in printed
        assert "cores" in found["facts"]["measured"]
        assert found["facts"]["seed"] == 0
        rows = [next(iter(row.values())) for row in found["rows"]]
        assert rows == [first, *estimators[name]]
        assert all(row in printed for row in rows)
        if name == "ukp-pairs":
            assert set(found["rows"][2]["over"]) == {first, "BradleyTerry"}
            by_rate, by_model = (row["loss"] for row in found["rows"][:2])
            assert by_model < by_rate - 0.05
        else:
            assert found["rows"][1]["auc"] > 0.8


@pytest.mark.slow
@needs_readability
def test_readability_is_ranked_as_well_as_by_the_prototype():
    """Floors: a prototype's AUC and Spearman; CrowdBT is the best, by more than its standard error; than the mode of a
    fixed prior by more than two."""
    data, grades = read_readability(DATA)
    assert (data.n_labels, data.n_items, data.n_annotators) == (12_726, 490, 624)
    assert np.bincount(grades)[1:].tolist() == [85, 69, 70, 55, 53, 38, 17, 36, 14, 13, 26, 14]
    scores = {"win rates": readability.compute_win_rates(data)}
    scores |= {name: fit.utilities() for name, fit in fitted(data).items()}
    for name, auc, rank in (("win rates", 0.653, 0.405), ("BradleyTerry", 0.681, 0.474), ("CrowdBT", 0.689, 0.493)):
        assert auc_unequal_grades(scores[name], grades) >= auc
        assert spearman(scores[name], grades) >= rank
    rng = np.random.default_rng(0)
    scores["fixed"] = QUICK.fit(data).utilities()
    for other, errors in (("BradleyTerry", 1), ("fixed", 2)):
        gain, error = readability.bootstrap_difference(scores["CrowdBT"], scores[other], grades, 1_000, rng)
        assert gain > errors * error > 0


def fitted(data: Comparisons) -> dict[str, BasePosterior]:
    """Both estimators' fits, which converge: a warning is an error here."""
    return {name: ESTIMATORS[name].estimator().fit(data) for name in ("BradleyTerry", "CrowdBT")}


@pytest.mark.slow
@needs_ukp
def test_reliabilities_improve_held_out_predictions():
    """One fold of five; the floors are a standard error over what all five give."""
    data, topics = read_ukp(DATA)
    assert (data.n_labels, data.n_items, data.n_annotators) == (84_445, 1_052, 3_815)
    assert data.pairs().tie_rate() == pytest.approx(0.2262, abs=1e-4)
    assert len(np.unique(topics)) == 32
    fold = ukp_pairs.assign_folds(data, "labels", 0)
    train, test = ukp_pairs.subset(data, fold != 0), ukp_pairs.subset(data, fold == 0)
    outcome = np.bincount((2 * data.pairs().outcome).astype(int)) / data.n_labels
    base_rate = ukp_pairs.base_rate_loss(train, test).mean()
    assert base_rate == pytest.approx(-(outcome * np.log(outcome)).sum(), abs=5e-3)
    losses = {name: -fit.log_predictive(test) for name, fit in fitted(train).items()}
    assert losses["BradleyTerry"].mean() < 0.865
    assert losses["CrowdBT"].mean() < 0.858
    by_reliabilities = losses["BradleyTerry"] - losses["CrowdBT"]
    gain, error = ukp_pairs.cluster_mean(by_reliabilities, topics[test.pairs().left])
    assert gain > 4 * error > 0
