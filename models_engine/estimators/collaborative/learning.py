"""The first stages of a CollaborativeGP fit: scales, the shape of tastes, and the weight of that shape."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.data import Comparisons
from models_engine.estimators.collaborative.learned import EPStart, LearnedPrior, LearnedShape
from models_engine.estimators.collaborative.posterior import CollaborativePosterior, Tastes
from models_engine.estimators.collaborative.sampled import (
    ConsensusFactors,
    Widening,
    answer_groups,
    count_sweeps,
    is_sampled,
    scale_densities,
    taste_sizes,
    told_taste,
)
from models_engine.estimators.collaborative.steps import (
    MAX_CHEAP_COST,
    MIN_ANNOTATORS,
    Settings,
    Steps,
    count_folds,
    estimate_cost,
    is_cheap,
)
from models_engine.inference.graded.cut_points import cuts_from_gaps
from models_engine.inference.probit_ep.annotator_blocks import Block, build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, warm_start
from models_engine.inference.probit_ep.learned_cuts import root_of_deviations, root_of_draws, starting_cuts
from models_engine.inference.probit_ep.pair_sites import PairSites, choose_capped_rows, sided_labels
from models_engine.inference.tastes.covariance import learn_taste
from models_engine.inference.tastes.part_scales import has_part_scales
from models_engine.inference.tastes.reliability import Reliabilities, learn_reliabilities
from models_engine.inference.tastes.sampling import ScaleDensities, sample_tastes
from models_engine.inference.tastes.scales import (
    LeftOut,
    MixtureWeights,
    PriorScales,
    ScalePriors,
    left_out_weights,
    most_probable_scales,
    sites_among,
    subsample_sites,
)
from models_engine.inference.tastes.sides import SideBiases, learn_sides
from models_engine.kernels import ItemKernel

__all__ = ["CANDIDATES", "TasteLearning"]

Floats = NDArray[np.float64]
MAX_FULL_ITEMS = 300  # up to here "auto" learns a full taste covariance; above it a low-rank one
SHAPE_FACTORS = (0.0, 0.08, 0.2, 0.4, 0.7, 1.0, 1.4)
PRIOR_FACTORS = (0.02, 0.25, 0.6, 1.2)
CANDIDATES = tuple((a, r) for a in SHAPE_FACTORS for r in PRIOR_FACTORS)
MAX_LEARNING_PAIRS = 100  # of each annotator, from which a large fit learns the shape of tastes
MIN_SHAPE = 0.01  # of a learned shape's weight: with less it is as well left out, and not learned from all labels
MAX_FEW_PEOPLE = 60  # of more, the labels tell the consensus from tastes, whatever its prior
OPEN = 100.0  # times as large is the variance of the consensus while their Sigma is learned
MAX_DRAWN = 6  # components, where shape and scales are drawn
MIN_SHARED_LABELS = 0.9  # scales of an earlier fit are reused where it saw at least this share of the labels


@dataclass(frozen=True, eq=False)
class TasteLearning:
    """Learning stages of one fit."""

    settings: Settings
    data: Comparisons
    sites: PairSites
    blocks: list[Block]
    rng: np.random.Generator
    steps: Steps

    def features(self) -> Floats | None:
        features = self.data.item_features
        return features if self.settings.features and features is not None and features.shape[1] else None

    @property
    def few_people(self) -> bool:
        """Return whether labels are of so few people that it is open what is consensus and what is taste."""
        return len(np.unique(self.sites.annotator)) <= MAX_FEW_PEOPLE and is_cheap(self.sites, self.blocks)

    def learns_reliability(self) -> bool:
        """Return whether annotators may turn out unreliable: of fewer than four, none can be told from the others.

        Of rankings only draws know: they reverse a ranking as a whole, the evidence each of its neighbours by itself.
        """
        if not self.settings.reliability or len(np.unique(self.sites.annotator)) < MIN_ANNOTATORS:
            return False
        return self.sites.ranking is None or is_sampled(self.settings, self.data)

    def learns_part_scales(self) -> bool:
        """Return whether each unconnected part has a scale: where scales are drawn, and no features relate items."""
        if not self.settings.part_scales or self.features() is not None or not is_sampled(self.settings, self.data):
            return False
        return has_part_scales(self.data.connected_parts())

    def prior(self, scales: PriorScales, lapse: Floats | None, side: Floats | None = None) -> CrowdPrior:
        kernel = ItemKernel(self.features(), self.data.n_items, scales.share, scales.length).matrix()
        zero = np.zeros(self.data.n_items)
        covariances = scales.taste_sd**2 * kernel, scales.consensus(kernel)
        return CrowdPrior(*covariances, zero, lapse=lapse, cuts=scales.cut_points, side=side)

    def first_cuts(self) -> Floats | None:
        """Return where cut points of graded answers start; None where grades do not count."""
        if self.sites.grade is None:
            return None
        variance = 2 * (self.settings.consensus_sd**2 + self.settings.taste_sd**2)
        return starting_cuts(self.sites, self.data.n_grades, variance)

    def learn(self) -> LearnedPrior:
        """Learn scales and shape of Sigma: sampled jointly if affordable, otherwise `estimated`."""
        return self.drawn() if is_sampled(self.settings, self.data) else self.estimated()

    def drawn(self) -> LearnedPrior:
        """Sample the posterior of consensus, components, scores and scales; Sigma is their mean, see `told_taste`."""
        features, settings = self.features(), self.settings
        scales, kernel = PriorScales(settings.consensus_sd, settings.taste_sd), None
        reliable = self.learns_reliability()
        if features is not None:
            scales = self.scales(Reliabilities.prior(self.sites.n_annotators).lapse if reliable else None)
            kernel = ItemKernel(features, self.data.n_items, scales.share, scales.length).matrix()
        n_warm_up, n_draws = count_sweeps(self.data)
        sampled = sample_tastes(
            answer_groups(
                self.data, graded=self.sites.grade is not None, sided=sided_labels(self.data, side=self.settings.side)
            ),
            self.data.n_items,
            self.data.n_annotators,
            self.n_drawn,
            self.densities(),
            self.rng,
            parts=self.data.connected_parts(),
            part_scales=self.learns_part_scales(),
            kernel=kernel,
            reliability=reliable,
            n_grades=0 if self.sites.grade is None else self.data.n_grades,
            n_warm_up=n_warm_up,
            n_draws=n_draws,
            on_step=self.steps.report,
        )
        size = float(np.sqrt(np.trace(sampled.taste) / self.data.n_items))
        gaps = sampled.log_gaps
        cuts = None if gaps is None else tuple(cuts_from_gaps(gaps.mean(axis=0)).tolist())
        scales = PriorScales(sampled.consensus_sd, size, scales.share, scales.length, cuts, sampled.item_sds)
        mixture = taste_sizes(sampled)
        return LearnedPrior(
            scales,
            sampled.taste if kernel is not None else told_taste(sampled),
            mixture,
            len(self.sites),
            None,
            sampled,
            reliability=sampled.reliabilities() if reliable else None,
            cut_root=None if gaps is None else root_of_draws(gaps),
            sides=sampled.sides,
        )

    @property
    def n_drawn(self) -> int:
        """Return how many components of taste are drawn."""
        return min(self.settings.n_components, MAX_DRAWN, max(1, self.data.n_items - 1))

    def densities(self) -> ScaleDensities:
        """Return the prior densities of the sampled standard deviations."""
        return scale_densities(self.settings, self.n_drawn)

    def scales(self, lapse: Floats | None, side: Floats | None = None, near: PriorScales | None = None) -> PriorScales:
        settings = self.settings
        priors = ScalePriors(settings.consensus_sd, settings.taste_sd, settings.log_scale_sd)
        return most_probable_scales(
            self.sites, self.features(), priors, self.rng, self.steps.report, lapse, self.first_cuts(), side, near
        )

    def estimated(self) -> LearnedPrior:
        """Estimate scales by evidence, then the shape of Sigma by EM, then its mixture with the prior.

        Reliabilities are first those with tastes of no shape, which cannot explain why somebody opposes all others.
        Where some are careless by these, reliabilities, and then scales and reliabilities, are found again without
        them; until the last time, only those whose answers speak for carelessness are looked at again.
        """
        scales, folds = self._first_scales(None), count_folds(self.sites, self.blocks)
        learns_shape = self.settings.covariance != "prior" and folds > 0
        rows, learning, blocks = self._capped()
        sides, begin = self._first_sides(scales, learning, blocks)
        side = None if sides is None else sides.mean
        reliability, begin = self._first_reliabilities(scales, learning, blocks, side, begin)
        if reliability is not None and reliability.lapse.any():
            scales = self._first_scales(reliability.lapse, side, scales)
            again = self.prior(scales, reliability.lapse, side)
            start, at = warm_start(begin)
            before = reliability if learns_shape else None
            reliability, begin = learn_reliabilities(
                learning, blocks, again, self.steps.report, before=before, start=start, at=at
            )
        prior = self.prior(scales, None if reliability is None else reliability.lapse, side)
        if not learns_shape:
            only = MixtureWeights(((0.0, 1.0),), np.ones(1))
            return LearnedPrior(scales, prior.taste, only, len(self.sites), None, reliability=reliability, sides=sides)
        shapes, left_out = self._folds(learning, prior, folds, begin)
        mixture = left_out_weights(left_out, CANDIDATES, self.steps.report)
        average = np.mean([one.taste for one in shapes], axis=0)
        if mixture.mean()[0] < MIN_SHAPE and not is_cheap(self.sites, self.blocks):
            shape = LearnedShape(average, None if begin is None else EPStart(begin.update, begin.mean))
            mixture = mixture.without_shape()
        else:
            shape = self.shape(learning, blocks, prior, average, shapes[-1].end, again=True)
        end = None if shape.end is None else shape.end.expand_to(rows, len(self.sites))
        if reliability is not None:
            a, r = mixture.mean()
            crowd = prior.changed(taste=a * shape.taste + r * prior.taste)
            last = (None, None) if shape.end is None else (shape.end.sites, shape.end.mean)
            reliability, _ = learn_reliabilities(learning, blocks, crowd, self.steps.report, start=last[0], at=last[1])
        return LearnedPrior(scales, shape.taste, mixture, len(self.sites), end, reliability=reliability, sides=sides)

    def _first_scales(
        self, lapse: Floats | None, side: Floats | None = None, near: PriorScales | None = None
    ) -> PriorScales:
        settings = self.settings
        if settings.log_scale_sd > 0 and len(self.sites):
            return self.scales(lapse, side, near)
        cuts = self.first_cuts()
        known = None if cuts is None else tuple(cuts.tolist())
        share = 0.5 if self.features() is not None else 0.0
        return PriorScales(settings.consensus_sd, settings.taste_sd, share, cuts=known)

    def _capped(self) -> tuple[NDArray[np.int64], PairSites, list[Block]]:
        """Return the sites that a large fit learns from: their rows, themselves and their blocks."""
        cheap = is_cheap(self.sites, self.blocks)
        rows = choose_capped_rows(self.sites, None if cheap else MAX_LEARNING_PAIRS, self.rng)
        if len(rows) == len(self.sites):
            return rows, self.sites, self.blocks
        learning = self.sites.select(rows)
        return rows, learning, build_blocks(learning)

    def _first_sides(
        self, scales: PriorScales, learning: PairSites, blocks: list[Block]
    ) -> tuple[SideBiases | None, EPResult | None]:
        """Return side biases with everybody reliable: whoever answers by the side alone would count as careless."""
        if learning.side is None:
            return None, None
        return learn_sides(learning, blocks, self.prior(scales, None), self.steps.report)

    def _first_reliabilities(
        self,
        scales: PriorScales,
        learning: PairSites,
        blocks: list[Block],
        side: Floats | None,
        begin: EPResult | None,
    ) -> tuple[Reliabilities | None, EPResult | None]:
        if not self.learns_reliability():
            return None, begin
        found, lapse = None, None
        for _ in range(2):
            start, at = warm_start(begin)
            prior = self.prior(scales, lapse, side)
            found, begin = learn_reliabilities(
                learning, blocks, prior, self.steps.report, before=found, start=start, at=at
            )
            lapse = found.lapse
            if not lapse.any():
                break
        return found, begin

    def _folds(
        self, learning: PairSites, prior: CrowdPrior, folds: int, begin: EPResult | None
    ) -> tuple[list[LearnedShape], list[LeftOut]]:
        """Learn shapes without each group of annotators; return them with the arguments of `left_out_weights`."""
        annotators = self.rng.permutation(np.unique(self.sites.annotator))
        groups = np.array_split(annotators, folds) if folds > 1 else [annotators[: min(400, len(annotators) // 4)]]
        shapes, left_out = [], []
        for group in groups:
            out = np.isin(self.sites.annotator, group)
            rows = np.flatnonzero(~np.isin(learning.annotator, group))
            others = learning.select(rows)
            start = None if begin is None else EPStart(begin.update, begin.mean).select(rows)
            shape = self.shape(others, build_blocks(others), prior, None, start, again=False)
            end = None if shape.end is None else shape.end.expand_to(rows, len(learning))
            shapes.append(LearnedShape(shape.taste, end))
            own, items = subsample_sites(self.sites.select(np.flatnonzero(out)), self.rng)
            rest = sites_among(self.sites.select(np.flatnonzero(~out)), items) if self.few_people else None
            left_out.append(LeftOut(own, prior.among(items), shape.taste[np.ix_(items, items)], rest))
        return shapes, left_out

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
        """Learn the shape of Sigma from these sites, starting with `taste` and `begin` where given.

        Of few people with a consensus that is free, as restricted maximum likelihood has it (Patterson & Thompson
        1971): their tastes are then what they differ in. Under its prior, which is alike in every direction, a Sigma
        that is large along what all of them say explains it at less cost, and takes the consensus for tastes.

        again: whether this is the last time, from all annotators, started from what was learned without each group.
        """
        kind = self.settings.covariance
        full = kind == "full" or (kind == "auto" and self.data.n_items <= MAX_FULL_ITEMS)
        affordable = max(4 if again else 6, int(90 * MAX_CHEAP_COST / estimate_cost(sites, blocks)))
        learned = learn_taste(
            sites,
            blocks,
            prior.open_by(OPEN) if self.few_people else prior,
            self.settings.pseudo_annotators,
            rank=None if full else self.settings.n_components,
            begin=taste,
            start=None if begin is None else begin.sites,
            at=None if begin is None else begin.mean,
            max_steps=min(self.settings.max_steps, affordable),
            growth=1.3 if affordable >= 20 else 1.8,
            on_step=self.steps.record if again else self.steps.report,
        )
        return LearnedShape(learned.taste, EPStart(learned.result.update, learned.result.mean))

    def _has_scales_of_its_parts(self, before: Tastes) -> bool:
        """Return whether an earlier fit has one scale for each part of these answers, or has none where none is due."""
        if not self.learns_part_scales() or not len(before.item_sds):
            return self.learns_part_scales() == bool(len(before.item_sds))
        _, first, part = np.unique(self.data.connected_parts(), return_index=True, return_inverse=True)
        return bool((before.item_sds == before.item_sds[first][part]).all())

    def reuse(self, earlier: CollaborativePosterior) -> LearnedPrior | None:
        """Return what an earlier fit learned, if it had the same items, features and kinds of graded answers and nearly
        as many labels."""
        before, likelihood = earlier.tastes, earlier.likelihood
        reliability, sides = earlier.reliabilities(), earlier.sides()
        if (sides is None) != (self.sites.side is None):
            return None
        first, cuts = self.first_cuts(), likelihood.cuts
        if (first is None) != (cuts is None):
            return None
        if first is not None and cuts is not None and (len(first) != len(cuts) or (first[0] > 0) != (cuts[0] > 0)):
            return None
        if len(before.mean) != self.data.n_items or (reliability is None) == self.learns_reliability():
            return None
        if not self._has_scales_of_its_parts(before):
            return None
        features = self.features()
        same = before.features.shape[1] == 0 if features is None else np.array_equal(before.features, features)
        if (
            not same
            or not MIN_SHARED_LABELS * len(self.sites) <= before.n_learned <= len(self.sites) / MIN_SHARED_LABELS
        ):
            return None
        consensus_sd, taste_sd, share, length = (float(value) for value in before.scales)
        item_sds = before.item_sds if len(before.item_sds) else None
        scales = PriorScales(consensus_sd, taste_sd, share, length, cuts, item_sds)
        drawn = is_sampled(self.settings, self.data)
        n_told = int(before.n_told) if drawn else None
        factors = ConsensusFactors(*before.consensus_factors.tolist())
        widening = Widening(before.own_widening, before.difference_widening, before.sign_widening, factors)
        widening = widening.extended(self.sites.n_annotators)
        known = None if reliability is None else reliability.extended(self.sites.n_annotators)
        root = None
        if drawn and cuts is not None and likelihood.cut_sds is not None:
            root = root_of_deviations(np.array(cuts), np.array(likelihood.cut_sds))
        return LearnedPrior(
            scales,
            before.learned,
            before.mixture,
            int(before.n_learned),
            None,
            None,
            widening,
            n_told,
            known,
            root,
            None if sides is None else sides.extended(self.sites.n_annotators),
        )
