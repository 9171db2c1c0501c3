"""Draws each annotator's side bias, and how it varies in the crowd, given what was perceived in their answers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.tastes.perception import Perception
from models_engine.inference.tastes.sides import MEAN_SD, SDS, SideBiases, log_sd_prior

__all__ = ["SideSampler"]

Floats = NDArray[np.float64]
FIRST_SD = 0.3


class SideSampler:
    """Side biases b_u ~ N(mean, sd^2) with the priors of mean and sd of `sides`; b_u is added to the margin of the item
    shown first.

    What was perceived beyond the margin in an answer of known order is b_u plus noise N(0, 1), so that an annotator's n
    answers tell of it by their mean, with variance 1 / n. Mean and sd are drawn with all b_u integrated out: otherwise
    a small sd would hold all b_u at the mean, and these the sd.

    answers: of the chain that this is part of.   value (n_annotators,): b_u, 0 where no order is known.
    """

    def __init__(self, n_annotators: int, answers: Sequence[Perception]) -> None:
        self._answers = answers
        self._known = any(one.sided is not None for one in answers)
        self.value, self.mean, self.sd = np.zeros(n_annotators), 0.0, FIRST_SD
        self._n, self._sums, self._of_crowd = 0, np.zeros((2, n_annotators)), np.zeros(3)

    def draw(self, utilities: Sequence[Floats], rng: np.random.Generator) -> None:
        """Draw all anew, given what was perceived in the answers and the utilities (m, k) of the items shown."""
        if not self._known:
            return
        n = len(self.value)
        evidence = [one.side_evidence(own, n) for one, own in zip(self._answers, utilities, strict=True)]
        count, total = np.sum(evidence, axis=0)
        known = count > 0
        found, noise = total[known] / count[known], 1 / count[known]
        self.sd = self._draw_sd(found, noise, rng)
        weight = 1 / (self.sd**2 + noise)
        precision = weight.sum() + MEAN_SD**-2
        self.mean = float(weight @ found / precision + rng.standard_normal() / np.sqrt(precision))
        precision = count + self.sd**-2
        self.value = (total + self.mean * self.sd**-2) / precision + rng.standard_normal(n) / np.sqrt(precision)

    def _draw_sd(self, found: Floats, noise: Floats, rng: np.random.Generator) -> float:
        """Draw the sd given means `found` of variances sd^2 + noise around the crowd's, which is integrated out."""
        weight = 1 / (SDS[:, None] ** 2 + noise)
        precision = weight.sum(axis=1) + MEAN_SD**-2
        push = weight @ found
        fits = (np.log(weight).sum(axis=1) - weight @ found**2 + push**2 / precision - np.log(precision)) / 2
        return float(SDS[(fits + log_sd_prior(SDS) + rng.gumbel(size=len(SDS))).argmax()])

    def opposite_gain(self) -> Floats:
        """Return by how much the log prior of each annotator's bias grows as its sign changes, (n_annotators,)."""
        return -2 * self.value * self.mean / self.sd**2

    def record(self) -> None:
        """Count the present values as a draw."""
        self._n += 1
        self._sums += self.value, self.value**2
        self._of_crowd += self.mean, self.mean**2, self.sd**2

    def summary(self) -> SideBiases | None:
        """Return means and standard deviations over the draws; None where no order is known."""
        if not self._known:
            return None
        first, square = self._sums / self._n
        mean, mean_square, variance = self._of_crowd / self._n
        sd = np.sqrt(np.maximum(square - first**2, 0.0))
        return SideBiases(first, sd, float(mean), float(np.sqrt(max(mean_square - mean**2, 0.0) + variance)))
