"""CollaborativeGP: a consensus and every annotator's own taste around it, learned together from who prefers what."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from models_engine.data import Comparisons
from models_engine.errors import InvalidSetting, TooLarge
from models_engine.estimators.collaborative_fit import Fit
from models_engine.estimators.collaborative_learning import CANDIDATES
from models_engine.estimators.collaborative_posterior import CollaborativePosterior
from models_engine.estimators.collaborative_steps import Steps, n_folds
from models_engine.inference.annotator_blocks import blocks_of
from models_engine.inference.pair_sites import capped, sites_of, sites_with_rankings
from models_engine.posterior import Posterior
from models_engine.progress import Progress

__all__ = ["CollaborativeGP"]

MOST_ITEMS = 5_000


@dataclass(frozen=True)
class CollaborativeGP:
    """P(annotator u prefers a to b) = Phi(f_ua - f_ub), f_u = t + h_u, t ~ N(0, tau^2 K), h_u ~ N(0, Sigma).

    After Khan, Ko & Seeger (2014; Ko's thesis, section 3.2), with a Gaussian prior on the consensus t, whose posterior
    integrates all tastes h_u out and so counts how far annotators disagree. K is the identity, mixed with a Matern-3/2
    kernel where items have features. Inference is EP over all annotators at once.

    consensus_sd, taste_sd: prior medians of tau and of the standard deviation of a taste, in units of the answer's
        noise; log_scale_sd: how far, in logs, the labels may move them. 0 keeps them.
    covariance: "full" shrinks the learned Sigma to K; "low-rank" keeps n_components directions beside a multiple of K;
        "auto" is full up to 300 items. "prior" learns none.
    pseudo_annotators: strength of the shrinkage, as so many annotators with tastes like the prior's.
    features: whether item and annotator features are used where given.
    steepness: also infer how steeply each annotator's answers follow their utilities (erratic: below 1).
    max_pairs: at most so many distinct pairs per annotator enter, chosen at random; None takes all.

    Scales and shape come from the training labels alone: tau, the size of tastes and the kernel by EP evidence; the
    mixture of the learned Sigma with its prior by the evidence of annotators left out while it was learned. Intervals
    average over that mixture. Where one pass over the labels takes more than 1e9 operations (say 200 annotators of 100
    pairs each) fewer steps and folds are taken, Sigma is learned from at most 100 pairs of each annotator, the
    mixture's weighted mean stands for it, and taste distances come without sd. Ties are half a win each way; larger
    sets are answered as in Thurstone's model, each item perceived with noise of half the variance of a pair's (with
    label weights that are not whole, or steepness, they enter as the pairs they imply).
    """

    n_components: int = 10
    covariance: Literal["auto", "full", "low-rank", "prior"] = "auto"
    consensus_sd: float = 1.0
    taste_sd: float = 0.7
    log_scale_sd: float = 0.75
    pseudo_annotators: float = 20.0
    features: bool = True
    steepness: bool = False
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
        """See Estimator.fit. start: a posterior of this estimator over the same items whose labels are at least 90% of
        these lends its learned Sigma and scales, so that a refit after a few labels is quick; any other is not used.
        In a large problem such a refit settles only the new labels, and what they move of their annotators' others: the
        consensus ends within 3% of its move from where EP over everybody would, the scales being kept either way.
        Raises TooLarge above 5,000 items.
        """
        self._check(data)
        generator = np.random.default_rng(0) if rng is None else rng
        sites = sites_of(data.pairs(), data.weights) if self.steepness else sites_with_rankings(data)
        sites = capped(sites, self.max_pairs, generator)
        blocks = blocks_of(sites)
        fitting = Fit(self, data, sites, blocks, generator, Steps(self._n_steps(n_folds(sites, blocks)), progress))
        return fitting.run(start if isinstance(start, CollaborativePosterior) else None)

    def _check(self, data: Comparisons) -> None:
        if data.n_items > MOST_ITEMS:
            raise TooLarge(
                f"CollaborativeGP holds matrices of {data.n_items:,} x {data.n_items:,} items; the limit is "
                f"{MOST_ITEMS:,}. Use BradleyTerry, or fit a part of the items."
            )
        for name in ("consensus_sd", "taste_sd", "pseudo_annotators", "tolerance", "n_components", "max_steps"):
            if not getattr(self, name) > 0:
                raise InvalidSetting(f"{name} is {getattr(self, name)}; give a number above 0.")

    def _n_steps(self, folds: int) -> int:
        scales = 0 if self.log_scale_sd == 0 else 90
        learning = 0 if self.covariance == "prior" else (folds + 1) * self.max_steps + folds * len(CANDIDATES)
        return scales + learning + (6 if self.steepness else 4) * self.max_iterations
