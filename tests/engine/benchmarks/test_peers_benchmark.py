"""Other libraries beside ours: what they are given, what is made of their answers, and that theirs agree with ours."""

import gzip
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from models_engine.benchmarks import peer_data, peers
from models_engine.benchmarks.__main__ import main as benchmarks
from models_engine.benchmarks.peer_data import HeldOutData
from models_engine.benchmarks.peer_fits import PEERS, expit, predict_by_strength
from models_engine.data import Comparisons
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.simulate import simulate_crowd
from tests.paths import ROOT

# Our own tests have choix; the environment that `make bench PEERS=1` makes has them all.
OWN_PYTHON = Path(sys.executable)
PEERS_PYTHON = ROOT / ".venv-peers" / "bin" / "python"


@pytest.fixture
def pairs() -> HeldOutData:
    people, rng = simulate_crowd(np.random.default_rng(0), 12, 6, utility_sd=1.5), np.random.default_rng(1)
    return HeldOutData.of(people.pairs(600, rng), people.pairs(300, rng))


@pytest.fixture
def rankings() -> HeldOutData:
    people, rng = simulate_crowd(np.random.default_rng(0), 12, 6, utility_sd=1.5), np.random.default_rng(1)
    return HeldOutData.of(people.rankings(100, 4, rng), people.pairs(300, rng))


def test_other_libraries_get_the_same_answers_without_ties():
    train = Comparisons.from_pairs([0, 1, 2], [1, 2, 0], [1, 0.5, 0], [0, 1, 1], n_items=4)
    arrays = HeldOutData.of(train, train).arrays()
    assert arrays["left"].tolist() == [0, 2]
    assert arrays["right"].tolist() == [1, 0]
    assert arrays["outcome"].tolist() == [1, 0]
    assert arrays["annotator"].tolist() == [0, 1]
    assert arrays["test_left"].tolist() == [0, 2]
    assert len(arrays["rankings"]) == 0
    ranked = Comparisons.from_rankings([[3, 1, 2], [0, 2, 3]], [0, 1])
    assert HeldOutData.of(ranked, train).arrays()["rankings"].tolist() == [[3, 1, 2], [0, 2, 3]]


def test_simulated_data_are_a_pure_function_of_name_and_seed():
    for name in ("rankings", "tastes"):
        one, same, other = (
            peer_data.simulate_data(name, 3),
            peer_data.simulate_data(name, 3),
            peer_data.simulate_data(name, 4),
        )
        assert one.train.data_hash() == same.train.data_hash() != other.train.data_hash()
        assert_array_equal(one.outcome, same.outcome)
    assert one.train.item_features is not None


def test_held_out_readability_answers_are_not_in_the_training_data(tmp_path):
    chain = "".join(f"0,{i},{i + 1}\n" for i in range(50))
    (tmp_path / "comparisons.csv.gz").write_bytes(gzip.compress(f"worker,harder,easier\n{chain}".encode()))
    (tmp_path / "documents.csv").write_text("doc,grade_level\n" + "".join(f"{i},1\n" for i in range(51)))
    held = peer_data.load_readability(tmp_path, 0)
    assert (held.train.n_labels, len(held.left)) == (40, 10)
    trained = held.train.pairs()
    assert not set(np.minimum(trained.left, trained.right)) & set(np.minimum(held.left, held.right))


@dataclass
class Strengths:
    """As much of pandas' Series as is used: the strengths of items 0 and 1."""

    index = SimpleNamespace(to_numpy=lambda kind: np.array([0, 1], kind))

    def to_numpy(self):
        return np.array([3.0, 1.0])


def test_strengths_become_probabilities_also_for_items_without_one():
    data = {"n_items": np.array(4), "test_left": np.array([0, 2, 2]), "test_right": np.array([1, 1, 3])}
    assert_allclose(predict_by_strength(Strengths(), data)(), [0.75, 0, 0.5])
    assert_allclose(expit(np.array([-1e4, 0, 1e4])), [0, 0.5, 1])


