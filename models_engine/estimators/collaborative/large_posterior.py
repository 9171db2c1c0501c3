"""The posterior of a CollaborativeGP or CrowdGPPL fit of thousands of items: no matrix over items."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from models_engine.arrays import read_floats
from models_engine.covariance.forms import LowRankCovariance
from models_engine.covariance.own import OwnCovariance
from models_engine.errors import InvalidData, Unsupported
from models_engine.estimators.collaborative.annotators import AnnotatorUtilities
from models_engine.estimators.collaborative.posterior import CollaborativePosterior, PersonalPosterior
from models_engine.inference.item_factors.local import TasteFactors, solve_shard
from models_engine.inference.item_factors.nodes import build_factor_shards
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.inference.probit_ep.site_updates import Sites
from models_engine.linalg import centre
from models_engine.posterior import GaussianPosterior
from models_engine.stored_posteriors import gaussian_fields
from models_engine.validation import check_annotator

__all__ = ["LargePosterior", "LargeTastes", "dense_start"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LargeTastes:
    """Posterior of the annotators' tastes, f_u = t + V w_u + e_u; see TasteFactors and ConsensusMoments.

    taste_loadings V (n_items, q), own, open (n_items,).   mean, rest (n_items,), factor (n_items, r): the consensus.
    annotator, low, high, wins, losses, copies, precision, shift, ranking, grade, steepness: as in Tastes.
    learned (n_items, c), variances (c,): components before they were mixed.   scales (6,): consensus_sd, taste_sd,
    kernel share and length, the share of components, and the sd of what they leave.   n_learned, n_told, features,
    loadings, scores, regression, explained, centre_scale: as in Tastes.
    """

    taste_loadings: Floats
    own: Floats
    open: Floats
    mean: Floats
    factor: Floats
    rest: Floats
    annotator: Ints
    low: Ints
    high: Ints
    wins: Floats
    losses: Floats
    copies: Floats
    precision: Floats
    shift: Floats
    ranking: Ints
    grade: Ints
    steepness: Floats
    scales: Floats
    n_learned: NDArray[np.int64]
    n_told: NDArray[np.int64]
    features: Floats
    loadings: Floats
    scores: Floats
    regression: Floats
    explained: Floats
    centre_scale: Floats

    @property
    def pair_sites(self) -> PairSites:
        columns = (self.annotator, self.low, self.high, self.wins, self.losses, self.copies)
        ranking = self.ranking if len(self.ranking) else None
        grade = self.grade if len(self.grade) else None
        return PairSites(*columns, len(self.mean), len(self.steepness), ranking, grade)

    @property
    def sites(self) -> Sites:
        return Sites(self.precision, self.shift)

    @cached_property
    def factors(self) -> TasteFactors:
        return TasteFactors(self.taste_loadings, self.own, self.open)

    @cached_property
    def open_rest(self) -> Floats:
        """Return what is open about an item beyond `factor`: of the consensus, and of the loadings."""
        return self.rest + self.open

    def own_utilities(self, annotator: int) -> tuple[Floats, OwnCovariance, Floats]:
        """Return mean (n_items,) and covariance of f_u, and the mean of its scores (q,)."""
        mean, rows = self.mean, np.arange(*np.searchsorted(self.annotator, [annotator, annotator + 1]))
        shared = (self.taste_loadings, self.factor, self.open_rest, self.own)
        everything = np.arange(len(mean))
        q = self.taste_loadings.shape[1]
        if not len(rows):
            empty = np.zeros(0, np.int64)
            return mean, OwnCovariance(*shared, np.eye(q), empty, np.zeros((0, 0)), everything), np.zeros(q)
        shard = build_factor_shards(self.pair_sites.select(rows))[0]
        solved = solve_shard(shard, Sites(self.precision[rows], self.shift[rows]), self.factors)
        judged = np.unique(shard.places.item)
        information = shard.places.item_matrix(solved.information)[judged][:, judged].toarray()
        pull = np.bincount(shard.places.item, solved.pull, len(mean))[judged]
        across = self.taste_loadings[judged].T
        scores = solved.scores[0] @ (across @ (pull - information @ mean[judged]))
        found = mean + self.taste_loadings @ scores
        found[judged] += self.own[judged] * (pull - information @ found[judged])
        covariance = OwnCovariance(*shared, solved.scores[0], judged, information, everything)
        return found, covariance, scores

    def utilities(self, items: Ints | None = None) -> Iterator[AnnotatorUtilities]:
        """Do as annotator_utilities, with what is open about the loadings."""
        rows = np.arange(len(self.mean)) if items is None else np.asarray(items, dtype=np.int64)
        consensus = centre(self.mean[rows])
        for annotator in np.unique(self.annotator).tolist():
            mean, covariance, _ = self.own_utilities(annotator)
            own, utilities = covariance.restrict(rows), centre(mean[rows])
            difference, apart = utilities - consensus, own.difference_deviations(self.open)
            sds = covariance.score_deviations()[: self.loadings.shape[1]]
            wrong = ndtr(-np.abs(difference) / np.maximum(apart, 1e-300))
            yield AnnotatorUtilities(annotator, utilities, np.sqrt(own.variances()), difference, apart, sds, wrong)

    def to_arrays(self) -> dict[str, NDArray]:
        return {f"tastes/{one.name}": np.asarray(getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self:
        return cls(**{one.name: np.asarray(arrays[f"tastes/{one.name}"]) for one in fields(cls)})


@dataclass(frozen=True, eq=False)
class LargePosterior(CollaborativePosterior):
    """Posterior of the consensus and, through `tastes`, of each annotator."""

    tastes: LargeTastes = field(kw_only=True)  # type: ignore[assignment]

    @property
    def uses_item_features(self) -> bool:
        """Return False: items never compared have no utility here, see `at`."""
        return False

    def for_annotator(self, annotator: int | None = None, *, features: ArrayLike | None = None) -> PersonalPosterior:
        known, lapse = self.tastes, self.likelihood.lapse
        if features is not None:
            return self._of_large_features(features)
        annotator = check_annotator(annotator)
        if annotator is None or annotator >= len(known.steepness):
            spread = LowRankCovariance(np.hstack([known.factor, known.taste_loadings]), known.open_rest + known.own)
            return self._own(known.mean, spread, 1.0, lapse)
        mean, covariance, _ = known.own_utilities(annotator)
        if self.lapses is not None:
            lapse = float(self.lapses[annotator])
        return self._own(mean, covariance, float(known.steepness[annotator]), lapse)

    def _of_large_features(self, features: ArrayLike) -> PersonalPosterior:
        known, x = self.tastes, read_floats(features, "features")
        centres, scales = known.centre_scale
        if x.shape != centres.shape or not np.isfinite(x).all():
            raise InvalidData(
                f"annotator features have shape {x.shape}; give {len(centres)} finite numbers, as many as in the fit."
            )
        scores = ((x - centres) / scales) @ known.regression
        width = known.taste_loadings.shape[1] - len(known.explained)
        kept = np.sqrt(1 - np.append(known.explained, np.zeros(width)))
        spread = LowRankCovariance(np.hstack([known.factor, known.taste_loadings * kept]), known.open_rest + known.own)
        return self._own(known.mean + known.loadings @ scores, spread, 1.0, self.likelihood.lapse)

    def _own(
        self, mean: Floats, spread: LowRankCovariance | OwnCovariance, steepness: float, lapse: float
    ) -> PersonalPosterior:
        likelihood = type(self.likelihood)(**{**vars(self.likelihood), "lapse": lapse})
        return PersonalPosterior(
            centre(mean), spread, self.diagnostics, likelihood, annotators=self.annotators, steepness=steepness
        )

    def at(self, item_features: ArrayLike) -> GaussianPosterior:
        raise Unsupported(
            "a fit without a matrix over items does not rank items that were never compared; fit GPPL with "
            "item_features instead."
        )

    def to_arrays(self) -> dict[str, NDArray]:
        return GaussianPosterior.to_arrays(self) | self.tastes.to_arrays() | {"form": np.array(type(self).__name__)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self:
        return cls(**gaussian_fields(arrays), tastes=LargeTastes.from_arrays(arrays))


def dense_start(start: object) -> CollaborativePosterior | None:
    """Return what a fit with matrices over items may start from: a posterior that has them."""
    known = isinstance(start, CollaborativePosterior) and not isinstance(start, LargePosterior)
    return start if known else None  # type: ignore[return-value]
