"""The last stages of a CollaborativeGP fit: EP over all annotators or over a few changed sites; the posterior."""

from dataclasses import astuple, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models_engine.covariance.forms import DenseCovariance
from models_engine.estimators.collaborative.annotators import annotator_utilities
from models_engine.estimators.collaborative.learned import EPStart, LearnedPrior
from models_engine.estimators.collaborative.learning import TasteLearning
from models_engine.estimators.collaborative.posterior import CollaborativePosterior, Tastes
from models_engine.estimators.collaborative.refit import REFIT_TOLERANCE, match_sites, refit
from models_engine.estimators.collaborative.report import (
    EPOutcome,
    compute_components,
    regress_scores,
    summarise_annotators,
)
from models_engine.estimators.collaborative.sampled import (
    ConsensusFactors,
    Widening,
    count_components,
    count_components_beyond_noise,
)
from models_engine.estimators.collaborative.steps import is_cheap
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, run_ep, warm_start
from models_engine.inference.probit_ep.independent_parts import IndependentParts, is_diagonal
from models_engine.inference.probit_ep.learned_cuts import KnownCuts, learn_cuts, measure_cuts
from models_engine.inference.tastes.sampling import Sampled
from models_engine.inference.tastes.steepness import learn_steepness
from models_engine.linalg import centre, centre_covariance
from models_engine.posterior import Likelihood

__all__ = ["CollaborativeFit"]

Floats = NDArray[np.float64]
MAX_FINE_SITES = 20_000  # of more, without grades, EP ends at REFIT_TOLERANCE: means then move by less than 1e-3 sd
CUT_ROUNDS, FEW_CUT_ROUNDS = 12, 3  # steps of the cut points in the last stage, of a cheap fit and another


