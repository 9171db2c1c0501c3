"""The cluster's benchmark: bytes by hand, a projection that grows as it says, and a small run."""

import pytest

from models_engine.benchmarks import cluster
from models_engine.benchmarks.cluster import Figures, Plan, project, traffic_of_iteration


def test_bytes_of_an_iteration_by_hand():
    one = traffic_of_iteration(10, 100, 1)
    assert (one.out, one.back, one.between, one.copies) == (880, 880, 0, 0)
    three = traffic_of_iteration(10, 100, 3)
    assert (three.out, three.back, three.between, three.copies) == (2640, 880, 1760, 1600)
    assert three.total == 6880


def test_a_projection_divides_the_solving_among_workers_and_nothing_else():
    figures = Figures(seconds_per_cost=1e-9, seconds_per_task=1e-3, seconds_per_cube=1e-9)
    few = {what: value for what, value, _ in project(figures, Plan(n_workers=10))}
    many = {what: value for what, value, _ in project(figures, Plan(n_workers=100))}
    solving = "an iteration: solving, on each worker"
    assert few[solving] == pytest.approx(1e-9 * 1e7 * 100**3 / 10)
    assert many[solving] == pytest.approx(few[solving] / 10)
    assert many["  the consensus itself, at the caller"] == pytest.approx(1e-9 * 2000**3)
    assert many["sites and blocks at the caller, sent once"] == few["sites and blocks at the caller, sent once"]


@pytest.mark.process
@pytest.mark.slow
def test_a_small_run_prints_equal_results_the_speed_up_and_the_projection(capsys):
    pytest.importorskip("distributed", reason="the extra crowdrank[cluster] is not installed")
    sizes = ["--items", "20", "--annotators", "12", "--labels", "200", "--workers", "1", "--rounds", "1"]
    assert cluster.main(sizes) == 0
    told = capsys.readouterr().out
    assert "the largest difference of a covariance is 0.0e+00" in told
    assert "speed-up" in told
    assert "Projection to 100 workers" in told
