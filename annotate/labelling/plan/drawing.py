"""Drawing a plan of sets: so many different ones that every item is in as many as any other, or in one more."""

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import comb

MAX_TRIES = 30  # draws of one set before two are mended by an exchange
MAX_EXCHANGES = 300
SAMPLE_SIZE = 12  # items looked at besides those needed, for one that joins two parts
MAX_ENUMERATED = 20_000  # sets that can be gone through one by one

ItemIds = frozenset[int]


def draw_sets(
    items: Sequence[int],
    k: int,
    n: int,
    rng: random.Random,
    existing: Iterable[Sequence[int]] = (),
    kept_out: Collection[ItemIds] = (),
) -> list[ItemIds]:
    """Draw up to `n` new sets of `k` items, in an order in which every beginning is balanced too; fewer where no more
    exist.

    `existing` sets count: they are not drawn again, and items that are in many of them come later. Those `kept_out`
    are not drawn either, and count for nothing. Sets that connect what was apart are preferred, so that as few as can
    connect all items do.
    """
    have = [frozenset(one) for one in existing]
    n_free = comb(len(items), k) - len({one for one in {*have, *kept_out} if one <= set(items)})
    if not have and not kept_out and n_free <= MAX_ENUMERATED and n_free < 2 * n:
        return draw_dense_sets(items, k, min(n, n_free), rng)
    plan = PlanDraft(items, k, rng, have, kept_out)
    for _ in range(min(n, n_free)):
        if not plan.add():
            break
    return plan.sets


def draw_balanced_sets(
    groups: Sequence[Sequence[int]],
    k: int,
    n: int,
    rng: random.Random,
    existing: Iterable[Sequence[int]] = (),
    kept_out: Collection[ItemIds] = (),
) -> list[ItemIds]:
    """Return what `draw` says, but that every set lies within one of the groups; each gets sets as it has items."""
    place_of = {item: place for place, group in enumerate(groups) for item in group}
    own: list[list[Sequence[int]]] = [[] for _ in groups]
    for one in existing:
        places = {place_of.get(item, -1) for item in one}
        if len(places) == 1 and -1 not in places:
            own[places.pop()].append(one)
    out = [[one for one in kept_out if one <= set(group)] for group in groups]
    taken = [{*map(frozenset, sets), *closed} for sets, closed in zip(own, out, strict=True)]
    room = [comb(len(group), k) - len(sets) for group, sets in zip(groups, taken, strict=True)]
    heap = [(len(own[place]) / len(group), place) for place, group in enumerate(groups) if room[place] > 0]
    heapify(heap)
    turns: list[int] = []
    while heap and len(turns) < n:
        share, place = heappop(heap)
        turns.append(place)
        room[place] -= 1
        if room[place]:
            heappush(heap, (share + 1 / len(groups[place]), place))
    drawn = {
        place: iter(draw_sets(groups[place], k, n, rng, own[place], out[place])) for place, n in Counter(turns).items()
    }
    found = (next(drawn[place], None) for place in turns)
    return [members for members in found if members is not None]


def draw_dense_sets(items: Sequence[int], k: int, n: int, rng: random.Random) -> list[ItemIds]:
    """Draw more than half of all sets there are: all but a plan of those left out, which balances what stays."""
    every = [frozenset(one) for one in combinations(items, k)]
    left_out = set(draw_sets(items, k, len(every) - n, rng)) if n < len(every) else set()
    kept = [one for one in every if one not in left_out]
    rng.shuffle(kept)
    return kept


