"""What a CollaborativeGP fit learns first: scales, the shape of tastes, and how far to trust that shape."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.data import Comparisons
from models_engine.estimators.collaborative_posterior import Tastes
from models_engine.estimators.collaborative_steps import CHEAP, Settings, Steps, cost_of, is_cheap, n_folds
from models_engine.inference.annotator_blocks import Block, blocks_of
from models_engine.inference.batched_ep import CrowdPrior, Sites
from models_engine.inference.pair_sites import PairSites, capped_rows
from models_engine.inference.taste_covariance import learn_taste
from models_engine.inference.taste_scales import (
    PriorScales,
    ScalePriors,
    Weighed,
    left_out_weights,
    most_probable_scales,
    sample_of,
)
from models_engine.kernels import ItemKernel

__all__ = ["CANDIDATES", "Begin", "Learned", "Learning", "Shape"]

Floats = NDArray[np.float64]
FULL_ITEMS = 300  # up to here "auto" learns a full taste covariance; past it a low-rank one
SHAPE_FACTORS = (0.0, 0.08, 0.2, 0.4, 0.7, 1.0, 1.4)
PRIOR_FACTORS = (0.02, 0.25, 0.6, 1.2)
CANDIDATES = tuple((a, r) for a in SHAPE_FACTORS for r in PRIOR_FACTORS)
LEARNING_PAIRS = 100  # of each annotator, from which a large fit learns the shape of tastes
REUSE = 0.9  # a start lends its scales where it saw at least this share of the labels


@dataclass(frozen=True, eq=False)
class Begin:
    """Where EP may begin: sites and the mean of the consensus."""

    sites: Sites
    mean: Floats

    def among(self, rows: NDArray[np.int64], n_sites: int) -> "Begin":
        """The same for n_sites sites of which these are `rows`; the others begin at nothing."""
        sites = Sites.empty(n_sites)
        sites.precision[rows], sites.shift[rows] = self.sites.precision, self.sites.shift
        return Begin(sites, self.mean)


@dataclass(frozen=True, eq=False)
class Shape:
    """A taste covariance (n_items, n_items) as learned, and where its sites ended, if it had any."""

    taste: Floats
    end: Begin | None


@dataclass(frozen=True, eq=False)
class Learned:
    """Scales and kernel, the shape of Sigma with the weights of its mixtures, and how many sites it came from.

    begin: where EP over all sites may begin.
    """

    scales: PriorScales
    shape: Floats
    mixture: Weighed
    n_sites: int
    begin: Begin | None


@dataclass(frozen=True, eq=False)
class Learning:
    """The learning stages of one fit."""

    settings: Settings
    data: Comparisons
    sites: PairSites
    blocks: list[Block]
    rng: np.random.Generator
    steps: Steps

    def features(self) -> Floats | None:
        features = self.data.item_features
        return features if self.settings.features and features is not None and features.shape[1] else None

    def prior(self, scales: PriorScales) -> CrowdPrior:
        kernel = ItemKernel(self.features(), self.data.n_items, scales.share, scales.length).matrix()
        zero = np.zeros(self.data.n_items)
        return CrowdPrior(scales.taste_sd**2 * kernel, scales.consensus_sd**2 * kernel, zero)

    def learn(self) -> Learned:
        """Scales by evidence, then the shape of Sigma, then how to mix it with its prior."""
        settings = self.settings
        priors = ScalePriors(settings.consensus_sd, settings.taste_sd, settings.log_scale_sd)
        if settings.log_scale_sd > 0 and len(self.sites):
            scales = most_probable_scales(self.sites, self.features(), priors, self.rng, self.steps.tick)
        else:
            scales = PriorScales(settings.consensus_sd, settings.taste_sd, 0.5 if self.features() is not None else 0.0)
        prior = self.prior(scales)
        folds = n_folds(self.sites, self.blocks)
        if settings.covariance == "prior" or not folds:
            return Learned(scales, prior.taste, Weighed(((0.0, 1.0),), np.ones(1)), len(self.sites), None)
        cheap = is_cheap(self.sites, self.blocks)
        rows = capped_rows(self.sites, None if cheap else LEARNING_PAIRS, self.rng)
        learning = self.sites.select(rows)
        shapes, left_out = self._folds(learning, prior, folds)
        mixture = left_out_weights(left_out, CANDIDATES, self.steps.tick)
        average = np.mean([one.taste for one in shapes], axis=0)
        blocks = self.blocks if len(learning) == len(self.sites) else blocks_of(learning)
        shape = self.shape(learning, blocks, prior, average, shapes[-1].end, again=True)
        end = None if shape.end is None else shape.end.among(rows, len(self.sites))
        return Learned(scales, shape.taste, mixture, len(self.sites), end)

    def _folds(
        self, learning: PairSites, prior: CrowdPrior, folds: int
    ) -> tuple[list[Shape], list[tuple[PairSites, CrowdPrior, Floats]]]:
        """Shapes learned without each group of annotators, and what `left_out_weights` needs of that group."""
        annotators = self.rng.permutation(np.unique(self.sites.annotator))
        groups = np.array_split(annotators, folds) if folds > 1 else [annotators[: min(400, len(annotators) // 4)]]
        shapes, left_out = [], []
        for group in groups:
            out = np.isin(self.sites.annotator, group)
            rows = np.flatnonzero(~np.isin(learning.annotator, group))
            others = learning.select(rows)
            shape = self.shape(others, blocks_of(others), prior, None, None, again=False)
            end = None if shape.end is None else shape.end.among(rows, len(learning))
            shapes.append(Shape(shape.taste, end))
            few, items = sample_of(self.sites.select(np.flatnonzero(out)), self.rng)
            among = np.ix_(items, items)
            consensus = None if prior.consensus is None else prior.consensus[among]
            left_out.append((few, CrowdPrior(prior.taste[among], consensus, prior.mean[items]), shape.taste[among]))
        return shapes, left_out

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
        """The shape of Sigma learned from these sites, beginning with `taste` and `begin` where given.

        again: whether it is the last time, from everybody and from what was learned without each group.
        """
        kind = self.settings.covariance
        full = kind == "full" or (kind == "auto" and self.data.n_items <= FULL_ITEMS)
        affordable = max(4 if again else 6, int(90 * CHEAP / cost_of(sites, blocks)))
        learned = learn_taste(
            sites,
            blocks,
            prior,
            self.settings.pseudo_annotators,
            rank=None if full else self.settings.n_components,
            begin=taste,
            start=None if begin is None else begin.sites,
            at=None if begin is None else begin.mean,
            max_steps=min(self.settings.max_steps, affordable),
            growth=1.3 if affordable >= 20 else 1.8,
            on_step=self.steps.record if again else self.steps.tick,
        )
        return Shape(learned.taste, Begin(learned.result.update, learned.result.mean))

    def lent(self, before: Tastes) -> Learned | None:
        """What an earlier fit learned, where it had the same items and features and nearly as many labels."""
        if len(before.mean) != self.data.n_items:
            return None
        features = self.features()
        same = before.features.shape[1] == 0 if features is None else np.array_equal(before.features, features)
        if not same or not REUSE * len(self.sites) <= before.n_learned <= len(self.sites) / REUSE:
            return None
        scales = PriorScales(*(float(value) for value in before.scales))
        return Learned(scales, before.learned, before.mixture, int(before.n_learned), None)
