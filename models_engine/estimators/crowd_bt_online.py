"""CrowdBTOnline: the model of CrowdBT, updated by one answer at a time with moment matching (Chen et al. 2013)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models_engine.covariance.forms import LowRankCovariance
from models_engine.data import Comparisons
from models_engine.errors import InvalidData, InvalidSetting
from models_engine.estimators.crowd_posterior import CrowdPosterior, summarise_reliabilities
from models_engine.estimators.settings import check_settings
from models_engine.inference.crowd_bt.moment_matching import match_moments, update_beta
from models_engine.messages import Message, gettext_noop
from models_engine.posterior import Diagnostics, Likelihood, Posterior
from models_engine.progress import FitLog, Progress

__all__ = ["CrowdBTOnline"]

Floats = NDArray[np.float64]
LABELS_PER_STEP = 1_000
MAX_WEIGHT = 10_000.0


@dataclass(frozen=True)
class CrowdBTOnline:
    """CrowdBT's model with independent Gaussians for utilities and Betas for reliabilities, updated label by label.

    `fit` makes one pass over the labels in their order; `update` adds new ones to a posterior, some 30 microseconds
    each. Utilities are treated as independent and each label is used once, so that the order of the labels matters a
    little
    and no scale is learned: use it where every answer must count at once, and CrowdBT for the final ranking.

    prior_sd, reliability, ties, tie_sd, side, side_sd: as in CrowdBT, but the scales are not learned; log nu is, from
    the first tie on. A label of weight w counts as floor(w) labels and one of the remaining weight, as a power of P;
    a weight above 10,000 raises InvalidData. Larger sets enter as their implied pairs.
    """

    prior_sd: float = 1.5
    reliability: tuple[float, float] = (8.5, 1.5)
    ties: Literal["davidson", "half", "ignore"] = "davidson"
    tie_sd: float = 3.0
    side: bool = False
    side_sd: float = 1.0

    def fit(
        self,
        data: Comparisons,
        start: Posterior | None = None,
        rng: np.random.Generator | None = None,
        progress: Progress | None = None,
    ) -> CrowdPosterior:
        """See Estimator.fit; start and rng are not used. diagnostics.objective: sum of log P(label | labels before)."""
        self._check()
        return self._run(_State.prior(self, data.n_items, data.n_annotators), data, progress)

    def update(self, posterior: CrowdPosterior, data: Comparisons, progress: Progress | None = None) -> CrowdPosterior:
        """Return a new posterior that also counts these labels, which must not have been counted before.

        Also accepts CrowdBT's posterior, of which only the variances are used. data may have further items and
        annotators.
        """
        self._check()
        state = _State.prior(self, max(data.n_items, posterior.n_items), max(data.n_annotators, len(posterior.counts)))
        return self._run(state.with_posterior(posterior, self), data, progress)

    def _check(self) -> None:
        check_settings(self)
        alpha, beta = self.reliability
        if not 0.1 <= beta < alpha < np.inf:
            raise InvalidSetting(f"reliability={self.reliability} must be (alpha, beta) with alpha > beta >= 0.1.")

    def _run(self, state: "_State", data: Comparisons, progress: Progress | None) -> CrowdPosterior:
        pairs = data.pairs()
        kept = pairs.weight > 0
        if self.ties == "ignore":
            kept &= pairs.outcome != 0.5
        pairs = pairs.select(kept)
        if len(pairs) and pairs.weight.max() > MAX_WEIGHT:
            raise InvalidData(
                f"a pair has weight {pairs.weight.max():g}; the limit is {MAX_WEIGHT:g}, "
                "because labels are counted one by one. Use CrowdBT, or smaller weights."
            )
        if self.ties == "davidson" and (pairs.outcome == 0.5).any() and state.log_nu == -np.inf:
            state.log_nu, state.log_nu_variance = 0.0, self.tie_sd**2
        sided = self.side & (data.sizes[pairs.label] == 2) & (data.positions[data.starts[pairs.label]] >= 0)
        log = FitLog(1 + len(pairs) // LABELS_PER_STEP, progress)
        rows = zip(
            pairs.left.tolist(),
            pairs.right.tolist(),
            pairs.outcome.tolist(),
            pairs.annotator.tolist(),
            pairs.weight.tolist(),
            sided.tolist(),
            strict=True,
        )
        total = 0.0
        for count, (left, right, outcome, annotator, weight, is_sided) in enumerate(rows, start=1):
            total += state.count_pair(left, right, outcome, annotator, weight, is_sided, halve=self.ties == "half")
            if count % LABELS_PER_STEP == 0:
                log.step(total)
        log.step(total)
        told = gettext_noop("one pass over %(n)d pairs, in their order")
        diagnostics = log.finish(converged=True, message=Message.of(told, n=len(pairs)))
        return state.posterior(self, diagnostics, data)


@dataclass
class _State:
    """Current means and variances, changed in place during a pass: lists of floats are faster than arrays here."""

    mean: list[float]
    variance: list[float]
    alpha: list[float]
    beta: list[float]
    side: float
    side_variance: float
    log_nu: float
    log_nu_variance: float

    @classmethod
    def prior(cls, settings: CrowdBTOnline, n_items: int, n_annotators: int) -> "_State":
        alpha, beta = settings.reliability
        return cls(
            [0.0] * n_items,
            [settings.prior_sd**2] * n_items,
            [alpha] * n_annotators,
            [beta] * n_annotators,
            0.0,
            settings.side_sd**2 if settings.side else 0.0,
            -np.inf,
            0.0,
        )

    def with_posterior(self, posterior: CrowdPosterior, settings: CrowdBTOnline) -> "_State":
        """Return the state of a posterior for its items and annotators, the prior for others."""
        n, m = posterior.n_items, len(posterior.counts)
        self.mean[:n] = posterior.mean.tolist()
        spread = posterior.spread
        exact = spread.diagonal if isinstance(spread, LowRankCovariance) else spread.variances()
        self.variance[:n] = exact.tolist()
        self.alpha[:m], self.beta[:m] = posterior.counts[:, 0].tolist(), posterior.counts[:, 1].tolist()
        likelihood = posterior.likelihood
        if settings.side and likelihood.side_sd is not None:
            self.side, self.side_variance = likelihood.side, likelihood.side_sd**2
        if likelihood.tie:
            self.log_nu = float(np.log(likelihood.tie))
            self.log_nu_variance = posterior.log_nu_sd**2
        return self

    def count_pair(
        self, left: int, right: int, outcome: float, annotator: int, weight: float, sided: bool, *, halve: bool
    ) -> float:
        """Update by one pair; return its log P, weights applied."""
        if outcome == 0.5 and halve:
            first = self.count_pair(left, right, 1.0, annotator, weight / 2, sided, halve=False)
            return first + self.count_pair(left, right, 0.0, annotator, weight / 2, sided, halve=False)
        winner, loser, side = (left, right, 1.0) if outcome else (right, left, -1.0)
        total = 0.0
        while weight > 1e-12:
            share = min(1.0, weight)
            total += self._count_answer(winner, loser, side * sided, annotator, share, outcome == 0.5)
            weight -= share
        return total

    def _count_answer(self, winner: int, loser: int, side: float, annotator: int, weight: float, tie: bool) -> float:
        """Match moments: each Gaussian in the margin takes its share of the margin's change (Minka 2001)."""
        alpha, beta = self.alpha[annotator], self.beta[annotator]
        of_winner, of_loser, of_side = self.variance[winner], self.variance[loser], side * side * self.side_variance
        mean = self.mean[winner] - self.mean[loser] + side * self.side
        variance = of_winner + of_loser + of_side
        found = match_moments(
            mean,
            variance,
            alpha / (alpha + beta),
            tie=tie,
            weight=weight,
            log_nu=self.log_nu,
            log_nu_variance=self.log_nu_variance,
        )
        push, shrink = (found.mean - mean) / variance, (found.variance - variance) / variance**2
        self.mean[winner] += of_winner * push
        self.mean[loser] -= of_loser * push
        self.variance[winner] += of_winner**2 * shrink
        self.variance[loser] += of_loser**2 * shrink
        self.side += side * self.side_variance * push
        self.side_variance += (side * self.side_variance) ** 2 * shrink
        self.log_nu, self.log_nu_variance = found.log_nu, found.log_nu_variance
        if not tie:
            self.alpha[annotator], self.beta[annotator] = update_beta(alpha, beta, found.right, weight)
        return found.log_probability

    def posterior(self, settings: CrowdBTOnline, diagnostics: Diagnostics, data: Comparisons) -> CrowdPosterior:
        mean, counts = np.array(self.mean), np.column_stack([self.alpha, self.beta])
        alpha, beta = settings.reliability
        tied = self.log_nu > -np.inf
        likelihood = Likelihood(
            side=self.side,
            lapse=beta / (alpha + beta),
            tie=float(np.exp(self.log_nu)) if tied else None,
            tie_rate=data.pairs().tie_rate() if settings.ties == "half" else None,
            side_sd=self.side_variance**0.5 if settings.side else None,
        )
        return CrowdPosterior(
            mean - mean.mean(),
            LowRankCovariance(np.zeros((len(mean), 0)), np.array(self.variance)),
            diagnostics,
            likelihood,
            lapses=counts[:, 1] / counts.sum(axis=1),
            annotators=summarise_reliabilities(counts),
            prior_sd=settings.prior_sd,
            counts=counts,
            crowd=settings.reliability,
            log_nu_sd=self.log_nu_variance**0.5,
        )
