"""The speed command measures what it says, on a size that takes no time."""

import json

import pytest

from models_engine.benchmarks import speed
from models_engine.benchmarks.__main__ import main


@pytest.mark.process
def test_speed_prints_and_writes_a_row_for_every_fit(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(speed.SIZES, "site", speed.SpeedSize(20, 5, 200, new=10))
    file = tmp_path / "speed.json"
    assert main(["speed", "--estimators", "BradleyTerry,PlackettLuce", "--json", str(file)]) == 0
    rows = json.loads(file.read_text())["rows"]
    assert [row["estimator"] for row in rows] == ["BradleyTerry", "PlackettLuce"]
    for row in rows:
        assert row["converged"]
        assert 0 < row["cold_cpu_s"] <= row["cold_s"] + 0.05
        assert row["peak_mib"] > 20
    assert "BradleyTerry" in capsys.readouterr().out


def test_an_unknown_command_lists_the_benchmarks(capsys):
    assert main(["nonsense"]) == 2
    assert "speed" in capsys.readouterr().err
