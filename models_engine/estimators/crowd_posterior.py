"""CrowdPosterior: utilities shared by a crowd, and how reliable each annotator is."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from models_engine.data import Comparisons
from models_engine.log_predictive import log_label_probabilities
from models_engine.posterior import AnnotatorSummary, GaussianPosterior
from models_engine.stored_posteriors import gaussian_fields

__all__ = ["CrowdPosterior", "beta_from_moments", "summarise_reliabilities"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CrowdPosterior(GaussianPosterior):
    """Posterior of the consensus utilities, and Beta posteriors of the annotators' reliabilities.

    counts (n_annotators, 2): (alpha, beta) of the Beta distribution with the posterior's mean and variance.
    crowd: (alpha, beta) of the Beta prior, that of an annotator not seen yet.
    log_nu_sd: posterior standard deviation of log(likelihood.tie), 0 where it counts as known.

    `for_annotator(j)` has the consensus utilities, because an annotator who reverses answers knows the ranking too, and
    j's reliability, which only changes the probabilities of j's answers: below 1/2, j prefers the worse item.
    """

    counts: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    crowd: tuple[float, float] = (8.5, 1.5)
    log_nu_sd: float = 0.0

    def hyperparameters(self) -> dict[str, float]:
        """See BasePosterior.hyperparameters; with the mean of the Beta prior of reliabilities and its size."""
        alpha, beta = self.crowd
        own = {"reliability_mean": alpha / (alpha + beta), "reliability_size": alpha + beta}
        return super().hyperparameters() | own

    def reliability_interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """Return the ends of the central interval of each annotator's reliability, (n_annotators,) each."""
        tail = (1 - level) / 2
        alpha, beta = self.counts.T
        return betaincinv(alpha, beta, tail), betaincinv(alpha, beta, 1 - tail)

    def log_labels(self, data: Comparisons) -> Floats:
        """Return log P(label), (n_labels,): a mixture of unreversed and reversed, by the annotator's reliability."""
        lapses = np.append(1 - self.counts[:, 0] / self.counts.sum(axis=1), self.likelihood.lapse)
        lapse = np.clip(lapses[np.minimum(data.annotators, len(self.counts))], 1e-300, 1 - 1e-16)
        right, wrong = (log_label_probabilities(self._with_lapse(share), data) for share in (0.0, 1.0 - 1e-15))
        return np.logaddexp(np.log1p(-lapse) + right, np.log(lapse) + wrong)

    def _with_lapse(self, lapse: float) -> GaussianPosterior:
        return GaussianPosterior(self.mean, self.spread, self.diagnostics, replace(self.likelihood, lapse=lapse))

    def to_arrays(self) -> dict[str, NDArray]:
        own = {"counts": self.counts, "crowd": np.array(self.crowd), "log_nu_sd": np.array(self.log_nu_sd)}
        return super().to_arrays() | own

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self:
        alpha, beta = (float(value) for value in arrays["crowd"])
        return cls(
            **gaussian_fields(arrays),
            counts=np.asarray(arrays["counts"]),
            crowd=(alpha, beta),
            log_nu_sd=float(arrays["log_nu_sd"]),
        )


def beta_from_moments(mean: Floats, variance: Floats) -> Floats:
    """Return (alpha, beta), (n, 2), of the Beta distributions with these means and variances, (n,) each."""
    mean = np.clip(mean, 1e-9, 1 - 1e-9)
    size = np.maximum(mean * (1 - mean) / np.maximum(variance, 1e-300) - 1, 1e-3)
    return np.column_stack([mean * size, (1 - mean) * size])


def summarise_reliabilities(counts: Floats) -> AnnotatorSummary:
    """Return reliabilities with standard deviations, from Beta posteriors (n_annotators, 2)."""
    size = counts.sum(axis=1)
    mean = counts[:, 0] / size
    return AnnotatorSummary(reliability=mean, reliability_sd=np.sqrt(mean * (1 - mean) / (size + 1)))
