"""Collecting answers one by one in a simulated project, and how good what is known of it is by then."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from models_engine.analysis.collecting.quick_fit import QuickFit, fit_quickly, no_fit
from models_engine.analysis.collecting.rules import Rule
from models_engine.analysis.collecting.worlds import World

__all__ = ["Collection", "collect"]

CHUNK = 256  # visitors drawn at once


@dataclass(eq=False)
class Collection:
    """A running collection: the labels so far, in order.

    known_crowd: whether fits are told everybody's care and how far the utilities are spread, or have to learn the one
    and take the other as it usually is.
    """

    world: World
    rule: Rule
    rng: np.random.Generator
    known_crowd: bool = False
    winner: list[int] = field(default_factory=list)
    loser: list[int] = field(default_factory=list)
    annotator: list[int] = field(default_factory=list)

    def ask(self, who: int) -> None:
        """Ask one person one question."""
        pair = self.rule.pair(who)
        self.rule.sets.add(*pair, who)
        left, right = pair if self.rng.random() < 0.5 else pair[::-1]
        won = self.world.left_wins(who, left, right, self.rng.random())
        winner, loser = (left, right) if won else (right, left)
        self.winner.append(winner)
        self.loser.append(loser)
        self.annotator.append(who)
        self.rule.observe_answer(who, winner, loser)

    def first_fit(self) -> QuickFit:
        """Return what is known before the first label."""
        world = self.world
        if not self.known_crowd:
            return no_fit(world.n_items, world.n_people)
        prior = no_fit(world.n_items, world.n_people, float(world.truth.std()))
        return replace(prior, lapse=1 - world.reliability, learns_care=False)

    def fit(self, start: QuickFit) -> QuickFit:
        """Fit the labels so far."""
        winner, loser, annotator = np.array([self.winner, self.loser, self.annotator], dtype=np.int64)
        return fit_quickly(winner, loser, annotator, start) if len(winner) else start


def collect(collection: Collection, *, looks: Sequence[int], see: Callable[[int, QuickFit], bool | None]) -> None:
    """Collect labels up to the last of `looks`; at each, see(number of labels, their fit), True to stop.

    Fits follow each other: one takes the labels there are, is out once as many more came in as the scenario's lag says,
    and the next begins. Only rules that want to know of fits cause any between the looks.
    """
    world, rule, rng = collection.world, collection.rule, collection.rng
    known = collection.first_fit()
    visitors: list[int] = []
    low, high = world.scenario.lag
    running, due, marks = known, int(rng.integers(low, high + 1)), set(looks)
    for n_labels in range(len(collection.winner) + 1, max(looks) + 1):
        if not visitors:
            visitors = world.visitors(CHUNK, rng).tolist()
        collection.ask(visitors.pop())
        if rule.is_fitted and n_labels >= due:
            rule.observe_fit(running)
            running, due = collection.fit(running), n_labels + int(rng.integers(low, high + 1))
        if n_labels in marks:
            known = collection.fit(running if rule.is_fitted else known)
            if see(n_labels, known):
                return