@pytest.mark.process
@pytest.mark.parametrize("name", ["choix opt_pairwise", "choix ep_pairwise"])
def test_choix_under_the_same_prior_predicts_as_ours(pairs, name):
    row = peers.measure_peer(OWN_PYTHON, "small", name, "BradleyTerry", pairs, 60)
    assert not row.note
    own = BradleyTerry().fit(pairs.train).pairwise_probabilities(pairs.left, pairs.right)
    loss, accuracy = pairs.scores(own)
    assert row.loss == pytest.approx(loss, abs=0.01)
    assert row.accuracy == pytest.approx(accuracy, abs=0.03)
    assert 0 < row.cpu_s < 60
    assert row.peak_mib > 20
    assert row.intervals == (name == "choix ep_pairwise")


@pytest.mark.process
def test_rankings_reach_choix_best_first(rankings):
    row = peers.measure_peer(OWN_PYTHON, "rankings", "choix ilsr_rankings", "PlackettLuce", rankings, 60)
    assert not row.note
    assert row.accuracy > 0.7


@pytest.mark.process
def test_a_peer_that_is_too_slow_or_fails_has_a_note(pairs):
    people, rng = simulate_crowd(np.random.default_rng(0), 400, 10), np.random.default_rng(1)
    large = HeldOutData.of(people.pairs(20_000, rng), people.pairs(10, rng))
    slow = peers.measure_peer(OWN_PYTHON, "small", "choix ep_pairwise", "BradleyTerry", large, 1)
    assert slow.note == "stopped after 1 s of CPU"
    assert slow.loss is None
    broken = replace(pairs, left=pairs.left + 100)
    assert (
        "IndexError" in peers.measure_peer(OWN_PYTHON, "small", "choix ilsr_pairwise", "BradleyTerry", broken, 60).note
    )


@pytest.mark.process
def test_without_an_environment_only_ours_are_printed(tmp_path, capsys):
    out = tmp_path / "found.json"
    assert benchmarks(["peers", "--plans", "rankings", "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "Ours only" in printed
    rows = {row["name"]: row for row in json.loads(out.read_text())["rows"]}
    assert set(rows) == {"PlackettLuce"}
    assert rows["PlackettLuce"]["loss"] < 0.8 * np.log(2)
    assert benchmarks(["peers", "--python", str(tmp_path / "none")]) == 2
    assert "make bench PEERS=1" in capsys.readouterr().err
    assert benchmarks(["peers", "--plans", "Elo"]) == 2


def test_the_table_lists_each_peer_below_ours_with_ratios():
    ours = peers.PeerRow("small", "BradleyTerry", None, True, 1.0, 0.5, 100.0, 0.6, 0.7)
    crowdbt = replace(ours, name="CrowdBT")
    theirs = replace(ours, name="choix opt_pairwise", beside="BradleyTerry", intervals=False, cpu_s=6.0, peak_mib=150.0)
    missing = peers.PeerRow("small", "crowd-kit NoisyBradleyTerry", "CrowdBT", False, note="not installed")
    lines = peers.format_table([ours, crowdbt, theirs, missing]).splitlines()
    assert [text.split()[0] for text in lines[2:]] == ["BradleyTerry", "choix", "CrowdBT", "crowd-kit"]
    assert "12x" in lines[3]
    assert "1.5x" in lines[3]
    assert lines[3].endswith("no")
    assert lines[5].endswith("not installed")


def test_every_plan_has_known_estimators_and_peers():
    for data, plan in peers.PLANS.items():
        assert data == peers.READABILITY or data in peer_data.SIMULATED
        assert {name for names in plan.values() for name in names} <= set(PEERS)
        assert set(plan) <= set(peers.ESTIMATORS)


@pytest.mark.process
@pytest.mark.skipif(not PEERS_PYTHON.is_file(), reason="no .venv-peers; `make bench PEERS=1` makes it")
@pytest.mark.parametrize("name", [name for name, (library, _, _) in PEERS.items() if library != "choix"])
def test_each_peer_predicts_better_than_chance(pairs, name):
    if peers.find_installed(PEERS_PYTHON)[PEERS[name][0]] is None:
        pytest.skip(f"{PEERS[name][0]} is not in .venv-peers")
    features = np.random.default_rng(0).standard_normal((12, 2))
    row = peers.measure_peer(
        PEERS_PYTHON, "small", name, "GPPL", replace(pairs, train=replace(pairs.train, item_features=features)), 60
    )
    assert not row.note
    assert row.accuracy > 0.65
