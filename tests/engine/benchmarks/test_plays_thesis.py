"""Ko's thesis on counts: rounded roots held out."""

import numpy as np
import pytest

from models_engine.benchmarks.plays import WORLDS, simulate
from models_engine.benchmarks.plays_thesis import as_thesis


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::models_engine.errors.NotConverged")
def test_the_thesis_counts_rounded_roots():
    cells = simulate(WORLDS[0], 0)[0]
    rows = {row.rule: row for row in as_thesis(cells, 2)}
    assert set(rows) >= {"one mean, negative binomial", "effects, negative binomial"}
    roots = np.floor(np.sqrt(cells.counts) + 0.5)
    assert roots.max() < cells.counts.max()
    share = np.bincount(roots.astype(int)) / len(roots)
    entropy = -float(share[share > 0] @ np.log(share[share > 0]))
    assert abs(rows["one mean, negative binomial"].nats - entropy) < 0.2, "one mean knows no more than the shares"
    assert rows["effects, Poisson"].error < 0.2
    for way in ("MAP", "EM"):
        assert rows[f"the same, {way}"].nats < rows["one mean, negative binomial"].nats, "effects know more"
