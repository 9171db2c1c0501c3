"""CrowdBTOnline: the model of CrowdBT, updated by one answer at a time with moment matching (Chen et al. 2013)."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models_engine.covariance.forms import LowRankCovariance
from models_engine.data import Comparisons
from models_engine.errors import InvalidData, InvalidSetting
from models_engine.estimators.crowd_posterior import CrowdPosterior, summarise_reliabilities
from models_engine.estimators.settings import check_settings
from models_engine.inference.crowd_bt.graded_matching import GapBeliefs, MatchedGrade, match_grade
from models_engine.inference.crowd_bt.moment_matching import MatchedMoments, match_moments, update_beta
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
    little and no scale is learned: use it where every answer must count at once, and CrowdBT for the final ranking.
    Where fewer answers are reversed than the prior of reliability says, utilities come out too steep and nu too large
    together (of none reversed 22% and 13% at the default), so that ties are predicted as often as they are.

    prior_sd, reliability, ties, tie_sd, grades, side, side_sd: as in CrowdBT, but the scales are not learned; log nu
    is, from the first tie on, and so are the cut points of graded answers: log gaps ~ N(., GRADE_SD^2), the first one
    from the first tie on. A label of weight w counts as floor(w) labels and one of the remaining weight, as a power of
    P; a weight above 10,000 raises InvalidData. Larger sets enter as their implied pairs.
    """

    prior_sd: float = 1.5
    reliability: tuple[float, float] = (8.5, 1.5)
    ties: Literal["davidson", "half", "ignore"] = "davidson"
    tie_sd: float = 3.0
    grades: Literal["ordered", "ignore"] = "ordered"
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
        has_tie = self.ties == "davidson" and bool((pairs.outcome == 0.5).any())
        state.expect(self, data.n_grades, has_tie)
        grade = np.zeros(len(pairs), np.int64) if pairs.grade is None or state.gaps is None else pairs.grade
        can_tie = np.ones(len(pairs), dtype=bool) if pairs.can_tie is None else pairs.can_tie
        sided = self.side & (data.sizes[pairs.label] == 2) & (data.positions[data.starts[pairs.label]] >= 0)
        log = FitLog(1 + len(pairs) // LABELS_PER_STEP, progress)
        rows = zip(
            pairs.left.tolist(),
            pairs.right.tolist(),
            pairs.outcome.tolist(),
            pairs.annotator.tolist(),
            pairs.weight.tolist(),
            sided.tolist(),
            grade.tolist(),
            can_tie.tolist(),
            strict=True,
        )
        total = 0.0
        for count, row in enumerate(rows, start=1):
            total += state.count_pair(*row, halve=self.ties == "half")
            if count % LABELS_PER_STEP == 0:
                log.step(total)
        log.step(total)
        text = gettext_noop("one pass over %(n)d pairs, in their order")
        diagnostics = log.finish(converged=True, message=Message.of(text, n=len(pairs)))
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
    gaps: GapBeliefs | None = None

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
        if settings.grades == "ordered" and likelihood.cuts is not None and likelihood.cut_sds is not None:
            self.gaps = GapBeliefs.of(np.array(likelihood.cuts), np.array(likelihood.cut_sds))
        return self

    def expect(self, settings: CrowdBTOnline, n_grades: int, has_tie: bool) -> None:
        """Take up the parameters of ties and grades that the labels to come need. With cut points there is no nu: its
        share of ties between equal items is taken over, nu / (2 + nu) = tanh(c_0 / 2).
        """
        if self.gaps is None and settings.grades == "ordered" and n_grades:
            self.gaps = GapBeliefs.prior(n_grades, has_tie and self.log_nu == -np.inf)
            if self.log_nu > -np.inf:
                nu = np.exp(self.log_nu)  # c_0 = log(1 + nu)
                log_gap, slope = float(np.log(np.log1p(nu))), float(nu / ((1 + nu) * np.log1p(nu)))
                self.gaps = self.gaps.with_ties(log_gap, slope**2 * self.log_nu_variance)
            self.log_nu, self.log_nu_variance = -np.inf, 0.0
        if self.gaps is not None:
            known = len(self.gaps.log_gaps)
            if n_grades > known:
                raise InvalidData(
                    f"the labels have {n_grades} grades and the posterior {known}; fit them together, or ask for the "
                    "same grades."
                )
            self.gaps = self.gaps.with_ties() if has_tie else self.gaps
        elif has_tie and self.log_nu == -np.inf:
            self.log_nu, self.log_nu_variance = 0.0, settings.tie_sd**2

    def count_pair(
        self,
        left: int,
        right: int,
        outcome: float,
        annotator: int,
        weight: float,
        sided: bool,
        grade: int,
        can_tie: bool,
        *,
        halve: bool,
    ) -> float:
        """Update by one pair; return its log P, weights applied."""
        if outcome == 0.5 and halve:
            first = self.count_pair(left, right, 1.0, annotator, weight / 2, sided, 0, can_tie, halve=False)
            return first + self.count_pair(left, right, 0.0, annotator, weight / 2, sided, 0, can_tie, halve=False)
        winner, loser, side = (left, right, 1.0) if outcome else (right, left, -1.0)
        total = 0.0
        while weight > 1e-12:
            share = min(1.0, weight)
            total += self._count_answer(winner, loser, side * sided, annotator, share, outcome == 0.5, grade, can_tie)
            weight -= share
        return total

    def _count_answer(
        self,
        winner: int,
        loser: int,
        side: float,
        annotator: int,
        weight: float,
        tie: bool,
        grade: int,
        can_tie: bool,
    ) -> float:
        """Match moments: each Gaussian in the margin takes its share of the margin's change (Minka 2001)."""
        alpha, beta = self.alpha[annotator], self.beta[annotator]
        of_winner, of_loser, of_side = self.variance[winner], self.variance[loser], side * side * self.side_variance
        mean = self.mean[winner] - self.mean[loser] + side * self.side
        variance = of_winner + of_loser + of_side
        found = self._matched(mean, variance, alpha / (alpha + beta), weight, tie, grade, can_tie)
        push, shrink = (found.mean - mean) / variance, (found.variance - variance) / variance**2
        self.mean[winner] += of_winner * push
        self.mean[loser] -= of_loser * push
        self.variance[winner] += of_winner**2 * shrink
        self.variance[loser] += of_loser**2 * shrink
        self.side += side * self.side_variance * push
        self.side_variance += (side * self.side_variance) ** 2 * shrink
        if not tie:
            self.alpha[annotator], self.beta[annotator] = update_beta(alpha, beta, found.right, weight)
        return found.log_probability

    def _matched(
        self, mean: float, variance: float, reliability: float, weight: float, tie: bool, grade: int, can_tie: bool
    ) -> MatchedMoments | MatchedGrade:
        """Match the moments, and keep those of log nu or of the cut points."""
        if self.gaps is not None:
            graded = match_grade(
                *(mean, variance, reliability, self.gaps), grade=grade, tie=tie, weight=weight, can_tie=can_tie
            )
            self.gaps = graded.gaps
            return graded
        if not can_tie:
            return match_moments(mean, variance, reliability, weight=weight)
        nu, of_nu = self.log_nu, self.log_nu_variance
        found = match_moments(mean, variance, reliability, tie=tie, weight=weight, log_nu=nu, log_nu_variance=of_nu)
        self.log_nu, self.log_nu_variance = found.log_nu, found.log_nu_variance
        return found

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
        if self.gaps is not None:
            cuts, sds = tuple(self.gaps.cuts.tolist()), tuple(self.gaps.deviations.tolist())
            likelihood = replace(likelihood, cuts=cuts, cut_sds=sds)
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
