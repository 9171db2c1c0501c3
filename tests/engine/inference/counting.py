"""An executor that counts whom EP solves."""

from models_engine.executor import InProcess
from models_engine.inference.probit_ep.shards import solve_shard


class Counting(InProcess):
    """Does everything here, and holds how many people were solved each time."""

    def __init__(self) -> None:
        self.solved: list[int] = []

    def map(self, function, *kept, shared=()):
        if function is solve_shard:
            self.solved.append(sum(len(block.annotators) for shard in kept[0] for block in shard.blocks))
        return super().map(function, *kept, shared=shared)