class PlanDraft:
    """Sets drawn one by one from the items that are in the fewest."""

    def __init__(
        self,
        items: Sequence[int],
        k: int,
        rng: random.Random,
        existing: Iterable[ItemIds],
        kept_out: Collection[ItemIds],
    ) -> None:
        self.k, self.rng = k, rng
        self.sets: list[ItemIds] = []
        self.taken: set[ItemIds] = set(existing)
        self.parts = {item: item for item in items}
        degree = dict.fromkeys(items, 0)
        for one in self.taken:
            known = [item for item in one if item in degree]
            for item in known:
                degree[item] += 1
            self.join(known)
        self.taken.update(kept_out)
        self.levels: dict[int, list[int]] = defaultdict(list)
        self.place: dict[int, int] = {}  # of each item in its level
        for item, n_sets in degree.items():
            self.put(n_sets, item)

    def add(self) -> bool:
        """Draws one more set; False if every set that can be made is taken."""
        for _ in range(MAX_TRIES):
            chosen = self.pick()
            one = frozenset(item for _, item in chosen)
            if one not in self.taken:
                break
        else:
            if not self.exchange(one):
                return self.add_any()
            self.count(chosen)
            return True
        self.sets.append(one)
        self.taken.add(one)
        self.count(chosen)
        self.join(list(one))
        return True

    def pick(self) -> list[tuple[int, int]]:
        """Pick k items of the lowest levels as (level, item), random among equals but for those that join parts."""
        chosen: list[tuple[int, int]] = []
        for level in sorted(self.levels):
            group, wanted = self.levels[level], self.k - len(chosen)
            if len(group) <= wanted:
                chosen += [(level, item) for item in group]
            else:
                found = (
                    self.rng.sample(group, min(len(group), wanted + SAMPLE_SIZE))
                    if len(group) > SAMPLE_SIZE
                    else group[:]
                )
                self.rng.shuffle(found)
                chosen += [(level, item) for item in self.apart(found, wanted, [item for _, item in chosen])]
            if len(chosen) == self.k:
                break
        return chosen

    def apart(self, found: list[int], wanted: int, chosen: list[int]) -> list[int]:
        """Return the first `wanted`, those of parts not met yet before the others."""
        met = {self.part(item) for item in chosen}
        first: list[int] = []
        later: list[int] = []
        for item in found:
            part = self.part(item)
            (later if part in met else first).append(item)
            met.add(part)
        return (first + later)[:wanted]

    def count(self, chosen: list[tuple[int, int]]) -> None:
        for level, item in chosen:
            group = self.levels[level]
            last = group.pop()
            if last != item:
                group[self.place[item]] = last
                self.place[last] = self.place[item]
            if not group:
                del self.levels[level]
            self.put(level + 1, item)

    def put(self, level: int, item: int) -> None:
        self.place[item] = len(self.levels[level])
        self.levels[level].append(item)

    def exchange(self, double: ItemIds) -> bool:
        """Replace a set that is taken by two new ones that use the same items as it and an earlier one together."""
        for _ in range(MAX_EXCHANGES if self.sets else 0):
            place = self.rng.randrange(len(self.sets))
            other = self.sets[place]
            mine, theirs = sorted(double - other), sorted(other - double)
            if not mine:
                continue
            give, get = self.rng.choice(mine), self.rng.choice(theirs)
            new, changed = double - {give} | {get}, other - {get} | {give}
            if new != changed and new not in self.taken and changed not in self.taken:
                self.taken -= {other}
                self.taken |= {new, changed}
                self.sets[place] = changed
                self.sets.append(new)
                self.join(list(new))
                self.join(list(changed))
                return True
        return False

    def add_any(self) -> bool:
        """Return a set that is free although it unbalances: of the least used items, where no balanced one is left."""
        order = [item for level in sorted(self.levels) for item in self.levels[level]]
        level_of = {item: level for level, group in self.levels.items() for item in group}
        free = (frozenset(one) for one in combinations(order, self.k) if frozenset(one) not in self.taken)
        one = next(free, None)
        if one is None:
            return False
        self.sets.append(one)
        self.taken.add(one)
        self.count([(level_of[item], item) for item in one])
        self.join(list(one))
        return True

    def part(self, item: int) -> int:
        while self.parts[item] != item:
            self.parts[item] = self.parts[self.parts[item]]
            item = self.parts[item]
        return item

    def join(self, items: list[int]) -> None:
        for item in items[1:]:
            self.parts[self.part(item)] = self.part(items[0])
