"""The same data for our estimators and other libraries: training answers and held-out pairs."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models_engine.analysis.metrics import accuracy, cross_entropy
from models_engine.benchmarks.crowd_data import read_readability
from models_engine.data import Comparisons
from models_engine.inference.davidson.learned_scale import CENTRAL_SD
from models_engine.linalg import cholesky
from models_engine.simulate import Crowd, simulate_crowd

__all__ = ["SIMULATED", "HeldOutData", "load_readability", "simulate_data"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HeldOutData:
    """Training answers, and untied pairs held out: left, right, outcome (1 or 0), annotator, (n_test,) each."""

    train: Comparisons
    left: Ints
    right: Ints
    outcome: Floats
    annotator: Ints

    @classmethod
    def of(cls, train: Comparisons, test: Comparisons) -> "HeldOutData":
        """Build held-out data; test answers are expanded to the pairs they imply."""
        pairs = test.pairs()
        kept = pairs.outcome != 0.5
        return cls(train, pairs.left[kept], pairs.right[kept], pairs.outcome[kept], pairs.annotator[kept])

    @property
    def n_rankings(self) -> int:
        """Return the number of training answers that rank more than two items."""
        return int((self.train.sizes > 2).sum())

    def arrays(self) -> dict[str, NDArray]:
        """Return arrays for the other libraries, without ties, because none of them has Davidson's model of ties."""
        pairs, features = self.train.pairs(), self.train.item_features
        kept = pairs.outcome != 0.5
        k = int(self.train.sizes.max(initial=2))
        order = np.argsort(self.train.ranks.reshape(-1, k), axis=1) if self.n_rankings else np.zeros((0, k), np.int64)
        return {
            "n_items": np.array(self.train.n_items),
            "n_annotators": np.array(self.train.n_annotators),
            "left": pairs.left[kept],
            "right": pairs.right[kept],
            "outcome": pairs.outcome[kept],
            "annotator": pairs.annotator[kept],
            "rankings": np.take_along_axis(self.train.items.reshape(-1, k), order, axis=1)
            if self.n_rankings
            else order,
            "item_features": np.zeros((self.train.n_items, 0)) if features is None else features,
            "prior_precision": np.array(CENTRAL_SD**-2),
            "test_left": self.left,
            "test_right": self.right,
            "test_annotator": self.annotator,
        }

    def scores(self, probability: Floats) -> tuple[float, float]:
        """Return (log loss in nats, accuracy) of P(left preferred) (n_test,)."""
        return cross_entropy(probability, self.outcome), accuracy(probability, self.outcome)


@dataclass(frozen=True)
class SimulatedSize:
    """Size of a simulated crowd; k: items shown in each answer; features: utilities are smooth in item features."""

    words: str
    n_items: int
    n_annotators: int
    n_labels: int
    k: int = 2
    features: bool = False


CARELESS = (8.5, 1.5)
N_TEST = 5_000
SIMULATED = {
    "small": SimulatedSize("pairs, some annotators careless", 100, 50, 5_000),
    "site": SimulatedSize("pairs, some annotators careless", 1_000, 200, 50_000),
    "large": SimulatedSize("pairs, some annotators careless", 10_000, 1_000, 1_000_000),
    "rankings": SimulatedSize("rankings of 5", 100, 50, 2_000, k=5),
    "tastes": SimulatedSize("pairs, tastes differ, utilities smooth in 3 item features", 40, 20, 800, features=True),
}


def simulate_data(name: str, seed: int) -> HeldOutData:
    """Simulate a data set of SIMULATED; a pure function of name and seed."""
    size, rng = SIMULATED[name], np.random.default_rng(seed)
    if size.features:
        people, features = simulate_smooth_crowd(rng, size.n_items, size.n_annotators)
        train = replace(people.pairs(size.n_labels, rng), item_features=features)
        return HeldOutData.of(train, people.pairs(N_TEST, rng))
    people = simulate_crowd(rng, size.n_items, size.n_annotators, utility_sd=CENTRAL_SD, reliability=CARELESS)
    if size.k > 2:
        people = replace(people, reliability=np.ones(size.n_annotators))
        return HeldOutData.of(people.rankings(size.n_labels, size.k, rng), people.pairs(N_TEST, rng))
    return HeldOutData.of(people.pairs(size.n_labels, rng), people.pairs(N_TEST, rng))


def simulate_smooth_crowd(rng: np.random.Generator, n_items: int, n_annotators: int) -> tuple[Crowd, Floats]:
    """Simulate (a probit crowd, features), consensus and tastes drawn from a Gaussian process over the features."""
    features = rng.standard_normal((n_items, 3))
    square = ((features[:, None] - features[None]) ** 2).sum(axis=2)
    root = cholesky(np.exp(-square / 8) + 1e-6 * np.eye(n_items))
    utilities = root @ rng.standard_normal(n_items)
    own = utilities + 0.7 * rng.standard_normal((n_annotators, n_items)) @ root.T
    centred = own - utilities.mean()
    people = Crowd(utilities - utilities.mean(), centred, np.ones(n_annotators), np.zeros(n_annotators), link="probit")
    return people, features


def load_readability(folder: Path, seed: int) -> HeldOutData:
    """Read the readability data and hold out one answer in five."""
    data, _ = read_readability(folder)
    test = np.random.default_rng(seed).permutation(data.n_labels) < data.n_labels // 5
    return HeldOutData.of(data.subset(~test), data.subset(test))
