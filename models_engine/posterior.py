"""The posteriors that fits return (see protocol.py): Gaussian and sampled."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, ndtr

from models_engine.arrays import raising, read_count, read_number
from models_engine.constants import Z90
from models_engine.covariance.forms import Covariance, SumCovariance, pack
from models_engine.data import Comparisons
from models_engine.errors import InvalidData, InvalidSetting, Unsupported
from models_engine.html_tables import html_table
from models_engine.linalg import centre, centre_covariance, check_dense, chunk_slices
from models_engine.log_predictive import log_label_probabilities
from models_engine.predictive import Likelihood
from models_engine.protocol import Posterior
from models_engine.stored_posteriors import gaussian_fields, shared_fields
from models_engine.summaries import AnnotatorSummary, Components, Diagnostics, RankSummary, rank_draws, summarise_ranks
from models_engine.validation import check_annotator, check_pair, check_selection

__all__ = [
    "AnnotatorSummary",
    "BasePosterior",
    "Components",
    "Diagnostics",
    "GaussianPosterior",
    "Likelihood",
    "Posterior",
    "RankSummary",
    "SamplePosterior",
]

Floats = NDArray[np.float64]
LOGIT = Likelihood()
NO_FIGURES = AnnotatorSummary()


class BasePosterior(ABC):
    """Base class: methods derived from utilities, difference variances and draws."""

    diagnostics: Diagnostics
    likelihood: Likelihood
    annotators: AnnotatorSummary
    prior_sd: float | None
    prior_shape: float | None
    along_scale: Floats | None = None

    @property
    @abstractmethod
    def n_items(self) -> int: ...
    @abstractmethod
    def utilities(self) -> Floats: ...
    @abstractmethod
    def standard_deviations(self) -> Floats: ...
    @abstractmethod
    def covariance(self) -> Floats: ...
    @abstractmethod
    def superiority(self, left: ArrayLike, right: ArrayLike) -> Floats: ...
    @abstractmethod
    def restrict(self, items: ArrayLike) -> "BasePosterior": ...
    @abstractmethod
    def to_arrays(self) -> dict[str, NDArray]: ...
    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self: ...
    @abstractmethod
    def difference_variance(self, left: ArrayLike, right: ArrayLike) -> Floats: ...
    @abstractmethod
    def sample(self, n: int, *, rng: np.random.Generator) -> Floats: ...
    @abstractmethod
    def for_annotator(self, annotator: int | None = None, *, features: ArrayLike | None = None) -> "BasePosterior": ...
    @abstractmethod
    def preference(self, left: NDArray, right: NDArray) -> Floats:
        """Return P(left preferred to right) for an annotator with these utilities, uncertainty integrated."""

    @abstractmethod
    def log_pairs(self, left: NDArray, right: NDArray, outcome: NDArray, sided: NDArray) -> Floats:
        """Return log P(outcome) of pairs as shown, for an annotator with these utilities."""

    def log_graded_pairs(
        self, left: NDArray, right: NDArray, outcome: NDArray, sided: NDArray, grade: NDArray
    ) -> Floats:
        """Return log P(outcome and grade), grade 0 being any; of the outcome alone where there are no cut points."""
        return self.log_pairs(left, right, outcome, sided)

    def deviations_at_scale(self) -> Floats:
        """Return standard deviations (n_items,) as if the scale of utilities were known: without what along_scale adds,
        which moves no item past another.
        """
        variance = self.standard_deviations() ** 2
        return np.sqrt(np.maximum(variance - (0.0 if self.along_scale is None else self.along_scale**2), 0.0))

    def hyperparameters(self) -> dict[str, float]:
        """Return what was fitted or set besides utilities, by name: prior sd of a utility, where there is just one, tie
        parameter, effect of the side, cut points.
        """
        likelihood = self.likelihood
        found = {"prior_sd": self.prior_sd, "tie": likelihood.tie, "tie_rate": likelihood.tie_rate}
        found |= {} if likelihood.side_sd is None else {"side": likelihood.side}
        cuts = zip(likelihood.cuts or (), likelihood.cut_sds or (), strict=True)
        for number, (cut, sd) in enumerate(cuts):
            found |= {f"cut_{number}": cut, f"cut_{number}_sd": sd} if cut > 0 else {}
        return {name: float(value) for name, value in found.items() if value is not None}

    @property
    def is_personal(self) -> bool:
        """Return whether for_annotator(j) answers differently from a new annotator."""
        return False

    def pairwise_probabilities(self, left: ArrayLike, right: ArrayLike, annotator: int | None = None) -> Floats:
        lefts, rights = check_pair(left, right, self.n_items)
        return self.for_annotator(check_annotator(annotator)).preference(lefts, rights)

    def log_predictive(self, data: Comparisons) -> Floats:
        """Return log P(label), (n_labels,), at most 0. Raises InvalidData for items that were not fitted."""
        if not isinstance(data, Comparisons):
            raise InvalidData(f"data is a {type(data).__name__}; give Comparisons.", value=data)
        if data.n_items > self.n_items:
            raise InvalidData(
                f"the data have {data.n_items} items and the posterior {self.n_items}; use the fitted items."
            )
        return np.minimum(self.log_labels(data), 0.0)  # a certain label's may be a rounding error above

    def log_labels(self, data: Comparisons) -> Floats:
        """Return log P(label), (n_labels,), up to rounding errors; see `log_predictive`, which checks."""
        if not self.is_personal:
            return log_label_probabilities(self.for_annotator(None), data)
        result = np.empty(data.n_labels)
        for annotator in np.unique(data.annotators):
            rows = np.flatnonzero(data.annotators == annotator)
            result[rows] = log_label_probabilities(self.for_annotator(int(annotator)), data.subset(rows))
        return result

    def rank_summary(
        self, level: float = 0.9, k: int = 10, *, rng: np.random.Generator | None = None, n_samples: int | None = None
    ) -> RankSummary:
        with raising(InvalidSetting):
            level, k = read_number(level, "level", above=0.0, below=1.0), read_count(k, "k")
            n_samples = (2_000 if self.n_items <= 2_000 else 1_000) if n_samples is None else read_count(n_samples, "n")
        if k < 1 or n_samples < 1:
            raise InvalidSetting(f"k is {k} and n_samples {n_samples}; give 1 or more.", value=min(k, n_samples))
        generator = np.random.default_rng(0) if rng is None else rng
        ranks = np.empty((n_samples, self.n_items), dtype=np.int32)
        for part in chunk_slices(n_samples, self.n_items):
            ranks[part] = rank_draws(self.sample(part.stop - part.start, rng=generator))
        return summarise_ranks(self.utilities(), ranks, level, k)

    def divisiveness(self) -> Floats:
        return np.zeros(self.n_items)

    def annotator_summary(self) -> AnnotatorSummary:
        return self.annotators

    def components(self) -> Components | None:
        return None

    def at(self, item_features: ArrayLike) -> "BasePosterior":
        raise Unsupported(
            f"{type(self).__name__} does not use item features, so it cannot rank new items; "
            "fit GPPL or CollaborativeGP with item_features instead."
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows: items by number, best first; analysis.rankings has names and scores."""
        order = np.argsort(-self.utilities(), kind="stable")
        mean, sd = self.utilities()[order], self.standard_deviations()[order]
        low, high = mean - Z90 * sd, mean + Z90 * sd
        note = "" if self.diagnostics.converged else f" It has not converged: {self.diagnostics.message}"
        return html_table(
            {"item": order, "utility": mean, "sd": sd, "low": low, "high": high},
            caption=f"{type(self).__name__} over the utilities of {self.n_items:,} items",
            interval=("low", "utility", "high"),
            notes=(f"Low and high: the central 90% interval.{note}",),
        )

    def _prior(self) -> dict[str, NDArray]:
        known = {"prior_sd": self.prior_sd, "prior_shape": self.prior_shape}
        return {name: np.array(value) for name, value in known.items() if value is not None}

    def _meta(self) -> NDArray:
        meta = {"likelihood": asdict(self.likelihood), "diagnostics": asdict(self.diagnostics)}
        return np.array(json.dumps(meta))


