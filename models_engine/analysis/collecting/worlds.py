"""Simulated projects: items, people who differ in care, taste, side and activity, and how their answers come in."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.simulate import simulate_crowd

__all__ = ["Scenario", "World", "draw_world"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LOGISTIC_VARIANCE = 1.702**2


@dataclass(frozen=True)
class Scenario:
    """What a simulated project is like.

    n_people: fewest and most.   spammers: share who answer anything.   step: true utilities are multiples of it, so
    that some are tied; 0: none are.   lag: fewest and most labels that come in while a fit runs.   overlap: people
    asked about one pair.   activity_sd: of the logarithm of how often a person comes.   margin: difference below which
    items count as tied.
    """

    n_items: int = 200
    n_people: tuple[int, int] = (20, 100)
    utility_sd: float = 1.3
    reliability: tuple[float, float] = (12.0, 1.0)
    spammers: float = 0.1
    taste_sd: float = 0.5
    side_sd: float = 0.3
    activity_sd: float = 1.0
    step: float = 0.0
    lag: tuple[int, int] = (20, 100)
    overlap: int = 2
    margin: float = 0.0


@dataclass(frozen=True, eq=False)
class World:
    """A simulated project.

    truth (n_items,): consensus in logits of an average person's answer.   own (n_people, n_items), reliability, side,
    activity (n_people,): each person's utilities, P(answers by them), utility added to the left item, share of visits.
    """

    scenario: Scenario
    truth: Floats
    own: Floats
    reliability: Floats
    side: Floats
    activity: Floats

    @property
    def n_items(self) -> int:
        return len(self.truth)

    @property
    def n_people(self) -> int:
        return len(self.reliability)

    def visitors(self, n: int, rng: np.random.Generator) -> Ints:
        """Draw who comes next, n times."""
        return rng.choice(self.n_people, n, p=self.activity)

    def left_wins(self, who: int, left: int, right: int, chance: float) -> bool:
        """Return one person's answer; chance: a uniform draw."""
        margin = self.own[who, left] - self.own[who, right] + self.side[who]
        follows = 1 / (1 + np.exp(-margin))
        care = self.reliability[who]
        return bool(chance < care * follows + (1 - care) * (1 - follows))


def draw_world(scenario: Scenario, rng: np.random.Generator) -> World:
    """Draw a project.

    Tastes and sides flatten an average person's answers: truths are divided by sqrt(1 + variance / 1.702^2), the
    logistic's scale in the normal that is nearest to it, of a difference.
    """
    n_people = int(rng.integers(scenario.n_people[0], scenario.n_people[1] + 1))
    crowd = simulate_crowd(
        rng,
        scenario.n_items,
        n_people,
        utility_sd=scenario.utility_sd,
        taste_sd=scenario.taste_sd,
        n_components=4,
        reliability=scenario.reliability,
        side_sd=scenario.side_sd,
    )
    truth, own = crowd.utilities, crowd.own
    if scenario.step:
        rounded = np.round(truth / scenario.step) * scenario.step
        truth, own = rounded - rounded.mean(), own + (rounded - rounded.mean() - truth)
    care = np.where(rng.random(n_people) < scenario.spammers, 0.5, crowd.reliability)
    visits = np.exp(scenario.activity_sd * rng.standard_normal(n_people))
    flat = np.sqrt(1 + (2 * scenario.taste_sd**2 + scenario.side_sd**2) / LOGISTIC_VARIANCE)
    return World(scenario, truth / flat, own, care, crowd.side, visits / visits.sum())
