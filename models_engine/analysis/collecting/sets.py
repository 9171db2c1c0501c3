"""Who was asked about which pair: overlap is never exceeded, nobody is asked the same pair twice."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pair", "Sets"]

Pair = tuple[int, int]


class Sets:
    """The pairs asked so far, each of at most `overlap` people, and those that wait for more people."""

    def __init__(self, overlap: int) -> None:
        self.overlap = overlap
        self.people: dict[Pair, set[int]] = {}
        self.waiting: list[Pair] = []

    def is_new(self, a: int, b: int) -> bool:
        """Return whether a pair was never asked."""
        return (min(a, b), max(a, b)) not in self.people

    def has_room(self, a: int, b: int, who: int) -> bool:
        """Return whether a person may be asked about a pair."""
        people = self.people.get((min(a, b), max(a, b)), ())
        return len(people) < self.overlap and who not in people

    def waiting_for(self, who: int) -> Pair | None:
        """Return the first pair that waits for more people and that this one was not asked about."""
        return next((pair for pair in self.waiting if who not in self.people.get(pair, ())), None)

    def wait(self, a: int, b: int) -> None:
        """Let a pair wait for more people until it is full."""
        pair = (min(a, b), max(a, b))
        if pair not in self.waiting:
            self.waiting.append(pair)

    def add(self, a: int, b: int, who: int) -> None:
        """Take note that a person was asked about a pair."""
        pair = (min(a, b), max(a, b))
        people = self.people.setdefault(pair, set())
        people.add(who)
        if len(people) >= self.overlap and pair in self.waiting:
            self.waiting.remove(pair)

    def full(self) -> NDArray[np.int64]:
        """Return the pairs that nobody may be asked about any more, (n, 2)."""
        found = [pair for pair, people in self.people.items() if len(people) >= self.overlap]
        return np.array(found, dtype=np.int64).reshape(-1, 2)
