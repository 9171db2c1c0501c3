"""CollaborativeGP and CrowdGPPL for thousands of items: tastes of low rank, no matrix over items."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models_engine.covariance.forms import LowRankCovariance
from models_engine.data import Comparisons
from models_engine.estimators.collaborative.large_learning import Answers, LargeLearning, LargePrior
from models_engine.estimators.collaborative.large_posterior import LargePosterior, LargeTastes
from models_engine.estimators.collaborative.learning import MAX_FULL_ITEMS
from models_engine.estimators.collaborative.refit import match_sites
from models_engine.estimators.collaborative.report import regress_scores
from models_engine.estimators.collaborative.steps import Settings
from models_engine.inference.graded.cut_points import cut_deviations
from models_engine.inference.item_factors.cuts import log_gap_covariance
from models_engine.inference.item_factors.ep import FactorEP
from models_engine.inference.item_factors.learning import Components, consensus_variance
from models_engine.inference.item_factors.local import ConsensusMoments
from models_engine.inference.probit_ep.learned_cuts import log_gaps_of
from models_engine.kernels import ItemKernel
from models_engine.linalg import centre
from models_engine.messages import Message, gettext_noop, propagation_message
from models_engine.posterior import Likelihood
from models_engine.summaries import AnnotatorSummary

__all__ = ["MAX_DENSE_TASTES", "LargeFit", "has_no_matrix"]

Floats = NDArray[np.float64]
MAX_DENSE_TASTES = 5_000  # items; of more, tastes are of low rank whatever is asked
TOLERANCE = 1e-3  # of the sites, as of a large dense fit
MIN_SWEEPS = 6  # the consensus's variance changes in the first ones
MIN_SHARED_LABELS = 0.9


def has_no_matrix(settings: Settings, data: Comparisons, max_dense: int) -> bool:
    """Return whether tastes are fitted without a matrix over items, by LargeFit.

    That is above max_dense items; and above MAX_FULL_ITEMS where covariance is "auto", except with item features or
    side biases, of which a matrix over items knows more.
    """
    if data.n_items > max_dense:
        return True
    related = settings.features and data.item_features is not None and data.item_features.shape[1] > 0
    return settings.covariance == "auto" and data.n_items > MAX_FULL_ITEMS and not related and not settings.side


@dataclass(frozen=True, eq=False)
class LargeFit(LargeLearning):
    """One fit; `run` performs the stages."""

    def run(self, before: LargePosterior | None) -> LargePosterior:
        """Fit, reusing what `before` learned where that saw the same items and nearly the same labels."""
        known = None if before is None else self._reused(before)
        if known is None:
            prior, ep = self.learn()
            return self._finish(prior, ep, sized=self.settings.log_scale_sd > 0)
        prior, ep = known
        return self._finish(prior, ep, sized=False)

    def _finish(self, prior: LargePrior, ep: FactorEP, *, sized: bool) -> LargePosterior:
        """Sweep until no site changes, the covariance of the consensus measured on the way and at the end."""
        ep.tastes, ep.variance = prior.mixed, prior.variance
        ep.answer_by(prior.answers)
        tolerance, change, measured = max(self.settings.tolerance, TOLERANCE), np.inf, -np.inf
        settings, fewest = self.settings, MIN_SWEEPS if sized else 1
        for sweep in range(settings.max_iterations):
            # measured where the sites have settled; the last sweeps keep it, so that they come to rest
            measure = sized and sweep in (1, MIN_SWEEPS - 1)
            measure |= change < 10 * tolerance and sweep - measured > MIN_SWEEPS
            measured = sweep if measure else measured
            change = ep.sweep(measure=measure)
            self.steps.record(-change)
            if sweep >= fewest and change < tolerance and measured >= 0:
                break
            if sized and sweep < MIN_SWEEPS - 2:
                ep.variance = consensus_variance(ep, settings.consensus_sd, settings.log_scale_sd)
                prior = self.with_cuts(ep, prior)
            if sweep < settings.max_iterations - 1:
                ep.move()
        message = Message.joined(
            propagation_message(change < tolerance, change, ep.n_sweeps, tolerance), self._components_message(prior)
        )
        diagnostics = self.steps.log.finish(converged=change < tolerance, message=message, n_iterations=ep.n_sweeps)
        tastes = self._tastes(prior, ep)
        return LargePosterior(
            centre(tastes.mean),
            LowRankCovariance(tastes.factor, tastes.rest),
            diagnostics,
            self._likelihood(prior, ep),
            LowRankCovariance(tastes.taste_loadings, tastes.own + tastes.open),
            None if prior.reliability is None else prior.reliability.lapse,
            self._figures(prior, tastes),
            tastes=tastes,
        )

    def _components_message(self, prior: LargePrior) -> Message:
        text = gettext_noop("of %(items)d items: tastes lie along %(n)d components and beside them vary by item alone")
        message = Message.of(text, items=self.data.n_items, n=prior.n_told)
        if not self.settings.side:
            return message
        return Message.joined(message, Message.of(gettext_noop("side biases are not inferred for so many items")))

    def _likelihood(self, prior: LargePrior, ep: FactorEP) -> Likelihood:
        lapse = 0.0 if prior.reliability is None else 1 - prior.reliability.crowd
        cuts = prior.answers.cuts
        if cuts is None:
            return Likelihood("probit", lapse=lapse, tie_rate=self.data.pairs().tie_rate())
        sds = cut_deviations(log_gaps_of(cuts), log_gap_covariance(cuts, ep.cut_scores()))
        return Likelihood("probit", lapse=lapse, cuts=tuple(cuts.tolist()), cut_sds=sds)

    def _tastes(self, prior: LargePrior, ep: FactorEP) -> LargeTastes:
        sites, mixed, n = ep.gather_sites(len(self.sites)), prior.mixed, self.sites.n_annotators
        scores = ep.gather_scores(n)
        count = prior.components.count
        loadings = mixed.loadings[:, :count]
        order = np.argsort(-(loadings**2).sum(axis=0), kind="stable")
        order = np.append(order, np.arange(count, mixed.loadings.shape[1]))
        annotator_features = self.data.annotator_features if self.settings.features else None
        own_scores = scores[:, order][:, :count]
        regression, explained, centre_scale = regress_scores(annotator_features, own_scores, self.sites)
        features, steepness, kernel = self.features(), prior.answers.steepness, prior.kernel
        size = np.sqrt(prior.own)
        return LargeTastes(
            taste_loadings=mixed.loadings[:, order],
            own=mixed.own,
            open=mixed.open,
            mean=ep.moments.mean,
            factor=ep.moments.factor,
            rest=ep.moments.rest,
            annotator=self.sites.annotator,
            low=self.sites.low,
            high=self.sites.high,
            wins=self.sites.wins,
            losses=self.sites.losses,
            copies=self.sites.copies,
            precision=sites.precision,
            shift=sites.shift,
            ranking=np.zeros(0, np.int64) if self.sites.ranking is None else self.sites.ranking,
            grade=np.zeros(0, np.int64) if self.sites.grade is None else self.sites.grade,
            steepness=np.ones(n) if steepness is None else steepness,
            scales=np.array([np.sqrt(ep.variance), size, kernel.share, kernel.length, prior.share, size]),
            n_learned=np.array(len(self.sites)),
            n_told=np.array(prior.n_told),
            features=np.zeros((self.data.n_items, 0)) if features is None else features,
            loadings=loadings[:, order[:count]],
            scores=own_scores,
            regression=regression,
            explained=explained,
            centre_scale=centre_scale,
        )

    def _figures(self, prior: LargePrior, tastes: LargeTastes) -> AnnotatorSummary:
        """Return reliabilities, and taste distances by the components: what is a person's alone is at its size."""
        centred = tastes.loadings - tastes.loadings.mean(axis=0)
        along = np.einsum("uc,cd,ud->u", tastes.scores, centred.T @ centred / len(centred), tastes.scores)
        distance = np.sqrt(along + float((tastes.own + tastes.open).mean()))
        if prior.reliability is None:
            return AnnotatorSummary(taste_distance=distance)
        known = prior.reliability
        return AnnotatorSummary(known.mean, known.sd, taste_distance=distance)

    def _reused(self, before: LargePosterior) -> tuple[LargePrior, FactorEP] | None:
        """Return what an earlier fit learned, and EP from its sites, if it had these items and nearly these labels."""
        known, cuts = before.tastes, before.likelihood.cuts
        reliability = before.reliabilities()
        n, m = len(self.sites), int(known.n_learned)
        features = self.features()
        same = known.features.shape[1] == 0 if features is None else np.array_equal(known.features, features)
        if len(known.mean) != self.data.n_items or not same or (cuts is None) != (self.sites.grade is None):
            return None
        if not MIN_SHARED_LABELS * n <= m <= n / MIN_SHARED_LABELS:
            return None
        if cuts is not None and (len(cuts) != self.data.n_grades or (cuts[0] > 0) != (self.first_cuts()[0] > 0)):
            return None
        kernel = ItemKernel(None, self.data.n_items)
        if known.scales[2] > 0:
            kernel = ItemKernel(features, self.data.n_items, float(known.scales[2]), float(known.scales[3]))
        prior, share = self.start(kernel), float(known.scales[4])
        count = known.loadings.shape[1]
        root = np.sqrt(share) if share > 0 else 1.0
        components = Components(known.loadings / root, np.ones(count), known.open / root**2)
        people = self.sites.n_annotators
        if reliability is not None:
            reliability = reliability.extended(people)
        steepness = None
        if self.settings.steepness:
            steepness = np.append(known.steepness, np.ones(max(0, people - len(known.steepness))))[:people]
        lapse = reliability.lapse if reliability is not None and reliability.lapse.any() else None
        answers = Answers(steepness, lapse, None if cuts is None else np.array(cuts))
        variance, own = float(known.scales[0]) ** 2, float(known.scales[5]) ** 2
        prior = replace(prior, variance=variance, own=own, components=components, share=share, answers=answers)
        prior = replace(prior, reliability=reliability)
        ep = self.ep(self.sites, prior, prior.mixed)
        ep.begin(match_sites(known.pair_sites, known.sites, self.sites).sites)
        ep.moments = ConsensusMoments(known.mean, known.factor, known.rest)
        return prior, ep
