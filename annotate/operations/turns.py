"""Who may work now: so many requests of each kind at once, and of these so many of one project and of one person."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MAX_WAITING = 2_000
MAX_WAITING_OF_PERSON = 100
CLOCK = 0.001  # seconds: an event loop may call a little early


@dataclass(frozen=True)
class Limit:
    """How many requests of one kind run at once, at most how many of one project and of one person, and how many
    seconds the others wait.

    second_after: how many seconds a project's latest request has run before another of it begins. Threads of a process
    compute in turns: two quick pages beside each other end no sooner, and each takes time from others' answers.
    """

    total: int
    of_project: int
    of_person: int
    seconds: float = 10.0
    second_after: float = 0.0


@dataclass(frozen=True)
class Use:
    """What one request is counted as; `project`: what it is about; `person`: who asks, "" where nobody can tell."""

    kind: str
    project: str = ""
    person: str = ""

    def counted_as(self) -> Iterable[tuple[str, ...]]:
        return (self.kind,), (self.kind, "project", self.project), (self.kind, "person", self.person)


@dataclass(eq=False)
class Waiting:
    use: Use
    may_go: asyncio.Future[None]


class Turns:
    """Gives out turns in one event loop: first whoever's project and person have the fewest, then who came first."""

    def __init__(self, limits: Mapping[str, Limit]) -> None:
        self.limits = limits
        self.running: Counter[tuple[str, ...]] = Counter()
        self.waiting: list[Waiting] = []
        self.began: dict[tuple[str, ...], float] = {}  # the latest of a project's that run

    async def begin(self, use: Use) -> bool:
        """Wait for a turn; return False where too many wait already or it waited too long."""
        if len(self.waiting) >= MAX_WAITING or self.waiting_of(use.person) >= MAX_WAITING_OF_PERSON:
            return False
        mine = Waiting(use, asyncio.get_running_loop().create_future())
        self.waiting.append(mine)
        self.start_waiting(use.kind)
        try:
            async with asyncio.timeout(self.limits[use.kind].seconds):
                await asyncio.shield(mine.may_go)
        except TimeoutError:
            return self.withdraw(mine)
        except asyncio.CancelledError:
            if self.withdraw(mine):
                self.end(use)
            raise
        return True

    def end(self, use: Use) -> None:
        for counted in use.counted_as():
            self.running[counted] -= 1
            if not self.running[counted]:
                del self.running[counted]
                self.began.pop(counted, None)
        self.start_waiting(use.kind)

    def withdraw(self, mine: Waiting) -> bool:
        """Take it out of those who wait; return True where its turn had come after all."""
        if mine.may_go.done():
            return True
        self.waiting.remove(mine)
        return False

    def waiting_of(self, person: str) -> int:
        return sum(one.use.person == person for one in self.waiting) if person else 0

    def start_waiting(self, kind: str) -> None:
        """Begins what may run of those who wait."""
        while ready := [one for one in self.waiting if one.use.kind == kind and self.has_room(one.use)]:
            first = min(ready, key=lambda one: self.order(one.use))
            self.waiting.remove(first)
            self.begin_now(first)

    def begin_now(self, one: Waiting) -> None:
        counted, after = tuple(one.use.counted_as()), self.limits[one.use.kind].second_after
        self.running.update(counted)
        if after:
            loop = asyncio.get_running_loop()
            self.began[counted[1]] = loop.time()
            loop.call_later(after, self.start_waiting, one.use.kind)
        one.may_go.set_result(None)

    def has_room(self, use: Use) -> bool:
        limit, (all_of_kind, project, person) = self.limits[use.kind], use.counted_as()
        return (
            self.running[all_of_kind] < limit.total
            and self.running[project] < limit.of_project
            and (not use.person or self.running[person] < limit.of_person)
            and not self.began_just_now(project, limit.second_after)
        )

    def began_just_now(self, project: tuple[str, ...], seconds: float) -> bool:
        began = self.began.get(project)
        return began is not None and asyncio.get_running_loop().time() < began + seconds - CLOCK

    def order(self, use: Use) -> tuple[int, int]:
        _all, project, person = use.counted_as()
        return self.running[project], self.running[person] if use.person else 0
