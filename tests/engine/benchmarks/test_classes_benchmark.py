"""The command on classes prints and writes what it measures, on crowds that take no time."""

import json

import pytest

from models_engine.benchmarks.__main__ import main


@pytest.mark.process
def test_it_prints_a_row_for_each_number_of_comparisons(tmp_path, capsys):
    file = tmp_path / "classes.json"
    given = ["--items", "12", "--comparisons", "6,60", "--crowds", "3", "--json", str(file)]
    assert main(["classes", *given]) == 0
    found = json.loads(file.read_text())["found"]
    assert [one["per_item"] for one in found] == [6, 6, 6, 60, 60, 60]
    assert sum(one["n_classes"] for one in found[3:]) > sum(one["n_classes"] for one in found[:3])
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed[2:]] == ["6", "60"]
