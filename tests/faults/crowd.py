"""Annotators who answer on, whatever happens to the site, and remember what they were told is stored."""

import random
import threading
import time
from dataclasses import dataclass, field
from itertools import pairwise

from tests.load.client import AnnotatorClient

REFUSED = (500, 502, 503, 507)


@dataclass
class Crowd:
    port: int
    join_token: str
    n: int
    think: float = 0.15
    acknowledged: dict[str, float] = field(default_factory=dict)  # presentation's token: when, by the monotonic clock
    asked_at: dict[str, float] = field(default_factory=dict)
    last: dict[int, float] = field(default_factory=dict)  # annotator: when the last acknowledged answer was asked
    refused: dict[int, int] = field(default_factory=dict)  # HTTP status: how often
    broken: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.annotate, args=(i,), daemon=True) for i in range(self.n)]

    def start(self) -> "Crowd":
        self.began = time.monotonic()
        for thread in self.threads:
            thread.start()
        return self

    def stop(self) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join(60)

    def annotate(self, number: int) -> None:
        rng = random.Random(number)
        client = AnnotatorClient("127.0.0.1", self.port)
        try:
            client.join(self.join_token, f"Annotator {number:02d}")
            while not self.over.is_set():
                self.one_answer(client, number, rng)
                self.over.wait(rng.expovariate(1 / self.think))
        except Exception as error:
            self.broken.append(f"annotator {number}: {error!r}")
        finally:
            client.close()

    def one_answer(self, client: AnnotatorClient, number: int, rng: random.Random) -> None:
        token = client.token or client.look()
        if token is None:
            return
        asked = time.monotonic()
        reply = client.answer(rng.choice("ab"))
        if reply.status == 200:
            self.acknowledged.setdefault(token, time.monotonic())
            self.last[number] = asked
        else:
            self.refused[reply.status] = self.refused.get(reply.status, 0) + 1
            # The page keeps an answer that was refused so, and sends it again.
            client.token = token if reply.status in REFUSED else None

    def longest_silence(self) -> float:
        """Seconds between two acknowledged answers of anybody, the end included."""
        moments = sorted([self.began, *self.acknowledged.values()])
        return max((two - one for one, two in pairwise(moments)), default=0.0)

    def all_answered_since(self, moment: float) -> bool:
        return len(self.last) == self.n and all(at > moment for at in self.last.values())
