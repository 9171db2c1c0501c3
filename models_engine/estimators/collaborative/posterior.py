"""The posterior of CollaborativeGP: a consensus with tastes integrated out; utilities of any annotator or item."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from models_engine.arrays import read_floats
from models_engine.covariance.forms import DenseCovariance
from models_engine.errors import InvalidData, Unsupported
from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.annotator_solves import solve_block
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.inference.probit_ep.site_updates import Sites
from models_engine.inference.tastes.reliability import Reliabilities
from models_engine.inference.tastes.scales import MixtureWeights
from models_engine.inference.tastes.sides import SideBiases
from models_engine.kernels import ItemKernel
from models_engine.linalg import centre, cholesky
from models_engine.posterior import GaussianPosterior, Likelihood
from models_engine.stored_posteriors import gaussian_fields
from models_engine.summaries import Components
from models_engine.validation import check_annotator, check_new_features

__all__ = ["CollaborativePosterior", "PersonalPosterior", "Tastes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tastes:
    """Posterior of the annotators' tastes, conditional on one taste covariance.

    taste (n_items, n_items): prior covariance of f_u - t.   mean (n_items,), covariance (n_items, n_items): the
    consensus t at that taste covariance.   annotator, low, high, wins, losses, copies, precision, shift (n_sites,):
    the EP sites, sorted by annotator; precision and shift of one copy.   learned (n_items, n_items): the shape that
    `taste` was mixed from, with the kernel's share, as mixture_candidates (m, 2) and mixture_weights (m,) say.   scales
    (4,): consensus_sd, taste_sd, kernel share and length.   n_learned: number of
    sites `learned` came from.   steepness (n_annotators,).   features (n_items, d), d = 0 for none.
    loadings (n_items, c), scores (n_annotators, c): components.   regression (e, c): scores on standardised annotator
    features, explained (c,): share of each score's variance it explains; centre_scale (2, e): of the features.
    ranking (n_sites,) as in PairSites, (0,) where there are none.   own_widening, difference_widening, sign_widening
    (n_annotators,): factors of standard deviations that count what is open about `taste` (see sampled.Widening).
    grade, side (n_sites,) as in PairSites, (0,) where they do not count.   item_sds (n_items,): of the consensus of
    each item a priori, (0,) where all have that of `scales`.
    consensus_factors (2,): of the consensus's mean and standard deviations, see sampled.ConsensusFactors; `mean` and
    `covariance` are without them.   n_told: how many leading components are more than noise.
    """

    taste: Floats
    mean: Floats
    covariance: Floats
    annotator: Ints
    low: Ints
    high: Ints
    wins: Floats
    losses: Floats
    copies: Floats
    precision: Floats
    shift: Floats
    learned: Floats
    mixture_candidates: Floats
    mixture_weights: Floats
    scales: Floats
    n_learned: NDArray[np.int64]
    steepness: Floats
    features: Floats
    loadings: Floats
    scores: Floats
    regression: Floats
    explained: Floats
    centre_scale: Floats
    ranking: Ints
    own_widening: Floats
    difference_widening: Floats
    sign_widening: Floats
    consensus_factors: Floats
    n_told: NDArray[np.int64]
    grade: Ints
    side: Ints
    item_sds: Floats

    @property
    def kernel(self) -> ItemKernel:
        features = self.features if self.features.shape[1] else None
        return ItemKernel(features, len(self.mean), float(self.scales[2]), float(self.scales[3]))

    @property
    def pair_sites(self) -> PairSites:
        columns = (self.annotator, self.low, self.high, self.wins, self.losses, self.copies)
        kinds = (one if len(one) else None for one in (self.ranking, self.grade, self.side))
        return PairSites(*columns, len(self.mean), len(self.steepness), *kinds)

    @property
    def sites(self) -> Sites:
        return Sites(self.precision, self.shift)

    @property
    def mixture(self) -> MixtureWeights:
        return MixtureWeights(tuple((float(a), float(r)) for a, r in self.mixture_candidates), self.mixture_weights)

    def own(self, annotator: int) -> tuple[Floats, Floats]:
        """Return mean (n_items,) and covariance (n_items, n_items) of f_u, the consensus integrated, widened."""
        rows = np.arange(*np.searchsorted(self.annotator, [annotator, annotator + 1]))
        if not len(rows):
            return self.mean, self.taste + self.covariance
        block = build_blocks(self.pair_sites.select(rows))[0]
        weight, push = self.copies[rows] * self.precision[rows], self.copies[rows] * self.shift[rows]
        local = solve_block(block, self.taste, self.mean, weight, push)
        items, others = block.items[0], None if block.others is None else block.others[0]
        reach, shared = self.taste[:, items], self.covariance[items]
        if others is not None:
            reach, shared = reach - self.taste[:, others], shared - self.covariance[others]
        follow = -reach @ local.information[0]
        cross = follow @ shared
        spread = self.taste + follow @ reach.T + self.covariance + cross + cross.T
        spread += follow @ block.gather(self.covariance)[0] @ follow.T
        widened = float(self.own_widening[annotator]) ** 2 * (spread + spread.T) / 2
        return self.mean + reach @ local.residual[0], widened

    def to_arrays(self) -> dict[str, NDArray]:
        return {f"tastes/{one.name}": np.asarray(getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self:
        """Load arrays, also of versions without `ranking`, `grade`, `side`, `item_sds` or widened intervals."""
        ones = np.ones(len(arrays["tastes/steepness"]))
        absent = {
            "tastes/ranking": np.zeros(0, np.int64),
            "tastes/grade": np.zeros(0, np.int64),
            "tastes/side": np.zeros(0, np.int64),
            "tastes/item_sds": np.zeros(0),
            "tastes/own_widening": ones,
            "tastes/difference_widening": ones,
            "tastes/sign_widening": ones,
            "tastes/consensus_factors": np.ones(2),
            "tastes/n_told": np.array(np.asarray(arrays["tastes/loadings"]).shape[1]),
        }
        known = absent | dict(arrays)
        return cls(**{one.name: np.asarray(known[f"tastes/{one.name}"]) for one in fields(cls)})

    def at(self, features: ArrayLike, mean: Floats, covariance: Floats, variance: float) -> tuple[Floats, Floats]:
        """Return mean and covariance over new items of utilities with N(mean, covariance) on the fitted items.

        features (n_new, d); variance: prior variance of a utility, for the part that the fitted items do not determine.
        """
        if self.kernel.is_identity:
            raise Unsupported(
                "this fit used no item features, so nothing distinguishes items that were never compared; "
                "give item_features to Comparisons and fit again, or collect comparisons of the new items."
            )
        width = self.features.shape[1]
        new = check_new_features(features, width, "item_features")
        cross, among = self.kernel.cross(new)
        lower = cholesky(self.kernel.matrix())
        weights = scipy.linalg.cho_solve((lower, True), cross.T).T
        rest = among - weights @ cross.T
        return weights @ mean, weights @ covariance @ weights.T + variance * (rest + rest.T) / 2


@dataclass(frozen=True, eq=False)
class PersonalPosterior(GaussianPosterior):
    """Posterior of one annotator's utilities. Answers to pairs are Phi(steepness (f_a - f_b)); sets ignore steepness.

    full_mean, full_covariance: before centring, for items never compared. source: the fit it comes from.
    """

    steepness: float = 1.0
    full_mean: Floats | None = None
    full_covariance: Floats | None = None
    source: Tastes | None = None

    def preference(self, left: NDArray, right: NDArray) -> Floats:
        margin, variance = self.mean[left] - self.mean[right], self.difference_variance(left, right)
        return self.likelihood.preference(self.steepness * margin, self.steepness**2 * variance + self._side_variance)

    def log_pairs(self, left: NDArray, right: NDArray, outcome: NDArray, sided: NDArray) -> Floats:
        return self.log_graded_pairs(left, right, outcome, sided, np.zeros(np.shape(outcome), np.int64))

    def log_graded_pairs(
        self, left: NDArray, right: NDArray, outcome: NDArray, sided: NDArray, grade: NDArray
    ) -> Floats:
        margin = self.steepness * (self.mean[left] - self.mean[right])
        variance = self.steepness**2 * self.difference_variance(left, right) + self._side_variance * sided
        return self.likelihood.log_outcome(outcome, margin, variance, sided=sided, grade=grade)

    @property
    def _side_variance(self) -> float:
        return (self.likelihood.side_sd or 0.0) ** 2

    def for_annotator(self, annotator: int | None = None, *, features: ArrayLike | None = None) -> "PersonalPosterior":
        return self

    def at(self, item_features: ArrayLike) -> GaussianPosterior:
        if self.source is None or self.full_mean is None or self.full_covariance is None:
            return super().at(item_features)  # type: ignore[return-value]
        variance = float((self.source.scales[:2] ** 2).sum())
        mean, covariance = self.source.at(item_features, self.full_mean, self.full_covariance, variance)
        return PersonalPosterior(
            centre(mean), DenseCovariance.of(covariance), self.diagnostics, self.likelihood, steepness=self.steepness
        )


@dataclass(frozen=True, eq=False)
class CollaborativePosterior(GaussianPosterior):
    """Posterior of the consensus and, through `tastes`, of each annotator; mean and spread also average over scales."""

    tastes: Tastes = field(kw_only=True)
    _forms: ClassVar[dict[str, type["CollaborativePosterior"]]] = {}

    def __init_subclass__(cls, **settings: Any) -> None:
        """Remember a form by its name, by which it is stored."""
        super().__init_subclass__(**settings)
        CollaborativePosterior._forms[cls.__name__] = cls

    def hyperparameters(self) -> dict[str, float]:
        """See BasePosterior.hyperparameters; with the sizes of consensus and tastes."""
        consensus, taste = (float(value) for value in self.tastes.scales[:2])
        return super().hyperparameters() | {"consensus_sd": consensus, "taste_sd": taste}

    @property
    def is_personal(self) -> bool:
        return True

    @property
    def uses_item_features(self) -> bool:
        return not self.tastes.kernel.is_identity

    def reliabilities(self) -> Reliabilities | None:
        """Return the annotators' reliabilities; None where all count as reliable, as in fits of earlier versions."""
        known = self.annotators
        if known.reliability is None or known.reliability_sd is None:
            return None
        ends = None
        if known.reliability_low is not None and known.reliability_high is not None:
            ends = np.stack([known.reliability_low, known.reliability_high])
        return Reliabilities(known.reliability, known.reliability_sd, 1 - self.likelihood.lapse, self.lapses, ends)

    def sides(self) -> SideBiases | None:
        """Return the annotators' side biases; None where none are told apart, as in fits of earlier versions."""
        known, likelihood = self.annotators, self.likelihood
        if known.side_bias is None or known.side_bias_sd is None or likelihood.side_sd is None:
            return None
        return SideBiases(known.side_bias, known.side_bias_sd, likelihood.side, likelihood.side_sd)

    def for_annotator(self, annotator: int | None = None, *, features: ArrayLike | None = None) -> PersonalPosterior:
        if features is not None:
            return self._of_features(features)
        known, annotator = self.tastes, check_annotator(annotator)
        if annotator is None or annotator >= len(known.steepness):
            return self._new_annotator
        mean, covariance = known.own(annotator)
        likelihood, sides = self.likelihood, self.sides()
        if self.lapses is not None:
            likelihood = replace(likelihood, lapse=float(self.lapses[annotator]))
        if sides is not None:
            likelihood = replace(likelihood, side=float(sides.mean[annotator]), side_sd=float(sides.sd[annotator]))
        return self._personal(mean, covariance, float(known.steepness[annotator]), likelihood)

    @cached_property
    def _new_annotator(self) -> PersonalPosterior:
        """Return the posterior of an annotator without labels: the consensus plus a taste from the prior."""
        known = self.tastes
        personal = self._personal(known.mean, known.taste + known.covariance, 1.0, self.likelihood)
        spread = self.spread.dense() + DenseCovariance.of(known.taste).matrix
        return replace(personal, mean=self.mean, spread=DenseCovariance(spread))

    def _of_features(self, features: ArrayLike) -> PersonalPosterior:
        known, x = self.tastes, read_floats(features, "features")
        centres, scales = known.centre_scale
        if x.shape != centres.shape or not np.isfinite(x).all():
            raise InvalidData(
                f"annotator features have shape {x.shape}; give {len(centres)} finite numbers, as many as in the fit."
            )
        scores = ((x - centres) / scales) @ known.regression
        learned = (known.loadings * known.explained) @ known.loadings.T
        covariance = known.taste + known.covariance - learned
        return self._personal(known.mean + known.loadings @ scores, covariance, 1.0, self.likelihood)

    def _personal(
        self, mean: Floats, covariance: Floats, steepness: float, likelihood: Likelihood
    ) -> PersonalPosterior:
        return PersonalPosterior(
            centre(mean),
            DenseCovariance.of(covariance),
            self.diagnostics,
            likelihood,
            annotators=self.annotators,
            steepness=steepness,
            full_mean=mean,
            full_covariance=covariance,
            source=self.tastes,
        )

    def at(self, item_features: ArrayLike) -> GaussianPosterior:
        known = self.tastes
        consensus_sd, taste_sd = known.scales[:2]
        factor, sd_factor = known.consensus_factors
        consensus = factor * known.mean, sd_factor**2 * known.covariance
        mean, covariance = known.at(item_features, *consensus, float(consensus_sd) ** 2)
        _, taste = known.at(item_features, known.mean, known.taste, float(taste_sd) ** 2)
        return GaussianPosterior(
            centre(mean),
            DenseCovariance.of(covariance),
            self.diagnostics,
            self.likelihood,
            DenseCovariance.of(taste),
            annotators=self.annotators,
        )

    def components(self) -> Components | None:
        loadings = self.tastes.loadings
        if not loadings.shape[1]:
            return None
        total = float((self.divisiveness() ** 2).sum())
        share = (loadings**2).sum(axis=0) / max(total, 1e-300)
        descending = np.minimum.accumulate(np.minimum(share, 1.0))  # equal ones may differ by rounding
        return Components(loadings, self.tastes.scores, descending)

    def to_arrays(self) -> dict[str, NDArray]:
        return super().to_arrays() | self.tastes.to_arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self:
        form = cls._forms.get(str(arrays.get("form", "")))
        if form is not None:
            return form.from_arrays(arrays)  # type: ignore[return-value]
        return cls(**gaussian_fields(arrays), tastes=Tastes.from_arrays(arrays))
