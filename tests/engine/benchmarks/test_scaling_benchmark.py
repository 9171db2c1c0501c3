"""python -m models_engine.benchmarks scaling."""

import pytest

from models_engine.benchmarks.scaling import fit_exponent, main


def test_the_exponent_is_that_of_the_power_law():
    assert fit_exponent([(n, 3e-6 * n**1.7) for n in (1_000, 2_000, 4_000, 8_000)]) == pytest.approx(1.7)


@pytest.mark.process
@pytest.mark.slow
def test_it_prints_a_time_for_each_of_three_doublings_and_an_exponent(capsys):
    assert main(["--estimators", "BradleyTerry", "--labels", "500"]) == 0
    header, row = capsys.readouterr().out.splitlines()[-2:]
    assert header.split()[1:5] == ["500", "1,000", "2,000", "4,000"]
    assert len([float(cell) for cell in row.split()[1:]]) == 5
