"""The same data for us and for other libraries: training answers, and pairs held out to predict."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models_engine.benchmarks.crowd_data import read_readability
from models_engine.data import Comparisons
from models_engine.estimators.bradley_terry import CENTRAL_SD
from models_engine.linalg import cholesky
from models_engine.metrics import accuracy, cross_entropy
from models_engine.simulate import Crowd, crowd

__all__ = ["SIMULATED", "Held", "made", "readability"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Held:
    """Training answers, and untied pairs held out: left, right, outcome (1 or 0), annotator, (n_test,) each."""

    train: Comparisons
    left: Ints
    right: Ints
    outcome: Floats
    annotator: Ints

    @classmethod
    def of(cls, train: Comparisons, test: Comparisons) -> "Held":
        """The test answers as the pairs that they imply."""
        pairs = test.pairs()
        kept = pairs.outcome != 0.5
        return cls(train, pairs.left[kept], pairs.right[kept], pairs.outcome[kept], pairs.annotator[kept])

    @property
    def n_rankings(self) -> int:
        """How many training answers are rankings of more than two."""
        return int((self.train.sizes > 2).sum())

    def arrays(self) -> dict[str, NDArray]:
        """For the other libraries' Python. Ties are left out: none of those libraries has them as we do."""
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
        """(log loss in nats, accuracy) of P(left preferred) (n_test,)."""
        return cross_entropy(probability, self.outcome), accuracy(probability, self.outcome)


@dataclass(frozen=True)
class Size:
    """Of a simulated crowd; k: items shown in each answer; features: utilities are smooth in item features."""

    words: str
    n_items: int
    n_annotators: int
    n_labels: int
    k: int = 2
    features: bool = False


CARELESS = (8.5, 1.5)
N_TEST = 5_000
SIMULATED = {
    "small": Size("pairs, some annotators careless", 100, 50, 5_000),
    "site": Size("pairs, some annotators careless", 1_000, 200, 50_000),
    "large": Size("pairs, some annotators careless", 10_000, 1_000, 1_000_000),
    "rankings": Size("rankings of 5", 100, 50, 2_000, k=5),
    "tastes": Size("pairs, tastes differ, utilities smooth in 3 item features", 40, 20, 800, features=True),
}


def made(name: str, seed: int) -> Held:
    """A simulated data set of SIMULATED: a pure function of name and seed."""
    size, rng = SIMULATED[name], np.random.default_rng(seed)
    if size.features:
        people, features = smooth(rng, size.n_items, size.n_annotators)
        train = replace(people.pairs(size.n_labels, rng), item_features=features)
        return Held.of(train, people.pairs(N_TEST, rng))
    people = crowd(rng, size.n_items, size.n_annotators, utility_sd=CENTRAL_SD, reliability=CARELESS)
    if size.k > 2:
        people = replace(people, reliability=np.ones(size.n_annotators))
        return Held.of(people.rankings(size.n_labels, size.k, rng), people.pairs(N_TEST, rng))
    return Held.of(people.pairs(size.n_labels, rng), people.pairs(N_TEST, rng))


def smooth(rng: np.random.Generator, n_items: int, n_annotators: int) -> tuple[Crowd, Floats]:
    """(a probit crowd whose consensus and tastes are draws of a Gaussian process over the features, features)."""
    features = rng.standard_normal((n_items, 3))
    square = ((features[:, None] - features[None]) ** 2).sum(axis=2)
    root = cholesky(np.exp(-square / 8) + 1e-6 * np.eye(n_items))
    utilities = root @ rng.standard_normal(n_items)
    own = utilities + 0.7 * rng.standard_normal((n_annotators, n_items)) @ root.T
    centred = own - utilities.mean()
    people = Crowd(utilities - utilities.mean(), centred, np.ones(n_annotators), np.zeros(n_annotators), link="probit")
    return people, features


def readability(folder: Path, seed: int) -> Held:
    """One answer in five of the readability crowd held out."""
    data, _ = read_readability(folder)
    test = np.random.default_rng(seed).permutation(data.n_labels) < data.n_labels // 5
    return Held.of(data.subset(~test), data.subset(test))
