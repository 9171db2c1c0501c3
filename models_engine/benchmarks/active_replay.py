"""Which questions to ask, replayed: rules choose among the questions that real crowds answered, and get their answers.

The truth is what Bradley-Terry says of all answers. Pairs that nobody was asked about can't be chosen, and each answer
is given once. The data are not part of the project.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models_engine.analysis.collecting.collect import Collection
from models_engine.analysis.collecting.rules import Adaptive, Balanced, Random, Rule
from models_engine.analysis.collecting.sets import Pair, Sets
from models_engine.analysis.collecting.worlds import Scenario, World
from models_engine.benchmarks.competitor_data import pool_contexts, read_contest
from models_engine.benchmarks.crowd_data import read_readability
from models_engine.benchmarks.sushi_data import read_sushi
from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.estimators.bradley_terry import QUICK
from models_engine.linalg import centre

__all__ = ["REPLAYS", "Answers", "Replay", "read_replays", "replay", "replayed"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Answers:
    """A real crowd's answers. given: by pair (a, b), a < b, whether a won (.5: a tie) and who said so.   truth
    (n_items,): utilities by all of them."""

    given: dict[Pair, list[tuple[float, int]]]
    truth: Floats
    n_people: int

    @classmethod
    def of(cls, data: Comparisons) -> "Answers":
        """Take the pairs of labels, ties included."""
        pairs = data.pairs_with_ties()
        given: dict[Pair, list[tuple[float, int]]] = defaultdict(list)
        columns = (pairs.left, pairs.right, pairs.outcome, pairs.annotator)
        for a, b, outcome, who in zip(*(column.tolist() for column in columns), strict=True):
            given[min(a, b), max(a, b)].append((outcome if a < b else 1 - outcome, who))
        return cls(dict(given), centre(QUICK.fit(data).utilities()), data.n_annotators)

    @property
    def n_items(self) -> int:
        return len(self.truth)

    def world(self) -> World:
        """Return a project that has these items and people; who comes and what they say is not drawn from it."""
        nothing = np.zeros(self.n_people)
        own = np.broadcast_to(self.truth, (1, self.n_items))
        return World(
            Scenario(n_items=self.n_items), self.truth, own, nothing, nothing, np.full_like(nothing, 1 / self.n_people)
        )


class RecordedSets(Sets):
    """The pairs that answers are left of."""

    def __init__(self, answers: Answers) -> None:
        super().__init__(overlap=0)
        self.left: Ints = np.zeros((answers.n_items, answers.n_items), dtype=np.int64)
        for (a, b), given in answers.given.items():
            self.left[a, b] = self.left[b, a] = len(given)

    def is_new(self, a: int, b: int) -> bool:
        return bool(self.left[a, b])

    def has_room(self, a: int, b: int, who: int) -> bool:
        return bool(self.left[a, b])

    def wait(self, a: int, b: int) -> None:
        return None

    def add(self, a: int, b: int, who: int) -> None:
        self.left[a, b] -= 1
        self.left[b, a] = self.left[a, b]

    def full(self) -> Ints:
        return np.argwhere(np.triu(self.left == 0, 1))


class _AmongRecorded(Rule):
    """Chooses balanced pairs among those that answers are left of: the two least compared, the lesser one first."""

    sets: RecordedSets

    def balanced(self, who: int) -> Pair:
        one, other = np.nonzero(np.triu(self.sets.left, 1))
        of_one, of_other = self.shown[one], self.shown[other]
        order = np.lexsort((self.rng.random(len(one)), of_one + of_other, np.minimum(of_one, of_other)))
        return int(one[order[0]]), int(other[order[0]])


class RecordedBalanced(_AmongRecorded, Balanced):
    """Least compared first."""


class RecordedAdaptive(_AmongRecorded, Adaptive):
    """Candidates for an aim, and a share of balanced pairs."""


class RecordedRandom(_AmongRecorded, Random):
    """Any answer that is left."""

    def pair(self, who: int) -> Pair:
        one, other = np.nonzero(np.triu(self.sets.left, 1))
        weights = self.sets.left[one, other]
        place = self.rng.choice(len(one), p=weights / weights.sum())
        return int(one[place]), int(other[place])


class Replay(Collection):
    """A collection whose answers are those that were given, each once, in random order."""

    def __init__(self, answers: Answers, rule: Rule, rng: np.random.Generator) -> None:
        super().__init__(rule.world, rule, rng)
        rule.sets = RecordedSets(answers)
        self.left = {pair: list(given) for pair, given in answers.given.items()}

    def ask(self, who: int) -> None:
        """Ask one question; it is answered by somebody who was asked it."""
        a, b = sorted(self.rule.pair(who))
        left = self.left[a, b]
        place = int(self.rng.integers(len(left)))
        left[place], left[-1] = left[-1], left[place]
        outcome, by = left.pop()
        self.rule.sets.add(a, b, by)
        winner, loser = (a, b) if outcome > self.rng.random() else (b, a)
        self.winner.append(winner)
        self.loser.append(loser)
        self.annotator.append(by)
        self.rule.observe_answer(by, winner, loser)


def replayed(rule: Rule) -> Rule:
    """Return the same rule as one that chooses among recorded answers."""
    if isinstance(rule, Adaptive):
        return RecordedAdaptive(rule.world, rule.rng, rule.aim, rule.share, by_covariance=rule.by_covariance)
    return (RecordedRandom if isinstance(rule, Random) else RecordedBalanced)(rule.world, rule.rng)


def replay(answers: Answers, make: Callable[[World, np.random.Generator], Rule], rng: np.random.Generator) -> Replay:
    """Begin a collection from a crowd's answers by a rule."""
    return Replay(answers, replayed(make(answers.world(), rng)), rng)


def _sushi_pairs(folder: Path) -> Comparisons:
    rankings = read_sushi(folder).rankings_b
    who = np.arange(len(rankings))
    rows = [(rankings[:, better], rankings[:, worse]) for better, worse in combinations(range(rankings.shape[1]), 2)]
    winner, loser = (np.concatenate([row[side] for row in rows]) for side in (0, 1))
    return Comparisons.from_pairs(winner, loser, np.ones(len(winner)), np.tile(who, len(rows)), n_items=100)


# Labels of the balanced rule, reader, and what it is.
REPLAYS: dict[str, tuple[int, Callable[[Path], Comparisons], str]] = {
    "readability": (2_400, lambda folder: read_readability(folder)[0], "490 texts, 1,419 pairs that 9 people answered"),
    "llmfao": (
        1_200,
        lambda folder: pool_contexts(read_contest("llmfao", folder)),
        "59 models, prompts pooled, ties by lot",
    ),
    "sushi": (1_000, _sushi_pairs, "100 kinds of sushi, pairs out of 5,000 rankings of ten"),
}


def read_replays(folder: Path) -> dict[str, Answers]:
    """Read what there is in the folder and its subfolders. Raises InvalidData where there is nothing."""
    found, missing = {}, []
    for name, (_, read, _) in REPLAYS.items():
        try:
            found[name] = Answers.of(read(folder))
        except InvalidData as error:
            missing.append(str(error))
    if not found:
        raise InvalidData(f"{folder} holds none of {', '.join(REPLAYS)}: {missing[0]}")
    return found
