"""What only tests of the site ask for."""

import pytest

from models_engine.estimators.collaborative import sampled


@pytest.fixture
def quick_draws(monkeypatch) -> None:
    """A seventh of the sweeps where tastes are drawn: for tests of what the site does with a fit.

    How exact draws are is a matter of tests/engine, which compares the usual number of them with integrals.
    """
    monkeypatch.setattr(sampled, "MIN_WARM_UP", 100)
    monkeypatch.setattr(sampled, "FEWEST_DRAWS", 200)
    monkeypatch.setattr(sampled, "MOST_DRAWS", 200)
