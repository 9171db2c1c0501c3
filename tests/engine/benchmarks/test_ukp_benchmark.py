"""Arguments on topics never judged: the texts' numbers, one topic left out at a time, and what is printed of it."""

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from models_engine.analysis.text_features import log_lengths, text_features, tf_idf
from models_engine.benchmarks import ukp
from models_engine.benchmarks.__main__ import main as benchmarks
from models_engine.benchmarks.crowd_data import read_ukp, read_ukp_texts
from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from tests.paths import DATA

GOOD, POOR = ["because", "therefore", "evidence"], ["whatever", "lol", "dunno"]


def write_gzip(path: Path, rows: list[list]) -> None:
    with gzip.open(path, "wt", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture
def folder(tmp_path) -> Path:
    """Four topics of six arguments: those with good words win nearly always, and are no longer than the others."""
    rng = np.random.default_rng(0)
    good = np.arange(24) % 2 == 0
    texts = [" ".join(rng.choice(GOOD if good[i] else POOR, 6)) + f" topic{i // 6}" for i in range(24)]
    write_gzip(
        tmp_path / "arguments.csv.gz", [["item", "topic_id", "text"], *([i, i // 6, texts[i]] for i in range(24))]
    )
    labels = []
    for _ in range(600):
        topic = rng.integers(4)
        a, b = topic * 6 + rng.choice(6, 2, replace=False)
        right = rng.random() < expit(3.0 * (int(good[b]) - int(good[a])))
        label = "equal" if good[a] == good[b] and rng.random() < 0.5 else "a2" if right else "a1"
        labels.append([rng.integers(9), a, b, label])
    write_gzip(tmp_path / "labels.csv.gz", [["worker", "item1", "item2", "label"], *labels])
    return tmp_path


def test_tf_idf_by_hand():
    """Three texts; "rare" is in one only and left out; rows have length 1."""
    matrix = tf_idf(["Cats cats dogs", "dogs, rare!", "CATS don't; dogs don't"]).toarray()
    cats, dogs = (np.log(4 / (1 + df)) + 1 for df in (2, 3))
    first = np.array([(1 + np.log(2)) * cats, dogs])
    assert_allclose(matrix[0], first / np.linalg.norm(first))
    assert_allclose(matrix[1], [0, 1])
    assert_allclose(matrix[2], np.array([cats, dogs]) / np.hypot(cats, dogs))
    assert tf_idf(["one", "two"]).shape == (2, 0)


def test_features_keep_the_inner_products_of_the_texts():
    texts = ["red green blue", "red green", "blue yellow red", "yellow green green", "blue blue yellow"]
    features = text_features(texts, 50)
    assert features.shape == (5, 4)
    u, d, v = np.linalg.svd(tf_idf(texts).toarray())
    best = (u[:, :3] * d[:3]) @ v[:3]
    assert_allclose(features[:, :3] @ features[:, :3].T, best @ best.T, atol=1e-10)
    assert_allclose(features[:, 3], log_lengths(texts))
    assert_allclose(text_features(["one", "two three"], 5)[:, 0], np.log([2, 3]))


def test_the_slope_of_the_length_is_that_of_a_logistic_regression():
    rng = np.random.default_rng(0)
    lengths = rng.standard_normal(50)
    left, right = rng.integers(50, size=(2, 4000))
    left, right = left[left != right], right[left != right]
    won = rng.random(len(left)) < expit(0.8 * (lengths[left] - lengths[right]))
    train = Comparisons.from_pairs(left, right, won.astype(float), n_items=50)
    assert ukp.length_slope(train, lengths) == pytest.approx(0.8, abs=0.1)


@pytest.mark.process
def test_words_predict_a_held_out_topic(folder, tmp_path, capsys):
    out = tmp_path / "found.json"
    assert benchmarks(["ukp", "--data", str(folder), "--width", "6", "--topics", "2", "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "commit" in printed
    assert ukp.NO_TEXTS not in printed
    found = json.loads(out.read_text())
    means = {row["predictor"]: row for row in found["means"]}
    assert list(means) == [ukp.CHANCE, ukp.LENGTH, "GPPL", "FeaturePlackettLuce"]
    assert means[ukp.CHANCE]["loss"] == pytest.approx(np.log(2))
    for name in ("GPPL", "FeaturePlackettLuce"):
        assert means[name]["topics"] == 2
        assert means[name]["accuracy"] > means[ukp.LENGTH]["accuracy"] + 0.1
        assert means[name]["loss"] < means[ukp.LENGTH]["loss"] - 0.05
        assert name in printed
    own = [one for one in found["scores"] if one["predictor"] == "GPPL"]
    assert np.mean([one["loss"] for one in own]) == pytest.approx(means["GPPL"]["loss"])


@pytest.mark.process
def test_a_folder_without_texts_is_reported(folder, capsys):
    with gzip.open(folder / "arguments.csv.gz", "rt", newline="") as file:
        rows = [row[:2] for row in csv.reader(file)]
    write_gzip(folder / "arguments.csv.gz", rows)
    assert benchmarks(["ukp", "--data", str(folder), "--topics", "1", "--estimators", "BradleyTerry"]) == 0
    assert ukp.NO_TEXTS in capsys.readouterr().out
    scores = {one.predictor: one for one in ukp.run(folder, ["BradleyTerry"], 6, 1)}
    assert scores["BradleyTerry"].loss == pytest.approx(np.log(2)) == scores[ukp.CHANCE].loss


@pytest.mark.slow
@pytest.mark.usefixtures("quick_draws")
def test_answers_are_predicted_by_the_annotators_own_utilities(folder):
    """Workers 0 to 3 prefer the poor arguments: a consensus is wrong about them on a topic nobody judged."""
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(900):
        a, b = rng.integers(4) * 6 + rng.choice(6, 2, replace=False)
        worker = rng.integers(9)
        margin = 2.0 * (int(b % 2 == 0) - int(a % 2 == 0)) * (-1 if worker < 4 else 1)
        rows.append([worker, a, b, "a2" if rng.random() < expit(margin) else "a1"])
    rows += [[9, 0, 2, "a1"]] * 3
    write_gzip(folder / "labels.csv.gz", [["worker", "item1", "item2", "label"], *rows])
    scores = {one.predictor: one for one in ukp.run(folder, ["CollaborativeGP"], 6, 1, personal=True)}
    assert scores["CollaborativeGP, own"].accuracy > scores["CollaborativeGP"].accuracy + 0.1
    few = {one.predictor: one for one in ukp.run(folder, [], 6, 1, min_pairs=2)}
    topic = sum(a < 6 for _, a, _, _ in rows)
    assert few[ukp.CHANCE].n_answers == topic - 3, "worker 9 has no answer on another topic"


def test_the_sample_has_its_own_labels_and_annotators(folder):
    rows = [[5, 0, 1, "a1", 0], [7, 0, 1, "a2", 1], [5, 2, 3, "equal", 1], [7, 2, 3, "a1", 0], [2, 6, 7, "a1", 0]]
    write_gzip(folder / "labels.csv.gz", [["worker", "item1", "item2", "label", "in_crowdsample"], *rows])
    data, topics = read_ukp(folder, sample=True)
    pairs = data.pairs()
    assert (data.n_annotators, data.n_items, len(topics)) == (2, 24, 24)
    assert list(zip(pairs.annotator, pairs.left, pairs.outcome, strict=True)) == [(1, 0, 0.0), (0, 2, 0.5)]
    write_gzip(folder / "labels.csv.gz", [["worker", "item1", "item2", "label"], [5, 0, 1, "a1"]])
    with pytest.raises(InvalidData, match="in_crowdsample"):
        read_ukp(folder, sample=True)


@pytest.mark.slow
@pytest.mark.skipif(
    not (DATA / "ukpconvarg1" / "labels.csv.gz").is_file(),
    reason=f"the ukpconvarg1 data are not in {DATA}; set CROWDRANK_DATA",
)
def test_real_texts_belong_to_their_arguments():
    """Longer arguments convince more, in every copy of these data."""
    data, topics = read_ukp(DATA)
    texts = read_ukp_texts(DATA)
    assert len(texts) == data.n_items == len(topics)
    assert ukp.length_slope(data, log_lengths(texts)) > 0.5