@dataclass(frozen=True, eq=False)
class CollaborativeFit(TasteLearning):
    """One fit; `run` performs the stages."""

    def run(self, before: CollaborativePosterior | None) -> CollaborativePosterior:
        """Fit, reusing scales and shape from `before` where that saw nearly the same labels."""
        learned = None if before is None else self.reuse(before)
        if before is None or learned is None:
            learned = self.learn()
            return self._fit_all(learned, learned.begin)
        matched = match_sites(before.tastes.pair_sites, before.tastes.sites, self.sites)
        if not self.settings.steepness and not is_cheap(self.sites, self.blocks):
            found = refit(self.sites, matched, before, learned.reliability, learned.side, self.steps.report)
            if found is not None:
                kept = before.likelihood
                known = KnownCuts(kept.cuts, kept.cut_sds or (), np.zeros((0, 0))) if kept.cuts is not None else None
                return self._posterior(learned, found, found.mean, found.covariance, known)
        return self._fit_all(learned, EPStart(matched.sites, before.tastes.mean))

    def _fit_all(self, learned: LearnedPrior, begin: EPStart | None) -> CollaborativePosterior:
        """Run EP over all annotators."""
        prior, settings = self.prior(learned.scales, learned.lapse, learned.side), self.settings
        cheap = is_cheap(self.sites, self.blocks)
        fine = cheap and (len(self.sites) <= MAX_FINE_SITES or prior.cuts is not None)
        tolerance = settings.tolerance if fine else max(settings.tolerance, REFIT_TOLERANCE)
        a, r = learned.mixture.mean()
        crowd = prior.changed(taste=a * learned.shape + r * prior.taste)
        if settings.steepness and len(self.sites):
            crowd = replace(crowd, steepness=learn_steepness(self.sites, self.blocks, crowd, self.steps.report))
        if not cheap and is_diagonal(crowd.taste) and len(self.sites):
            begin = self._by_parts(crowd, begin, tolerance)

        def run(crowd: CrowdPrior, last: EPResult | None) -> EPResult:
            first = (None, None) if begin is None else (begin.sites, begin.mean)
            return run_ep(
                self.sites,
                self.blocks,
                crowd,
                *(first if last is None else warm_start(last)),
                max_iterations=settings.max_iterations,
                tolerance=tolerance,
                on_iteration=lambda change: self.steps.report(-change),
            )

        crowd, result = learn_cuts(crowd, run, self._cut_rounds(learned, FEW_CUT_ROUNDS))
        cuts = measure_cuts(crowd, result, run if cheap else None, learned.cut_root)
        mean, covariance, others = self._average_over_mixture(crowd, prior, learned, result)
        if cuts is not None:
            covariance = covariance + cuts.widening @ cuts.widening.T
            cuts = cuts.spread_over(*others)
        loadings, scores = compute_components(crowd, result, settings.n_components)
        found = EPOutcome(
            taste=crowd.taste,
            steepness=crowd.steepness,
            sites=result.sites,
            mean=result.mean,
            covariance=result.covariance,
            loadings=loadings,
            scores=scores,
            figures=summarise_annotators(crowd, result, deviations=cheap),
            log_evidence=result.log_evidence,
            change=result.change,
            n_iterations=result.n_iterations,
            tolerance=tolerance,
        )
        return self._posterior(learned, found, mean, covariance, cuts)

    def _cut_rounds(self, learned: LearnedPrior, few: int = CUT_ROUNDS) -> int:
        """Return how many steps cut points of graded answers take in the last stage: none where Sigma has a learned
        shape, at which the top of the evidence lies higher than the draws of cut points, by a tenth, or than it did
        with the scales, by as much as the shape is overfitted (twice, on 381 answers about 200 videos of Tournesol).
        """
        if learned.cut_root is not None or learned.mixture.mean()[0] > 0:
            return 0
        return CUT_ROUNDS if is_cheap(self.sites, self.blocks) else few

    def _by_parts(self, crowd: CrowdPrior, begin: EPStart | None, tolerance: float) -> EPStart:
        """Run EP where tastes of items are independent; only figures of whole annotators are missing then."""
        sites, found = IndependentParts.of(self.sites).run(
            crowd,
            None if begin is None else begin.sites,
            None if begin is None else begin.mean,
            max_iterations=self.settings.max_iterations,
            tolerance=tolerance,
        )
        return EPStart(sites, found.mean)

    def _average_over_mixture(
        self, crowd: CrowdPrior, prior: CrowdPrior, learned: LearnedPrior, result: EPResult
    ) -> tuple[Floats, Floats, tuple[list[Floats], list[float]]]:
        """Average mean and covariance of the consensus over the likely mixtures of shape and prior.

        Return also the cut points of graded answers at each, which go with the size of tastes, and the weights.
        """
        leading = learned.mixture.leading(0.05, 5)
        if len(leading) < 2 or not is_cheap(self.sites, self.blocks):
            return result.mean, result.covariance, ([], [])

        def run(crowd: CrowdPrior, last: EPResult | None) -> EPResult:
            first = warm_start(result if last is None else last)
            found = run_ep(self.sites, self.blocks, crowd, *first, max_iterations=20, tolerance=1e-3)
            self.steps.report(found.log_evidence)
            return found

        means, covariances, weights, cuts = [], [], [], []
        for (a, r), weight in leading:
            taste = a * learned.shape + r * prior.taste
            other, found = learn_cuts(crowd.changed(taste=taste), run, self._cut_rounds(learned))
            means.append(centre(found.mean))
            covariances.append(weight * found.covariance)
            weights.append(weight)
            cuts += [] if other.cuts is None else [other.cuts]
        mean = np.asarray(weights) @ np.asarray(means)
        between = (np.asarray(means) - mean).T * weights @ (np.asarray(means) - mean)
        return mean, np.sum(covariances, axis=0) + between, (cuts, weights)

    def _posterior(
        self, learned: LearnedPrior, found: EPOutcome, mean: Floats, covariance: Floats, cuts: KnownCuts | None
    ) -> CollaborativePosterior:
        """Build the posterior. mean, covariance: of the consensus; `found` has them at one taste covariance only."""
        self.steps.record(found.log_evidence)
        diagnostics = self.steps.finish(
            converged=found.change < found.tolerance,
            change=found.change,
            n_iterations=found.n_iterations,
            tolerance=found.tolerance,
        )
        features, scales = self.features(), learned.scales
        loadings, scores = found.loadings, found.scores
        steepness = np.ones(self.sites.n_annotators) if found.steepness is None else found.steepness
        annotator_features = self.data.annotator_features if self.settings.features else None
        regression, explained, centre_scale = regress_scores(annotator_features, scores, self.sites)
        blank = Widening.none(self.sites.n_annotators) if learned.widening is None else learned.widening
        factors = blank.consensus
        if learned.sampled is not None:
            parts = self.data.connected_parts()
            factors = ConsensusFactors.between(learned.sampled, mean, covariance, parts)
        tastes = Tastes(
            taste=found.taste,
            mean=found.mean,
            covariance=found.covariance,
            annotator=self.sites.annotator,
            low=self.sites.low,
            high=self.sites.high,
            wins=self.sites.wins,
            losses=self.sites.losses,
            copies=self.sites.copies,
            precision=found.sites.precision,
            shift=found.sites.shift,
            learned=learned.shape,
            mixture_candidates=np.asarray(learned.mixture.candidates),
            mixture_weights=learned.mixture.weights,
            scales=np.array([scales.consensus_sd, scales.taste_sd, scales.share, scales.length]),
            n_learned=np.array(learned.n_sites),
            steepness=steepness,
            features=np.zeros((self.data.n_items, 0)) if features is None else features,
            loadings=loadings,
            scores=scores,
            regression=regression,
            explained=explained,
            centre_scale=centre_scale,
            ranking=np.zeros(0, np.int64) if self.sites.ranking is None else self.sites.ranking,
            own_widening=blank.own,
            difference_widening=blank.difference,
            sign_widening=blank.sign,
            consensus_factors=np.array(astuple(factors)),
            n_told=np.array(self._n_told(learned, found)),
            grade=np.zeros(0, np.int64) if self.sites.grade is None else self.sites.grade,
            side=np.zeros(0, np.int64) if self.sites.side is None else self.sites.side,
            item_sds=np.zeros(0) if scales.item_sds is None else scales.item_sds,
        )
        if learned.sampled is not None:
            tastes = widened(tastes, learned.sampled)
        figures, known, lapse = found.figures, learned.reliability, 0.0
        if known is not None:
            low, high = (None, None) if known.ends is None else known.ends
            figures = replace(figures, reliability=known.mean, reliability_sd=known.sd)
            figures = replace(figures, reliability_low=low, reliability_high=high)
            lapse = 1 - known.crowd
        likelihood = Likelihood("probit", lapse=lapse, tie_rate=self.data.pairs().tie_rate())
        if cuts is not None:
            likelihood = Likelihood("probit", lapse=lapse, cuts=cuts.values, cut_sds=cuts.deviations)
        if learned.sides is not None:
            likelihood = replace(likelihood, side=learned.sides.crowd, side_sd=learned.sides.crowd_sd)
            figures = replace(figures, side_bias=learned.sides.mean, side_bias_sd=learned.sides.sd)
        return CollaborativePosterior(
            factors.mean * centre(mean),
            DenseCovariance.of(factors.sd**2 * covariance),
            diagnostics,
            likelihood,
            DenseCovariance.of(found.taste),
            learned.lapse,
            figures,
            tastes=tastes,
        )

    def _n_told(self, learned: LearnedPrior, found: EPOutcome) -> int:
        if learned.sampled is not None:
            return min(count_components(learned.sampled), found.loadings.shape[1])
        if learned.n_told is not None:
            return min(learned.n_told, found.loadings.shape[1])
        variance = float(np.trace(centre_covariance(found.taste)))
        shares = (found.loadings**2).sum(axis=0) / max(variance, 1e-300)
        return count_components_beyond_noise(shares, len(np.unique(self.sites.annotator)), self.data.n_items)


def widened(tastes: Tastes, sampled: Sampled) -> Tastes:
    """Return the posterior with annotators' intervals widened by the uncertainty of the draws."""
    figures = (
        (one.annotator, one.mean, one.sd, one.difference, one.difference_sd) for one in annotator_utilities(tastes)
    )
    found = Widening.between(sampled, figures)
    return replace(tastes, own_widening=found.own, difference_widening=found.difference, sign_widening=found.sign)
