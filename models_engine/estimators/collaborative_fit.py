"""The last stages of a CollaborativeGP fit: EP over everybody, or over what a few new labels moved; the posterior."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models_engine.covariances import DenseCovariance
from models_engine.estimators.collaborative_learning import Begin, Learned, Learning
from models_engine.estimators.collaborative_posterior import CollaborativePosterior, Tastes
from models_engine.estimators.collaborative_refit import matched_sites, refit
from models_engine.estimators.collaborative_report import Found, annotator_figures, components_of, regression_on
from models_engine.estimators.collaborative_steps import is_cheap
from models_engine.inference.batched_ep import CrowdPrior, EPResult, run_ep, with_taste
from models_engine.inference.steepness import learn_steepness
from models_engine.linalg import centre
from models_engine.posterior import Likelihood

__all__ = ["Fit"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fit(Learning):
    """One fit; `run` goes through the stages."""

    def run(self, before: CollaborativePosterior | None) -> CollaborativePosterior:
        """Fit, lending scales and shape from `before` where that saw nearly the same labels."""
        learned = None if before is None else self.lent(before.tastes)
        if before is None or learned is None:
            learned = self.learn()
            return self._whole(learned, learned.begin)
        matched = matched_sites(before.tastes.pair_sites, before.tastes.sites, self.sites)
        if not self.settings.steepness and not is_cheap(self.sites, self.blocks):
            found = refit(self.sites, matched, before, self.steps.tick)
            if found is not None:
                return self._posterior(learned, found, found.mean, found.covariance)
        return self._whole(learned, Begin(matched.sites, before.tastes.mean))

    def _whole(self, learned: Learned, begin: Begin | None) -> CollaborativePosterior:
        """EP over everybody."""
        prior, settings = self.prior(learned.scales), self.settings
        a, r = learned.mixture.mean()
        crowd = with_taste(prior, a * learned.shape + r * prior.taste)
        if settings.steepness and len(self.sites):
            crowd = replace(crowd, steepness=learn_steepness(self.sites, self.blocks, crowd, self.steps.tick))
        result = run_ep(
            self.sites,
            self.blocks,
            crowd,
            None if begin is None else begin.sites,
            None if begin is None else begin.mean,
            max_iterations=settings.max_iterations,
            tolerance=settings.tolerance,
            on_iteration=lambda change: self.steps.tick(-change),
        )
        mean, covariance = self._over_mixture(crowd, prior, learned, result)
        cheap = is_cheap(self.sites, self.blocks)
        loadings, scores = components_of(self.sites, self.blocks, crowd, result, settings.n_components)
        found = Found(
            taste=crowd.taste,
            steepness=crowd.steepness,
            sites=result.sites,
            mean=result.mean,
            covariance=result.covariance,
            loadings=loadings,
            scores=scores,
            figures=annotator_figures(self.sites, self.blocks, crowd, result, deviations=cheap),
            log_evidence=result.log_evidence,
            change=result.change,
            n_iterations=result.n_iterations,
            tolerance=settings.tolerance,
        )
        return self._posterior(learned, found, mean, covariance)

    def _over_mixture(
        self, crowd: CrowdPrior, prior: CrowdPrior, learned: Learned, result: EPResult
    ) -> tuple[Floats, Floats]:
        """Mean and covariance of the consensus averaged over the likely mixtures of shape and prior."""
        leading = learned.mixture.leading(0.05, 5)
        if len(leading) < 2 or not is_cheap(self.sites, self.blocks):
            return result.mean, result.covariance
        means, covariances, weights = [], [], []
        for (a, r), weight in leading:
            other = with_taste(crowd, a * learned.shape + r * prior.taste)
            found = run_ep(self.sites, self.blocks, other, result.sites, result.mean, max_iterations=20, tolerance=1e-3)
            self.steps.tick(found.log_evidence)
            means.append(centre(found.mean))
            covariances.append(weight * found.covariance)
            weights.append(weight)
        mean = np.asarray(weights) @ np.asarray(means)
        between = (np.asarray(means) - mean).T * weights @ (np.asarray(means) - mean)
        return mean, np.sum(covariances, axis=0) + between

    def _posterior(self, learned: Learned, found: Found, mean: Floats, covariance: Floats) -> CollaborativePosterior:
        """mean, covariance: of the consensus as published; `found` has it at one taste covariance."""
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
        people = self.data.annotator_features if self.settings.features else None
        regression, explained, centre_scale = regression_on(people, scores, self.sites)
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
        )
        return CollaborativePosterior(
            centre(mean),
            DenseCovariance.of(covariance),
            diagnostics,
            Likelihood("probit", tie_rate=self.data.pairs().tie_rate()),
            DenseCovariance.of(found.taste),
            annotators=found.figures,
            tastes=tastes,
        )
