"""Stages of a CollaborativeGP fit of thousands of items: sizes, reliabilities, components, how far to trust them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from models_engine.data import Comparisons
from models_engine.estimators.collaborative.steps import MIN_ANNOTATORS, Settings, Steps
from models_engine.executor import Kept, active_executor
from models_engine.inference.item_factors.consensus import MIN_REST, ItemCovariance
from models_engine.inference.item_factors.cuts import improved_cuts
from models_engine.inference.item_factors.ep import FactorEP
from models_engine.inference.item_factors.learning import (
    Components,
    OwnSize,
    answer_scale,
    consensus_variance,
    first_components,
    improve_components,
    taste_statistics,
)
from models_engine.inference.item_factors.local import TasteFactors
from models_engine.inference.item_factors.nodes import build_factor_shards
from models_engine.inference.pairwise_gp.inducing import build_item_prior
from models_engine.inference.pairwise_gp.kernel_choice import choose_kernel, kernel_candidates
from models_engine.inference.pairwise_gp.model import GammaPrior, PairFactors
from models_engine.inference.probit_ep.learned_cuts import starting_cuts
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.inference.probit_ep.site_updates import Sites
from models_engine.inference.tastes.reliability import CLEAR, KNOTS, MIDDLE, Reliabilities, summarise_evidence
from models_engine.kernels import ItemKernel
from models_engine.linalg import leading_eigenvectors, sum_by_group

__all__ = ["Answers", "LargeLearning", "LargePrior", "PriorTaste"]

Floats = NDArray[np.float64]
MAX_COMPONENTS = 10
N_POINTS = 300  # inducing points of the features
N_TASTE_DIRECTIONS = 16  # of the features' kernel, in a taste; what they leave counts as a person's alone
SIZE_SWEEPS, AGAIN_SWEEPS, COMPONENT_SWEEPS, LAST_COMPONENT_SWEEPS = 12, 4, 14, 6
PRUNED_FROM = 4  # sweep from which components no larger than what is open about them are dropped
MIN_SHARE = 0.01  # of the learned components: with less they are left out
MAX_LEFT_OUT, MAX_LEFT_OUT_LABELS = 400, 20_000
SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
MAX_SHAPE = 0.98  # share of a taste's variance that components explain, at most
STEEPNESS = np.exp(np.linspace(np.log(0.1), np.log(3.0), 8))
STEEPNESS_SD = 0.7


@dataclass(frozen=True, eq=False)
class Answers:
    """How annotators answer, (n_annotators,) each, see CrowdPrior."""

    steepness: Floats | None = None
    lapse: Floats | None = None
    cuts: Floats | None = None
    side: None = None  # not inferred for so many items


@dataclass(frozen=True, eq=False)
class PriorTaste:
    """A taste of no learned shape and unit variance: directions of the kernel (n_items, q), and the rest (n_items,)."""

    loadings: Floats
    rest: Floats

    @classmethod
    def of(cls, unit: ItemCovariance) -> "PriorTaste":
        count = min(N_TASTE_DIRECTIONS, unit.reach.shape[1])
        if not count:
            return cls(np.zeros((len(unit.rest), 0)), unit.rest)
        _, directions = leading_eigenvectors(unit.reach.T @ unit.reach, count)
        loadings = unit.reach @ directions
        whole = (unit.reach**2).sum(axis=1) + unit.rest
        return cls(loadings, np.maximum(whole - (loadings**2).sum(axis=1), MIN_REST))

    def mixed(self, found: Components, share: float, variance: float) -> TasteFactors:
        """Return `share` of the components' variances, and this with that variance."""
        loadings = np.hstack([np.sqrt(share) * found.loadings, np.sqrt(variance) * self.loadings])
        return TasteFactors(loadings, variance * self.rest, share * found.open)


