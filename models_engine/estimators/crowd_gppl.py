"""CrowdGPPL: a consensus and a few components of taste, with unneeded components shrunk to zero."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models_engine.data import Comparisons
from models_engine.estimators.collaborative.fit import CollaborativeFit
from models_engine.estimators.collaborative.large_fit import LargeFit, has_no_matrix
from models_engine.estimators.collaborative.large_posterior import LargePosterior, dense_start
from models_engine.estimators.collaborative.learned import EPStart, LearnedShape
from models_engine.estimators.collaborative.learning import CANDIDATES
from models_engine.estimators.collaborative.posterior import CollaborativePosterior
from models_engine.estimators.collaborative.report import report_missed_agreement
from models_engine.estimators.collaborative.sampled import scale_densities
from models_engine.estimators.collaborative.steps import Steps, count_folds
from models_engine.estimators.settings import check_settings
from models_engine.inference.pairwise_gp.model import GammaPrior
from models_engine.inference.probit_ep.annotator_blocks import Block, build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior
from models_engine.inference.probit_ep.pair_sites import PairSites, build_sites_with_rankings, cap_sites, sided_labels
from models_engine.inference.tastes.factors import TasteFactors
from models_engine.inference.tastes.reliability import KNOTS
from models_engine.inference.tastes.sampling import GRID, ScaleDensities
from models_engine.inference.tastes.sides import KNOTS as SIDE_KNOTS
from models_engine.posterior import Posterior
from models_engine.progress import Progress

__all__ = ["CrowdGPPL"]

Floats = NDArray[np.float64]
MAX_DENSE_ITEMS = 1_000  # of more, n_components + 1 matrices over items would be too much; see LargeFit
FACTOR_TOLERANCE = 0.01  # relative change of the taste covariance below which the factors have converged


@dataclass(frozen=True)
class CrowdGPPL:
    """P(annotator u prefers a to b) = Phi(f_ua - f_ub), f_u = t + V w_u (Simpson & Gurevych 2020, section 3.2).

    t ~ GP(0, tau^2 K), v_c ~ GP(0, sigma^2 K / (C s_c)), w_u ~ N(0, I), s_c ~ Gamma(prior_shape, rate prior_rate),
    which shrinks components that are not needed. K is the identity, mixed with a Matern-3/2 kernel where items have
    features.

    The paper's variational factors are overconfident: they ignore the posterior correlation of tastes and consensus,
    their 90% intervals cover only 63 to 85%, and with few annotators they may find no tastes. So V, w and the scales
    (inverse Gamma for at most 6 components) are drawn by Gibbs sampling in the cases where CollaborativeGP samples; see
    there. In larger problems the factors are used only for the shape of tastes, E[V V']. Its size, and a share of K
    beside it, are chosen by the evidence of held-out annotators. The posterior is that of expectation propagation with
    all tastes integrated out, as in CollaborativeGP.

    n_components: C, at most.   consensus_sd, taste_sd: prior medians of tau and sigma, in units of the answer's noise;
    log_scale_sd: sd of their log-normal priors.   features: whether item and annotator features are used.
    reliability, grades, side, part_scales: as in CollaborativeGP; in larger problems the variational factors do not
    know of the first three and take the winners alone, EP does.
    Annotator features predict the taste of an annotator without labels; they do not change that of one with labels.
    max_pairs: maximum number of distinct pairs per annotator, chosen at random; None uses all.
    Ties are half a win each way; larger sets follow Thurstone's model (with label weights that are not whole, they
    enter as the pairs they imply); the factors use each two items of neighbouring ranks as a pair.
    """

    n_components: int = 20
    prior_shape: float = 1.0
    prior_rate: float = 1.0
    consensus_sd: float = 1.0
    taste_sd: float = 0.7
    log_scale_sd: float = 0.75
    features: bool = True
    reliability: bool = True
    grades: Literal["ordered", "ignore"] = "ordered"
    side: bool = False
    part_scales: bool = True
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
        """See Estimator.fit. start: a posterior of this estimator over nearly the same labels, from which the shape of
        tastes and the scales are reused, as for CollaborativeGP. Above 300 items by LargeFit, as there, and above 1,000
        always.

        diagnostics.objective: the factors' approximate bound after each step, then the final log evidence.
        """
        check_settings(self)
        generator = np.random.default_rng(0) if rng is None else rng
        is_large, graded = has_no_matrix(self, data, MAX_DENSE_ITEMS), self.grades == "ordered" and data.n_grades > 0
        sided = sided_labels(data, side=self.side and not is_large)
        sites = cap_sites(build_sites_with_rankings(data, graded=graded, sided=sided), self.max_pairs, generator)
        if is_large:
            large = LargeFit(self, data, sites, generator, Steps(self._n_steps(1), progress))
            of_many = large.run(start if isinstance(start, LargePosterior) else None)
            return report_missed_agreement(of_many, data, sided)
        blocks = build_blocks(sites)
        steps = Steps(self._n_steps(count_folds(sites, blocks)), progress)
        gamma = GammaPrior(self.prior_shape, self.prior_rate)
        fitting = FactorFit(self, data, sites, blocks, generator, steps, gamma=gamma)
        return report_missed_agreement(fitting.run(dense_start(start)), data, sided)

    @property
    def covariance(self) -> Literal["auto", "full", "low-rank", "prior"]:
        """Return the form of the taste covariance: sampled if affordable, otherwise that of the variational factors."""
        return "auto"

    @property
    def pseudo_annotators(self) -> float:
        """Return 0: components are shrunk by their scales instead."""
        return 0.0

    @property
    def steepness(self) -> bool:
        """Return False: every annotator's answers follow their utilities equally steeply."""
        return False

    def _n_steps(self, folds: int) -> int:
        scales = 0 if self.log_scale_sd == 0 else 90
        lapses = 3 * len(KNOTS) * self.reliability + len(SIDE_KNOTS) * self.side
        return scales + lapses + (folds + 1) * self.max_steps + folds * len(CANDIDATES) + 4 * self.max_iterations


@dataclass(frozen=True, eq=False)
class FactorFit(CollaborativeFit):
    """Stages of a CollaborativeGP fit, with the shape of tastes from variational factors."""

    gamma: GammaPrior = field(kw_only=True)

    def densities(self) -> ScaleDensities:
        """Return those of CollaborativeGP, with inverse Gamma variances of components as in the paper."""
        settings, gamma = self.settings, self.gamma
        count = min(settings.n_components, max(1, self.data.n_items - 1))
        inverse = settings.taste_sd**2 / (count * GRID**2)
        component = gamma.shape * np.log(inverse) - gamma.rate * inverse
        return scale_densities(settings, self.n_drawn, component)

    def shape(
        self,
        sites: PairSites,
        blocks: list[Block],
        prior: CrowdPrior,
        taste: Floats | None,
        begin: EPStart | None,
        *,
        again: bool,
    ) -> LearnedShape:
        count = min(self.settings.n_components, max(1, self.data.n_items - 1))
        factors = TasteFactors(sites, blocks, prior, count, self.gamma, taste)
        on_step = self.steps.record if again else self.steps.report
        return LearnedShape(factors.run(self.settings.max_steps, FACTOR_TOLERANCE, on_step).taste(), None)