@dataclass(frozen=True, eq=False)
class GaussianPosterior(BasePosterior):
    """Gaussian posterior N(mean, spread): a mean (n_items,) and the covariance of the centred utilities in any form.

    taste: covariance of one annotator's own centred utilities around the consensus, None where all share one taste.
    lapses (n_annotators,): each annotator's share of reversed answers, None where the estimator has none;
    likelihood.lapse is that of a new annotator.
    prior_sd: the prior standard deviation of a utility that was used or learned, where there is just one.
    prior_shape: where the prior of e^utility is a Gamma, its shape; None where a utility's prior is normal.
    along_scale: (n_items,) change of the centred utilities where the log of a learned prior_sd, averaged over, rises by
    its standard deviation; its square is part of the variances.
    Estimators of each annotator's taste subclass this and override for_annotator and is_personal.
    """

    mean: Floats
    spread: Covariance
    diagnostics: Diagnostics
    likelihood: Likelihood = LOGIT
    taste: Covariance | None = None
    lapses: Floats | None = None
    annotators: AnnotatorSummary = NO_FIGURES
    prior_sd: float | None = None
    prior_shape: float | None = None
    along_scale: Floats | None = None

    @property
    def n_items(self) -> int:
        return len(self.mean)

    def utilities(self) -> Floats:
        return centre(self.mean)

    def standard_deviations(self) -> Floats:
        return np.sqrt(self.spread.variances())

    def covariance(self) -> Floats:
        return self.spread.dense()

    def difference_variance(self, left: ArrayLike, right: ArrayLike) -> Floats:
        lefts, rights = check_pair(left, right, self.n_items)
        return self.spread.difference_variance(lefts, rights)

    def sample(self, n: int, *, rng: np.random.Generator) -> Floats:
        return self.utilities() + self.spread.sample(read_count(n, "n"), rng)

    def superiority(self, left: ArrayLike, right: ArrayLike) -> Floats:
        lefts, rights = check_pair(left, right, self.n_items)
        deviation = np.sqrt(self.difference_variance(lefts, rights))
        difference = self.mean[lefts] - self.mean[rights]
        certain = np.where(difference > 0, np.inf, np.where(difference < 0, -np.inf, 0.0))
        return ndtr(np.divide(difference, deviation, out=certain, where=deviation > 0))

    def preference(self, left: NDArray, right: NDArray) -> Floats:
        return self.likelihood.preference(self.mean[left] - self.mean[right], self.difference_variance(left, right))

    def log_pairs(self, left: NDArray, right: NDArray, outcome: NDArray, sided: NDArray) -> Floats:
        margin, variance = self.mean[left] - self.mean[right], self.difference_variance(left, right)
        return self.likelihood.log_outcome(outcome, margin, variance, sided=sided)

    def log_graded_pairs(
        self, left: NDArray, right: NDArray, outcome: NDArray, sided: NDArray, grade: NDArray
    ) -> Floats:
        margin, variance = self.mean[left] - self.mean[right], self.difference_variance(left, right)
        return self.likelihood.log_outcome(outcome, margin, variance, sided=sided, grade=grade)

    @property
    def is_personal(self) -> bool:
        return self.lapses is not None

    def for_annotator(self, annotator: int | None = None, *, features: ArrayLike | None = None) -> "GaussianPosterior":
        annotator = check_annotator(annotator)
        own = self.likelihood
        if annotator is not None and self.lapses is not None and annotator < len(self.lapses):
            own = replace(own, lapse=float(self.lapses[annotator]))
        return self._as_gaussian(own, self.spread if self.taste is None else SumCovariance(self.spread, self.taste))

    def divisiveness(self) -> Floats:
        return np.zeros(self.n_items) if self.taste is None else np.sqrt(self.taste.variances())

    def restrict(self, items: ArrayLike) -> "GaussianPosterior":
        kept = check_selection(items, self.n_items)
        taste = None if self.taste is None else self.taste.restrict(kept)
        own = (self.diagnostics, self.likelihood, taste, self.lapses, self.annotators, self.prior_sd, self.prior_shape)
        along = None if self.along_scale is None else centre(self.along_scale[kept])
        return GaussianPosterior(centre(self.mean[kept]), self.spread.restrict(kept), *own, along)

    def to_arrays(self) -> dict[str, NDArray]:
        arrays: dict[str, NDArray] = {"mean": self.mean, "meta": self._meta()} | pack("spread", self.spread)
        arrays |= {} if self.taste is None else pack("taste", self.taste)
        arrays |= {} if self.lapses is None else {"lapses": self.lapses}
        arrays |= {} if self.along_scale is None else {"along_scale": self.along_scale}
        arrays |= self._prior()
        return arrays | {f"annotators/{name}": value for name, value in self.annotators.to_arrays().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self:
        return cls(**gaussian_fields(arrays))

    def _as_gaussian(self, likelihood: Likelihood, spread: Covariance) -> "GaussianPosterior":
        return GaussianPosterior(self.mean, spread, self.diagnostics, likelihood, annotators=self.annotators)


@dataclass(frozen=True, eq=False)
class SamplePosterior(BasePosterior):
    """Posterior as draws (n_draws, n_items), centred by `of`; for samplers and posteriors far from Gaussian.

    prior_sd, prior_shape: as in GaussianPosterior.
    """

    draws: Floats
    diagnostics: Diagnostics
    likelihood: Likelihood = LOGIT
    annotators: AnnotatorSummary = NO_FIGURES
    prior_sd: float | None = None
    prior_shape: float | None = None

    @classmethod
    def of(
        cls,
        draws: ArrayLike,
        diagnostics: Diagnostics,
        likelihood: Likelihood = LOGIT,
        *,
        prior_sd: float | None = None,
        prior_shape: float | None = None,
    ) -> Self:
        """Build from draws that need not be centred. Raises InvalidData for fewer than two draws."""
        centred = centre(draws)
        if centred.ndim != 2 or len(centred) < 2:
            raise InvalidData(f"draws have shape {centred.shape}; give two draws or more, shape (n_draws, n_items).")
        return cls(centred, diagnostics, likelihood, prior_sd=prior_sd, prior_shape=prior_shape)

    @property
    def n_items(self) -> int:
        return self.draws.shape[1]

    def utilities(self) -> Floats:
        return self.draws.mean(axis=0)

    def standard_deviations(self) -> Floats:
        return self.draws.std(axis=0, ddof=1)

    def covariance(self) -> Floats:
        check_dense(self.n_items)
        return centre_covariance(np.cov(self.draws, rowvar=False).reshape(self.n_items, self.n_items))

    def difference_variance(self, left: ArrayLike, right: ArrayLike) -> Floats:
        lefts, rights = check_pair(left, right, self.n_items)
        return self._over_pairs(lefts, rights, lambda margins: margins.var(axis=0, ddof=1))

    def sample(self, n: int, *, rng: np.random.Generator) -> Floats:
        """Return rows of the stored draws, without repeats if there are enough."""
        n = read_count(n, "n")
        whole = np.tile(np.arange(len(self.draws)), n // len(self.draws))
        rest = rng.choice(len(self.draws), n - len(whole), replace=False)
        return self.draws[rng.permutation(np.concatenate([whole, rest]))]

    def superiority(self, left: ArrayLike, right: ArrayLike) -> Floats:
        """Return the share of draws with left above right, equal ones counting half."""
        lefts, rights = check_pair(left, right, self.n_items)
        return self._over_pairs(lefts, rights, lambda margins: (1 + np.sign(margins)).mean(axis=0) / 2)

    def preference(self, left: NDArray, right: NDArray) -> Floats:
        return self._over_pairs(left, right, lambda margins: self.likelihood.preference(margins, 0.0).mean(axis=0))

    def log_pairs(self, left: NDArray, right: NDArray, outcome: NDArray, sided: NDArray) -> Floats:
        return self.log_graded_pairs(left, right, outcome, sided, np.zeros(np.shape(outcome), np.int64))

    def log_graded_pairs(
        self, left: NDArray, right: NDArray, outcome: NDArray, sided: NDArray, grade: NDArray
    ) -> Floats:
        result = np.empty(len(left))
        for part in chunk_slices(len(left), len(self.draws)):
            margins = self.draws[:, left[part]] - self.draws[:, right[part]]
            shown = {"sided": sided[part], "grade": grade[part]}
            given_draw = self.likelihood.log_outcome(outcome[part], margins, 0.0, **shown)
            result[part] = logsumexp(given_draw, axis=0) - np.log(len(self.draws))
        return result

    def for_annotator(self, annotator: int | None = None, *, features: ArrayLike | None = None) -> "SamplePosterior":
        return self

    def restrict(self, items: ArrayLike) -> "SamplePosterior":
        return SamplePosterior(
            centre(self.draws[:, check_selection(items, self.n_items)]),
            self.diagnostics,
            self.likelihood,
            self.annotators,
            self.prior_sd,
            self.prior_shape,
        )

    def to_arrays(self) -> dict[str, NDArray]:
        arrays: dict[str, NDArray] = {"draws": self.draws, "meta": self._meta()}
        arrays |= self._prior()
        return arrays | {f"annotators/{name}": value for name, value in self.annotators.to_arrays().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self:
        return cls(np.asarray(arrays["draws"]), **shared_fields(arrays))

    def _over_pairs(self, left: NDArray, right: NDArray, statistic: Any) -> Floats:
        lefts, rights = np.broadcast_arrays(left, right)
        flat_left, flat_right = lefts.ravel(), rights.ravel()
        result = np.empty(len(flat_left))
        for part in chunk_slices(len(flat_left), len(self.draws)):
            result[part] = statistic(self.draws[:, flat_left[part]] - self.draws[:, flat_right[part]])
        return result.reshape(lefts.shape)
