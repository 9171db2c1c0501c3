"""CrowdGPPL: a consensus and a few components of taste, their number found by shrinking those that are not needed."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models_engine.data import Comparisons
from models_engine.errors import InvalidSetting, TooLarge
from models_engine.estimators.collaborative_fit import Fit
from models_engine.estimators.collaborative_learning import CANDIDATES, Begin, Shape
from models_engine.estimators.collaborative_posterior import CollaborativePosterior
from models_engine.estimators.collaborative_steps import Steps, n_folds
from models_engine.inference.annotator_blocks import Block, blocks_of
from models_engine.inference.batched_ep import CrowdPrior
from models_engine.inference.pair_sites import PairSites, capped, sites_with_rankings
from models_engine.inference.pairwise_gp import GammaPrior
from models_engine.inference.taste_factors import TasteFactors
from models_engine.posterior import Posterior
from models_engine.progress import Progress

__all__ = ["CrowdGPPL"]

Floats = NDArray[np.float64]
MOST_ITEMS = 1_000
SETTLED = 0.01  # relative change of the taste covariance at which the factors are done


@dataclass(frozen=True)
class CrowdGPPL:
    """P(annotator u prefers a to b) = Phi(f_ua - f_ub), f_u = t + V w_u (Simpson & Gurevych 2020, section 3.2).

    t ~ GP(0, tau^2 K), v_c ~ GP(0, sigma^2 K / (C s_c)), w_u ~ N(0, I), s_c ~ Gamma(prior_shape, rate prior_rate),
    which shrinks components that are not needed. K is the identity, mixed with a Matern-3/2 kernel where items have
    features.

    The paper's variational factors overstate what is known: their consensus ignores that tastes and consensus trade
    off, and their 90% intervals hold the truth in 63 to 85% only. So they are used for the shape of tastes alone,
    E[V V']. Its size, and a share of K beside it, are chosen by the evidence of annotators left out, and the posterior
    is that of expectation propagation with all tastes integrated out, as in CollaborativeGP.

    n_components: C, at most.   consensus_sd, taste_sd: prior medians of tau and sigma, in units of the answer's noise;
    log_scale_sd: how far, in logs, the labels may move them.   features: whether item and annotator features are used.
    Annotator features say what an annotator never seen is expected to like, not more about one who gave labels.
    max_pairs: at most so many distinct pairs per annotator enter, at random; None takes all.
    Ties are half a win each way; larger sets are answered as in Thurstone's model (label weights that are not
    whole: as the pairs they imply), of which the factors see each two items of neighbouring ranks as a pair.
    """

    n_components: int = 20
    prior_shape: float = 1.0
    prior_rate: float = 1.0
    consensus_sd: float = 1.0
    taste_sd: float = 0.7
    log_scale_sd: float = 0.75
    features: bool = True
    max_pairs: int | None = 600
    max_steps: int = 40
    max_iterations: int = 200
    tolerance: float = 1e-5

    def fit(
        self,
        data: Comparisons,
        start: Posterior | None = None,
        rng: np.random.Generator | None = None,
        progress: Progress | None = None,
    ) -> CollaborativePosterior:
        """See Estimator.fit. start: a posterior of this estimator over nearly the same labels lends the shape of tastes
        and the scales, as for CollaborativeGP. Raises TooLarge above 1,000 items.

        diagnostics.objective: the factors' approximate bound after each step, then the final log evidence.
        """
        self._check(data)
        generator = np.random.default_rng(0) if rng is None else rng
        sites = capped(sites_with_rankings(data), self.max_pairs, generator)
        blocks = blocks_of(sites)
        steps = Steps(self._n_steps(n_folds(sites, blocks)), progress)
        gamma = GammaPrior(self.prior_shape, self.prior_rate)
        fitting = _FactorFit(self, data, sites, blocks, generator, steps, gamma=gamma)
        return fitting.run(start if isinstance(start, CollaborativePosterior) else None)

    @property
    def covariance(self) -> Literal["auto", "full", "low-rank", "prior"]:
        """The form of the learned taste covariance, as CollaborativeGP names it."""
        return "low-rank"

    @property
    def pseudo_annotators(self) -> float:
        """None: components are shrunk by their scales."""
        return 0.0

    @property
    def steepness(self) -> bool:
        """Every annotator's answers follow their utilities equally steeply."""
        return False

    def _check(self, data: Comparisons) -> None:
        if data.n_items > MOST_ITEMS:
            raise TooLarge(
                f"CrowdGPPL holds {self.n_components + 1} matrices of {data.n_items:,} x {data.n_items:,} items; the "
                f"limit is {MOST_ITEMS:,}. Use CollaborativeGP, or fit a part of the items."
            )
        for name in ("n_components", "prior_shape", "prior_rate", "consensus_sd", "taste_sd", "tolerance", "max_steps"):
            if not 0 < getattr(self, name) < np.inf:
                raise InvalidSetting(f"{name} is {getattr(self, name)}; give a finite number above 0.")

    def _n_steps(self, folds: int) -> int:
        scales = 0 if self.log_scale_sd == 0 else 90
        return scales + (folds + 1) * self.max_steps + folds * len(CANDIDATES) + 4 * self.max_iterations


@dataclass(frozen=True, eq=False)
class _FactorFit(Fit):
    """The stages of a CollaborativeGP fit, the shape of tastes being that of variational factors."""

    gamma: GammaPrior = field(kw_only=True)

    def shape(
        self,
        sites: PairSites,
        blocks: list[Block],
        prior: CrowdPrior,
        taste: Floats | None,
        begin: Begin | None,
        *,
        again: bool,
    ) -> Shape:
        count = min(self.settings.n_components, max(1, self.data.n_items - 1))
        factors = TasteFactors(sites, blocks, prior, count, self.gamma, taste)
        on_step = self.steps.record if again else self.steps.tick
        return Shape(factors.run(self.settings.max_steps, SETTLED, on_step).taste(), None)
