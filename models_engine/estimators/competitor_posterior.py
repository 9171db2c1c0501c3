"""CompetitorPosterior: the utilities of competitors on average over contexts, on a new context, and by tag."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from models_engine.covariance.forms import DenseCovariance, SumCovariance
from models_engine.errors import InvalidData
from models_engine.linalg import centre
from models_engine.posterior import GaussianPosterior
from models_engine.stored_posteriors import gaussian_fields
from models_engine.validation import check_pair, check_selection

__all__ = ["CompetitorPosterior", "Effects"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Effects:
    """Further effects of the fit, in logits.

    item_sd (n_grid,), item_sd_weight (n_grid,): the spread of items around what is expected of their competitor, tag
    and features, and its posterior probabilities.
    taste (3,): mean and standard deviation of the spread of annotators' tastes for a competitor, and its mean square;
    zeros where tastes were not asked for.
    features (d,), feature_covariance (d, d): what one unit of an item feature adds.
    tag_utilities (n_tags, n), tag_covariance (n_tags, n, n): centred utilities on the contexts of a tag.
    tag_effects (n_tags, n), tag_effect_sds (n_tags, n): how much better than elsewhere a competitor is there, centred.
    attentive (n_annotators,): P(an annotator does not answer at random), by which their answers are weighted; ones
    where careless annotators were not asked for or none was found.
    """

    item_sd: Floats
    item_sd_weight: Floats
    taste: Floats
    features: Floats
    feature_covariance: Floats
    tag_utilities: Floats
    tag_covariance: Floats
    tag_effects: Floats
    tag_effect_sds: Floats
    attentive: Floats

    @property
    def item_variance(self) -> float:
        """Return E spread^2 of the items."""
        return float(self.item_sd_weight @ self.item_sd**2)

    @cached_property
    def item_spread(self) -> tuple[float, float]:
        """Return (posterior mean, standard deviation) of the spread of the items."""
        mean = float(self.item_sd_weight @ self.item_sd)
        return mean, float(np.sqrt(max(self.item_variance - mean**2, 0.0)))

    @property
    def feature_sds(self) -> Floats:
        """Return (d,) posterior standard deviations."""
        return np.asarray(np.sqrt(np.diagonal(self.feature_covariance)))


@dataclass(frozen=True, eq=False, kw_only=True)
class CompetitorPosterior(GaussianPosterior):
    """Posterior whose "items" are the competitors.

    utilities: g, the mean over contexts and annotators, at equal features; intervals include the uncertainty from
    contexts, answers and annotators. superiority: P(a is better than b on average). pairwise_probabilities: P(a new
    answer about a new context prefers a's item), ties left out.
    """

    effects: Effects

    def for_annotator(self, annotator: int | None = None, *, features: ArrayLike | None = None) -> GaussianPosterior:
        """Return the posterior of the competitors' items for a new context."""
        own = DenseCovariance.of(np.eye(self.n_items) * self.effects.item_variance)
        wide = SumCovariance(self.spread, own)
        return GaussianPosterior(self.mean, wide, self.diagnostics, self.likelihood, annotators=self.annotators)

    def over_contexts(self) -> GaussianPosterior:
        """Return the same utilities with the items' own effects as what differs from answer to answer.

        Chances of a new answer about a new context average over them as over tastes, at 2 item_variance for a pair, and
        common_unit gives the factor from utilities to logits of such an answer. They do not widen the utilities.
        """
        own = DenseCovariance.of(np.eye(self.n_items) * self.effects.item_variance)
        return GaussianPosterior(self.mean, self.spread, self.diagnostics, self.likelihood, taste=own)

    def better_on_new_context(self, left: ArrayLike, right: ArrayLike) -> Floats:
        """Return P(left's item is better than right's for a new context), elementwise; 1/2 for a competitor
        and itself.
        """
        lefts, rights = check_pair(left, right, self.n_items)
        margin = self.utilities()[lefts] - self.utilities()[rights]
        variance = self.difference_variance(lefts, rights) + 2 * self.effects.item_variance
        return np.where(lefts == rights, 0.5, ndtr(margin / np.sqrt(variance)))

    def expected_wins(self) -> Floats:
        """Return (n, n) P(a new answer about a new context prefers the row's item to the column's), ties left out."""
        every = np.arange(self.n_items)
        wins = self.pairwise_probabilities(every[:, None], every[None, :])
        wins[every, every] = 0.5
        return wins

    def for_tag(self, tag: int) -> "CompetitorPosterior":
        """Return the posterior on the contexts of one tag. Raises InvalidData for an unknown tag."""
        n_tags = len(self.effects.tag_utilities)
        if not 0 <= tag < n_tags:
            raise InvalidData(f"there is no tag {tag}; the fit has {n_tags}, numbered from 0.", value=tag)
        mean, spread = self.effects.tag_utilities[tag], DenseCovariance(self.effects.tag_covariance[tag])
        return replace(self, mean=mean, spread=spread)

    def restrict(self, items: ArrayLike) -> "CompetitorPosterior":
        """Restrict to some competitors, centred among themselves."""
        kept = check_selection(items, self.n_items)
        found, effects = self.effects, []
        for utilities, covariance in zip(found.tag_utilities, found.tag_covariance, strict=True):
            own = DenseCovariance(covariance).restrict(kept)
            effects.append((centre(utilities[kept]), own.matrix))
        utilities = np.array([mean for mean, _ in effects]).reshape(-1, len(kept))
        covariance = np.array([matrix for _, matrix in effects]).reshape(-1, len(kept), len(kept))
        own_effects = replace(
            found,
            tag_utilities=utilities,
            tag_covariance=covariance,
            tag_effects=found.tag_effects[:, kept],
            tag_effect_sds=found.tag_effect_sds[:, kept],
        )
        return replace(self, mean=centre(self.mean[kept]), spread=self.spread.restrict(kept), effects=own_effects)

    def to_arrays(self) -> dict[str, NDArray]:
        effects = {f"effects/{one.name}": getattr(self.effects, one.name) for one in fields(Effects)}
        return super().to_arrays() | effects

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self:
        effects = {one.name: np.asarray(arrays[f"effects/{one.name}"]) for one in fields(Effects)}
        return cls(**gaussian_fields(arrays), effects=Effects(**effects))
