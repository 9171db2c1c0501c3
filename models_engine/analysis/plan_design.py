"""The design of a project to be planned, and a quick estimate of its reliability by a formula.

Needs numpy only, so that a web process can estimate a design at once; `planning` simulates it.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from models_engine.arrays import MAX_NUMBER, MIN_DEVIATION, raising, read_number
from models_engine.constants import Z90
from models_engine.errors import InvalidDesign

__all__ = ["Design", "Kind", "expected_reliability", "expected_score_width", "expected_top", "pairs_per_answer"]

Kind = Literal["pairs", "choices", "best_worst", "rankings"]
KINDS: tuple[Kind, ...] = ("pairs", "choices", "best_worst", "rankings")
# Standard deviation of utilities in logits, and the factor it is uncertain by. In 49 assessments of people's work a
# reliability of .70 took 10 to 14 comparisons of each item and one of .90 took 26 to 37 (Verhavert, Bouwer, Donche & De
# Maeyer 2019); this spread gives .74 with 12 comparisons and .88 with 31.
UTILITY_SD, SPREAD_FACTOR = 1.3, 1.3
LARGEST = 1e6  # spread in logits: far beyond what can be told from answers
MAX_DRAWN, N_DRAWS = 200, 200  # items, and crowds of them, drawn to estimate the top


@dataclass(frozen=True)
class Design:
    """Design of a project. kind: of answer, to sets of k items (pairs: k = 2).

    answers_each: of one person, of which checks_each are checks, repeats or items of known order that say nothing of
    the ranking.   top: how many best items are looked for.   cost_per_hour: of one person.   utility_sd: how far items
    differ, in logits of an average annotator's answer, uncertain by spread_factor; taste_sd: how far people do.
    Raises InvalidDesign, naming the number at fault.
    """

    n_items: int
    n_people: int
    answers_each: int
    kind: Kind = "pairs"
    k: int = 2
    checks_each: int = 0
    top: int = 10
    minutes_per_answer: float = 0.5
    cost_per_hour: float = 0.0
    utility_sd: float = UTILITY_SD
    spread_factor: float = SPREAD_FACTOR
    taste_sd: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise InvalidDesign(f"kind {self.kind!r} is unknown; choose one of {', '.join(KINDS)}.", value=self.kind)
        for name, fewest in (("n_items", 2), ("n_people", 1), ("answers_each", 1), ("checks_each", 0), ("top", 1)):
            value = _whole(getattr(self, name), name)
            if value < fewest:
                raise InvalidDesign(f"{name} is {value}; give {fewest} or more.", value=value)
        for name, least in (("minutes_per_answer", 0.0), ("cost_per_hour", 0.0), ("taste_sd", 0.0)):
            value = getattr(self, name)
            if not least <= _number(value, name) < np.inf:
                raise InvalidDesign(f"{name} is {value}; give {least:g} or more.", value=value)
        sd, factor = _number(self.utility_sd, "utility_sd"), _number(self.spread_factor, "spread_factor")
        if not MIN_DEVIATION < sd < LARGEST or not 1 <= factor < LARGEST:
            wrong = self.spread_factor if MIN_DEVIATION < sd < LARGEST else self.utility_sd
            raise InvalidDesign(f"{wrong} is no spread; utility_sd is above 0, spread_factor 1 or more.", value=wrong)
        largest = 2 if self.kind == "pairs" else self.n_items
        if not 2 <= _whole(self.k, "k") <= largest:
            raise InvalidDesign(f"sets of {self.k} cannot be shown; {self.kind} take 2 to {largest}.", value=self.k)
        if self.n_labels < 1:
            raise InvalidDesign(
                f"all {self.answers_each} answers of each person are checks; ask for more answers.",
                value=self.checks_each,
            )

    @property
    def n_labels(self) -> int:
        """Return the number of answers without checks."""
        return self.n_people * max(self.answers_each - self.checks_each, 0)


def _number(value: float, name: str) -> float:
    """Read a number, whatever it is but finite and of a usable size. Raises InvalidDesign."""
    with raising(InvalidDesign):
        return read_number(value, name)


def _whole(value: int, name: str) -> int:
    number = _number(value, name)
    if number != int(number) or number > MAX_NUMBER:
        raise InvalidDesign(f"{name} is {value}; give a whole number, at most {MAX_NUMBER:,}.", value=value)
    return int(number)


def comparisons_per_showing(kind: Kind, k: int) -> float:
    """Return how many comparisons of an item one showing of it in a set of k counts for; see expected_reliability."""
    return {
        "pairs": 1.0,
        "choices": 4 * (k - 1) / k**2,
        "best_worst": 2 * (2 * k - 3) ** 2 / (k * (k - 1) ** 2),
        "rankings": 3 * (k - 1) / (k + 1),
    }[kind]


def pairs_per_answer(kind: Kind, k: int) -> float:
    """Return how many answers to pairs one answer to a set of k counts for: each pair shows two items."""
    return comparisons_per_showing(kind, k) * k / 2


def expected_reliability(design: Design) -> float:
    """Estimate SSR by a formula, without simulation: sd^2 I / (1 + sd^2 I), I the information about one item.

    I = showings x effective comparisons of one showing x mean p (1 - p) of two items N(0, sd^2) apart. A showing in a
    ranking of k counts for 3 (k - 1) / (k + 1) comparisons, in a choice for 4 (k - 1) / k^2, in a best-worst answer for
    2 (2k - 3)^2 / (k (k - 1)^2): the implied pairs with their composite-likelihood weights. As the others' utilities
    are unknown too, one comparison of each item is lost to them.
    """
    k, sd = design.k, design.utility_sd
    effective = comparisons_per_showing(design.kind, k)
    points, weights = np.polynomial.hermite_e.hermegauss(40)
    with np.errstate(over="ignore"):  # a comparison of items that far apart tells nothing
        per_answer = float((weights / (2 + 2 * np.cosh(np.sqrt(2) * sd * points))).sum() / weights.sum())
    comparisons = max(effective * design.n_labels * k / design.n_items - 1, 0.0)
    information = sd**2 * per_answer * comparisons
    return information / (1 + information)


def expected_score_width(design: Design) -> float:
    """Estimate the mean width of the scores' 90% intervals, in points, by a formula.

    Utilities are N(0, sd^2), known up to the variance (1 - R) sd^2, R the expected reliability.
    """
    points, weights = np.polynomial.hermite_e.hermegauss(40)
    error = design.utility_sd * np.sqrt(1 - expected_reliability(design))
    middle = np.sqrt(max(design.utility_sd**2 - error**2, 0.0)) * points
    with np.errstate(over="ignore"):  # a score of 0
        high, low = (100 / (1 + np.exp(-(middle + sign * Z90 * error))) for sign in (1, -1))
    return float((weights * (high - low)).sum() / weights.sum())


def expected_top(design: Design) -> float:
    """Estimate which share of the true best `design.top` is placed among the first that many; 1 where that is all.

    Truth and estimate are normal, their squared correlation the expected reliability; the same draws each time.
    """
    n, k = min(design.n_items, MAX_DRAWN), round(design.top * min(1.0, MAX_DRAWN / design.n_items))
    if k >= n:
        return 1.0
    share, (truth, noise) = expected_reliability(design), np.random.default_rng(0).standard_normal((2, N_DRAWS, n))
    placed = np.sqrt(share) * truth + np.sqrt(1 - share) * noise
    best, first = (np.argsort(-values, axis=1).argsort(axis=1) < max(k, 1) for values in (truth, placed))
    return float((best & first).sum() / best.sum())