@dataclass(frozen=True, eq=False)
class LargePrior:
    """What was learned before the last sweeps: kernel, unit covariance and prior taste; the variance of the consensus;
    components, and tastes mixed from them; how people answer; sites to begin from."""

    kernel: ItemKernel
    unit: ItemCovariance
    taste: PriorTaste
    variance: float
    own: float
    components: Components
    share: float
    answers: Answers
    reliability: Reliabilities | None

    @property
    def n_told(self) -> int:
        """Return how many components are more than noise."""
        return self.components.count if self.share > MIN_SHARE else 0

    @property
    def mixed(self) -> TasteFactors:
        return self.mixed_with(self.components, self.share)

    def mixed_with(self, found: Components, share: float) -> TasteFactors:
        """Return tastes of the size known, of which the components explain this share of what they can."""
        rest = max(self.own - share * found.size, (1 - MAX_SHAPE) * self.own)
        return self.taste.mixed(found, share, rest)


@dataclass(frozen=True, eq=False)
class LargeLearning:
    """Learning stages of one fit."""

    settings: Settings
    data: Comparisons
    sites: PairSites
    rng: np.random.Generator
    steps: Steps

    def features(self) -> Floats | None:
        features = self.data.item_features
        return features if self.settings.features and features is not None and features.shape[1] else None

    def kernel(self) -> ItemKernel:
        """Choose the kernel of the item features by the bound of GPPL, through inducing points."""
        features = self.features()
        if features is None or not np.ptp(features, axis=0).any():
            return ItemKernel(None, self.data.n_items)
        kernel = ItemKernel(features, self.data.n_items)
        tried = [one for one in kernel_candidates(None, None) if one[0] > 0]
        pairs = PairFactors.of(self.data.pairs())
        return choose_kernel(pairs, kernel, tried, GammaPrior(2.0, 2.0), self.steps.report, exact=False)

    def unit(self, kernel: ItemKernel) -> ItemCovariance:
        if kernel.is_identity:
            return ItemCovariance.independent(self.data.n_items)
        prior = build_item_prior(kernel, min(N_POINTS, self.data.n_items - 1), self.rng)
        reach = np.zeros((self.data.n_items, 0)) if prior.reach is None else prior.reach
        return ItemCovariance(reach @ np.linalg.cholesky(prior.kernel), np.maximum(prior.rest, MIN_REST))

    def ep(self, sites: PairSites, prior: LargePrior, tastes: TasteFactors) -> FactorEP:
        shards = build_factor_shards(sites)
        executor = active_executor().suited(100.0 * len(sites) * max(1, tastes.loadings.shape[1]))
        found = FactorEP(shards, prior.unit, tastes, prior.variance, executor, self.steps.check)
        found.answer_by(prior.answers)
        return found

    def start(self, kernel: ItemKernel) -> LargePrior:
        """Return what is believed before any answer."""
        settings = self.settings
        unit, n = self.unit(kernel), self.data.n_items
        none = Components(np.zeros((n, 0)), np.zeros(0), np.zeros(n))
        cuts = None if self.sites.grade is None else self.first_cuts()
        variances = settings.consensus_sd**2, settings.taste_sd**2
        return LargePrior(kernel, unit, PriorTaste.of(unit), *variances, none, 0.0, Answers(cuts=cuts), None)

    def first_cuts(self) -> Floats:
        variance = 2 * (self.settings.consensus_sd**2 + self.settings.taste_sd**2)
        return starting_cuts(self.sites, self.data.n_grades, variance)

    def learn(self) -> tuple[LargePrior, FactorEP]:
        """Return what was learned, and EP of all annotators, which stands where it was last."""
        prior = self.start(self.kernel())
        ep = self.ep(self.sites, prior, prior.mixed)
        prior = self.sized(ep, prior, SIZE_SWEEPS)
        prior = self.with_reliabilities(ep, prior)
        prior = self.with_steepness(ep, prior)
        if prior.answers.lapse is not None or prior.answers.steepness is not None:
            prior = self.sized(ep, prior, AGAIN_SWEEPS)
        judged = np.unique(self.sites.annotator)
        if self.settings.covariance == "prior" or len(judged) < MIN_ANNOTATORS:
            return prior, ep
        found = self.shaped(ep, prior, judged)
        if not found.components.count:
            found = self.placed(ep, found)
        elif found.answers.lapse is not None:
            found = self.with_reliabilities(ep, found)
        return found, ep

    def sized(self, ep: FactorEP, prior: LargePrior, n_sweeps: int) -> LargePrior:
        """Learn the sizes of consensus and tastes, the latter without a shape."""
        size = OwnSize(prior.own)
        settings = self.settings
        for sweep in range(n_sweeps):
            self.sweep(ep, measure=sweep in (0, 1, 3) or sweep % 6 == 5)
            scale = 1.0
            if sweep >= 2 and settings.log_scale_sd > 0:
                statistics, _ = taste_statistics(ep)
                size = size.improved(statistics, settings.taste_sd, settings.log_scale_sd)
                ep.variance = consensus_variance(ep, settings.consensus_sd, settings.log_scale_sd)
                prior, before = replace(prior, own=size.variance), ep.tastes
                ep.tastes = prior.mixed
                scale = answer_scale(before, ep.tastes)
            prior = self.with_cuts(ep, prior)
            ep.move(scale)
        return replace(prior, variance=ep.variance)

    def sweep(self, ep: FactorEP, *, measure: bool) -> None:
        self.steps.report(-ep.sweep(measure=measure))

    def with_cuts(self, ep: FactorEP, prior: LargePrior) -> LargePrior:
        """Take a step of the cut points of graded answers."""
        if prior.answers.cuts is None:
            return prior
        cuts = improved_cuts(prior.answers.cuts, ep.cut_scores())
        prior = replace(prior, answers=replace(prior.answers, cuts=cuts))
        ep.answer_by(prior.answers)
        return prior

    def shaped(self, ep: FactorEP, prior: LargePrior, judged: NDArray) -> LargePrior:
        """Learn components without some annotators, weigh them by the evidence of these, learn them from everybody."""
        left = self._left_out(judged)
        out = np.isin(self.sites.annotator, left)
        few = self.ep(self.sites.select(np.flatnonzero(~out)), prior, prior.mixed)
        known = ep.gather_sites(len(self.sites))
        few.begin(Sites(known.precision[~out], known.shift[~out]))
        few.moments = ep.moments
        self.sweep(few, measure=False)
        count = min(self.settings.n_components, MAX_COMPONENTS, self.data.n_items - 1)
        found = first_components(few, count, prior.own)
        few.move()
        found = self.improved(few, prior, found, COMPONENT_SWEEPS, pruned_from=PRUNED_FROM)
        if not found.count:
            return prior
        others = self.ep(self.sites.select(np.flatnonzero(out)), prior, prior.mixed)
        others.moments = few.moments
        share = self._share(others, prior, found)
        del others
        if share <= MIN_SHARE:
            return prior
        ep.variance = few.variance
        found = self.improved(ep, prior, found, LAST_COMPONENT_SWEEPS, pruned_from=LAST_COMPONENT_SWEEPS)
        prior = replace(prior, components=found, share=share, variance=ep.variance)
        ep.tastes = prior.mixed
        return prior

    def placed(self, ep: FactorEP, prior: LargePrior) -> LargePrior:
        """Where no component is more than noise, give MIN_SHARE of tastes to the direction in which people differ most.

        So everybody has a place along something, as with a matrix over items, while predictions stay what they are.
        """
        self.sweep(ep, measure=False)
        found = first_components(ep, 1, prior.own).within(MAX_SHAPE * prior.own)
        ep.move()
        return replace(prior, components=found, share=MIN_SHARE) if found.count else prior

    def _left_out(self, judged: NDArray) -> NDArray:
        order = self.rng.permutation(judged)[: min(MAX_LEFT_OUT, max(1, len(judged) // 4))]
        counts = np.bincount(self.sites.annotator, minlength=self.sites.n_annotators)[order]
        return order[: max(1, int((np.cumsum(counts) <= MAX_LEFT_OUT_LABELS).sum()))]

    def improved(
        self, ep: FactorEP, prior: LargePrior, found: Components, n_sweeps: int, *, pruned_from: int
    ) -> Components:
        """Learn components, with the size of the consensus; the size of tastes stays."""
        settings = self.settings
        for sweep in range(n_sweeps):
            found = found.within(MAX_SHAPE * prior.own)
            ep.tastes = prior.mixed_with(found, 1.0)
            self.sweep(ep, measure=sweep % 6 == 1)
            statistics, second = taste_statistics(ep)
            found = improve_components(ep, found, statistics, second, prune=sweep >= pruned_from)
            if sweep >= 1 and settings.log_scale_sd > 0:
                ep.variance = consensus_variance(ep, settings.consensus_sd, settings.log_scale_sd)
            ep.move()
            if not found.count:
                break
        return found.within(MAX_SHAPE * prior.own)

    def _share(self, others: FactorEP, prior: LargePrior, found: Components) -> float:
        """Return how much of what components explain is trusted: the mean over SHARES, weighted by the evidence of
        annotators who had no part in learning them."""
        sites, total = others.sites, np.zeros(len(SHARES))
        for place, share in enumerate(SHARES):
            evidence, sites = others.evidence(sites, prior.mixed_with(found, share), prior.answers)
            total[place] = evidence.sum()
            self.steps.report(float(evidence.sum()))
        return float(np.asarray(SHARES) @ softmax(total))

    def with_reliabilities(self, ep: FactorEP, prior: LargePrior) -> LargePrior:
        """Infer reliabilities from each annotator's evidence at KNOTS, as learn_reliabilities does."""
        judged = np.bincount(self.sites.annotator, minlength=self.sites.n_annotators) > 0
        if not self.settings.reliability or judged.sum() < MIN_ANNOTATORS or self.sites.ranking is not None:
            return prior
        n = self.sites.n_annotators
        evidence = np.zeros((len(KNOTS), n))

        def compute(known: FactorEP, rows: Iterable[int], start: Kept) -> Kept:
            who = np.concatenate([shard.annotators for shard in known.shards])
            for row in rows:
                answers = replace(prior.answers, lapse=np.full(n, float(expit(-KNOTS[row]))))
                evidence[row, who], start = known.evidence(start, prior.mixed, answers)
                self.steps.report(float(evidence[row].sum()))
            return start

        middle = compute(ep, reversed(range(MIDDLE.stop, len(KNOTS))), ep.sites)
        compute(ep, range(MIDDLE.start), middle)
        ends = evidence[[MIDDLE.start - 1, MIDDLE.stop]]
        unclear = judged & (ends.max(axis=0) > np.delete(evidence, np.r_[MIDDLE], axis=0).max(axis=0) - CLEAR)
        share = ((KNOTS[MIDDLE] - KNOTS[MIDDLE.start - 1]) / (KNOTS[MIDDLE.stop] - KNOTS[MIDDLE.start - 1]))[:, None]
        evidence[MIDDLE] = (1 - share) * ends[0] + share * ends[1]
        rows = np.flatnonzero(unclear[self.sites.annotator])
        if len(rows):
            some = self.ep(self.sites.select(rows), prior, prior.mixed)
            some.moments = ep.moments
            compute(some, reversed(range(MIDDLE.start, MIDDLE.stop)), some.sites)
        found = summarise_evidence(evidence, judged)
        lapse = found.lapse if found.lapse.any() else None
        prior = replace(prior, reliability=found, answers=replace(prior.answers, lapse=lapse))
        ep.answer_by(prior.answers)
        return prior

    def with_steepness(self, ep: FactorEP, prior: LargePrior) -> LargePrior:
        """Infer how steep each annotator's answers are, as learn_steepness does."""
        if not self.settings.steepness:
            return prior
        n, start = self.sites.n_annotators, ep.sites
        log_weight = np.zeros((len(STEEPNESS), n))
        who = np.concatenate([shard.annotators for shard in ep.shards]) if ep.shards else np.zeros(0, np.int64)
        for row, value in enumerate(STEEPNESS):
            answers = replace(prior.answers, steepness=np.full(n, float(value)))
            evidence, start = ep.evidence(start, prior.mixed, answers)
            log_weight[row, who] = evidence - (np.log(value) / STEEPNESS_SD) ** 2 / 2
            self.steps.report(float(evidence.sum()))
        steepness = np.exp(np.log(STEEPNESS) @ softmax(log_weight, axis=0))
        steepness[sum_by_group(self.sites.annotator, np.ones(len(self.sites)), n) == 0] = 1.0
        prior = replace(prior, answers=replace(prior.answers, steepness=steepness))
        ep.answer_by(prior.answers)
        return prior
