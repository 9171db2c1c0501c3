"""CollaborativeGP: a consensus and each annotator's taste around it, learned together."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from models_engine.data import Comparisons
from models_engine.estimators.collaborative.fit import CollaborativeFit
from models_engine.estimators.collaborative.large_fit import MAX_DENSE_TASTES, LargeFit, has_no_matrix
from models_engine.estimators.collaborative.large_posterior import LargePosterior, dense_start
from models_engine.estimators.collaborative.learning import CANDIDATES
from models_engine.estimators.collaborative.posterior import CollaborativePosterior
from models_engine.estimators.collaborative.report import report_missed_agreement
from models_engine.estimators.collaborative.steps import Steps, count_folds
from models_engine.estimators.settings import check_settings
from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.pair_sites import build_sites, build_sites_with_rankings, cap_sites, sided_labels
from models_engine.inference.tastes.reliability import KNOTS
from models_engine.inference.tastes.sides import KNOTS as SIDE_KNOTS
from models_engine.posterior import Posterior
from models_engine.progress import Progress

__all__ = ["CollaborativeGP"]


@dataclass(frozen=True)
class CollaborativeGP:
    """P(annotator u prefers a to b) = Phi(f_ua - f_ub), f_u = t + h_u, t ~ N(0, tau^2 K), h_u ~ N(0, Sigma).

    After Khan, Ko & Seeger (2014; Ko's thesis, section 3.2), with a Gaussian prior on the consensus t, whose posterior
    integrates out all tastes h_u and so includes how much annotators disagree. K is the identity, mixed with a
    Matern-3/2 kernel where items have features. Inference is EP over all annotators at once.

    consensus_sd, taste_sd: prior medians of tau and of the standard deviation of a taste, in units of the answer's
        noise; log_scale_sd: sd of their log-normal priors. 0 fixes them.
    covariance: "full" shrinks the learned Sigma to K; "low-rank" keeps n_components directions beside a multiple of K;
        "auto" draws it (see below) where that is affordable, and past that is full up to 300 items; of more items it
        has no matrix (see below), or is low-rank where item features or side biases count. "prior" learns none.
    pseudo_annotators: strength of the shrinkage, as a number of annotators with tastes like the prior's.
    features: whether item and annotator features are used where given.
    reliability: also infer each annotator's reliability, the share of answers that follow their utilities rather than
        being reversed, with four annotators or more; prior Beta(s m, s (1 - m)), m and s learned (where nothing is
        drawn: careless with probability .1, then any alike). The probability of an answer is then eta_u Phi(z) +
        (1 - eta_u) Phi(-z), z the margin; a reversed set is in order from the worst to the best.
    grades: "ordered" takes how much better an item is, where labels say it, as an ordered likelihood: P(grade g) =
        eta_u G(z) + (1 - eta_u) G(-z), z the winner's margin, G(z) = Phi(z - c_{g-1}) - Phi(z - c_g), with cut points
        c_0 <= c_1 <= ... for everybody (McCullagh 1980; Agresti 1992). So a reversed answer keeps its grade, as in
        CrowdBT: whoever mistakes the sides is as sure as before. A tie then lies within c_0 of 0, the same both ways.
        "ignore" takes the winners alone.
    side: also infer what each annotator adds to the utility of the item shown first (left), b_u ~ N(m, s^2), m ~
        N(0, 0.6^2), s half-Cauchy(0.3); pairs of known order only, of annotators who preferred it sometimes, not always
        (where it is always, the winner may have been given first). It is part of what the annotator sees: z = f_ua -
        f_ub + b_u, so that a reversed answer reverses it as well, as in CrowdBT.
    part_scales: where at least five parts of three items or more are unconnected, the consensus of each part p has its
        own sd tau_p, log tau_p ~ N(log tau, s^2), s half-normal(log_scale_sd), so that parts are pooled as far as they
        are alike: one tau would be too small for parts that spread much, and their intervals too narrow. Of fewer parts
        the prior would decide how they spread. Only where scales are drawn (see below), without item features.
    steepness: also infer how steeply each annotator's answers follow their utilities (erratic: below 1).
    max_pairs: maximum number of distinct pairs per annotator, chosen at random; None uses all.

    Up to 20,000 items shown, over all answers, and 300 items (100 with features), Gibbs sampling draws consensus, up to
    6 components of taste, what is a person's alone, and all scales together. Sigma is the mean of the draws,
    alike in every direction where, without item features, they agree on none; the consensus is averaged over
    its size; and the intervals of each annotator are widened to what the draws leave open, by one factor for each
    annotator, as one Sigma is too sure of few people's tastes. That takes whole label weights, and neither steepness
    nor fixed scales.

    Above 300 items with covariance "auto", without item features and side biases, and above 5,000 always, tastes lie
    along at most 10 components, of which those that cannot be told from noise are dropped, and beside them vary by item
    alone; no matrix over items is needed (see LargeFit). Taste distances then have no sd, as it would be too
    small.

    Otherwise tau, the size of tastes and the kernel are chosen by EP evidence, and the mixture of the learned Sigma
    with its prior by the evidence of annotators left out while it was learned. Of up to 60 people Sigma is learned with
    a consensus that is free (restricted likelihood), and those left out are predicted from the others' consensus, so
    that so few people's consensus is not taken for their tastes. Intervals average over that mixture.

    Where one pass over the labels takes more than 1e9 operations (say 200 annotators of 100 pairs each), fewer steps
    and folds are used, Sigma is learned from at most 100 pairs of each annotator, the mixture is replaced by its
    weighted mean (without the learned Sigma where its weight is below 0.01), EP ends where no site changes by 1e-3, and
    taste distances have no sd. EP over more than 20,000 pairs without grades ends so, too. Cut points are drawn with
    all else, or learned with tau; intervals of the consensus count what is open about them (not in so large a problem).
    Ties are half a win each way where no label has a grade; larger sets follow Thurstone's model, each item perceived
    with noise of half the variance of a pair's (with label weights that are not whole, or steepness, they enter as the
    pairs they imply).
    """

    n_components: int = 10
    covariance: Literal["auto", "full", "low-rank", "prior"] = "auto"
    consensus_sd: float = 1.0
    taste_sd: float = 0.7
    log_scale_sd: float = 0.75
    pseudo_annotators: float = 20.0
    features: bool = True
    steepness: bool = False
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
        """See Estimator.fit. Above 300 items by LargeFit, see has_no_matrix.

        start: a posterior of this estimator over the same items, whose labels are at least 90% of these, provides the
        learned Sigma and scales, so that a refit after a few labels is quick; any other is ignored. In a large problem
        such a refit updates only the new labels' sites and those of the same annotators that change with them: the
        consensus differs from that of EP over all annotators by at most 6% of its change.
        """
        check_settings(self)
        generator = np.random.default_rng(0) if rng is None else rng
        is_large, graded = has_no_matrix(self, data, MAX_DENSE_TASTES), self.grades == "ordered" and data.n_grades > 0
        sided = sided_labels(data, side=self.side and not is_large)
        if self.steepness:
            sites = build_sites(data.pairs(), data.weights, graded=graded, sided=sided)
        else:
            sites = build_sites_with_rankings(data, graded=graded, sided=sided)
        sites = cap_sites(sites, self.max_pairs, generator)
        if is_large:
            large = LargeFit(self, data, sites, generator, Steps(self._n_steps(1), progress))
            of_many = large.run(start if isinstance(start, LargePosterior) else None)
            return report_missed_agreement(of_many, data, sided)
        blocks = build_blocks(sites)
        fitting = CollaborativeFit(
            self, data, sites, blocks, generator, Steps(self._n_steps(count_folds(sites, blocks)), progress)
        )
        return report_missed_agreement(fitting.run(dense_start(start)), data, sided)

    def _n_steps(self, folds: int) -> int:
        scales = 0 if self.log_scale_sd == 0 else 90
        learning = 0 if self.covariance == "prior" else (folds + 1) * self.max_steps + folds * len(CANDIDATES)
        lapses = 3 * len(KNOTS) * self.reliability + len(SIDE_KNOTS) * self.side
        return scales + learning + lapses + (6 if self.steepness else 4) * self.max_iterations
