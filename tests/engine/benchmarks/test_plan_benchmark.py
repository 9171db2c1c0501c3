"""The command on plans prints and writes what it measures, on a design that takes no time."""

import json

import pytest

from models_engine.benchmarks.__main__ import main


@pytest.mark.process
def test_it_prints_a_row_for_each_measure(tmp_path, capsys):
    file = tmp_path / "plan.json"
    assert main(["plan", "--designs", "jury", "--crowds", "6", "--json", str(file)]) == 0
    found = json.loads(file.read_text())["found"]
    assert [one["measure"] for one in found] == ["reliability", "width", "top"]
    assert all(one["low"] <= one["planned"] <= one["high"] for one in found)
    assert 0 < found[0]["seconds"] < 20
    assert capsys.readouterr().out.count("jury") == 3
