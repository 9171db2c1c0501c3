"""Linear scales of charts: positions as shares of a length, and round numbers to mark; for the site and the engine."""

import math
from dataclasses import dataclass
from typing import Self

__all__ = ["LinearScale", "count_decimals", "nice_step"]


def nice_step(span: float, n: float) -> float:
    """Return the smallest step of 1, 2 or 5 times a power of ten that cuts `span` into at most `n` pieces."""
    rough = span / n
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def count_decimals(step: float) -> int:
    """Return how many decimals the multiples of `step` need."""
    return max(0, -math.floor(math.log10(step) + 1e-9))


@dataclass(frozen=True)
class LinearScale:
    """A linear scale from `low` to `high`; positions are shares of its length. reference: the value drawn as axis."""

    low: float
    high: float
    reference: float = 0.0

    @classmethod
    def around(cls, low: float, high: float, margin: float = 0.04, reference: float = 0.0) -> Self:
        """Return a scale that holds low to high with a margin; of one point, half a unit either side."""
        if high - low < 1e-9:
            low, high = low - 0.5, high + 0.5
        pad = (high - low) * margin
        return cls(low - pad, high + pad, reference)

    def share(self, value: float) -> float:
        """Return where the value lies, 0 at `low` to 1 at `high`."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def marks(self, n: int = 7) -> tuple[list[tuple[float, bool]], int]:
        """Return at most n + 1 numbers inside the scale, at round steps from the reference, with whether each is that;
        and the decimals they need."""
        step, zero = nice_step(self.high - self.low, n), self.reference
        first, last = math.ceil((self.low - zero) / step - 1e-9), math.floor((self.high - zero) / step + 1e-9)
        return [(zero + i * step, i == 0) for i in range(first, last + 1)], count_decimals(step)
