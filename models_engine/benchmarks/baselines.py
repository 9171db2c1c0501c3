"""Baselines for the estimators: GPs for each annotator alone or for all at once, MAP factorisation, crowd_gppl's."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr

from models_engine.benchmarks.gp_baselines import CrowdBTThenGP, GPPLPerAnnotator
from models_engine.benchmarks.joint_gp import JointGP
from models_engine.data import Comparisons
from models_engine.errors import InvalidSetting
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.collaborative.posterior import CollaborativePosterior
from models_engine.inference.probit_ep.probit_sites import probit_ratio

__all__ = ["BASELINES", "IndependentGPs", "MapFactorisation", "PointPosterior"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LOADING_SDS = (0.03, 0.06, 0.1, 0.2, 0.3, 0.45)


@dataclass(frozen=True)
class IndependentGPs:
    """Model f_u ~ N(0, s^2 K) for each annotator alone: shares only s and the kernel, chosen by EP evidence."""

    def fit(self, data: Comparisons) -> CollaborativePosterior:
        """Fit by expectation propagation."""
        return CollaborativeGP(covariance="prior", consensus_sd=1e-3).fit(data)


@dataclass(frozen=True, eq=False)
class PointPosterior:
    """Utilities without uncertainty: own (n_annotators, n_items), probit link."""

    own: Floats

    def pairwise_probabilities(self, left: ArrayLike, right: ArrayLike, annotator: int) -> Floats:
        """Return Phi of the margin."""
        mine = self.own[annotator]
        return np.asarray(ndtr(mine[np.asarray(left)] - mine[np.asarray(right)]))

    def personal_utilities(self, annotator: int) -> Floats:
        """Return the utilities of that annotator, (n_items,)."""
        return self.own[annotator]


@dataclass(frozen=True, eq=False)
class WinMatrices:
    """Pairs as matrices: items (n_pairs, n_items), +1 at the winner and -1 at the loser; annotators (n_pairs,
    n_annotators), 1 at who chose. A tie counts as won by the left."""

    items: scipy.sparse.csr_array
    annotators: scipy.sparse.csr_array
    who: Ints

    @classmethod
    def of(cls, data: Comparisons) -> "WinMatrices":
        pairs = data.pairs()
        rows, ones = np.arange(len(pairs.left)), np.ones(len(pairs.left))
        sign = np.where(pairs.outcome >= 0.5, 1.0, -1.0)
        places = (np.tile(rows, 2), np.concatenate([pairs.left, pairs.right]))
        items = scipy.sparse.csr_array((np.concatenate([sign, -sign]), places), shape=(len(rows), data.n_items))
        annotators = scipy.sparse.csr_array((ones, (rows, pairs.annotator)), shape=(len(rows), data.n_annotators))
        return cls(items, annotators, pairs.annotator)

    def margins(self, t: Floats, loadings: Floats, scores: Floats) -> Floats:
        """Return the margin of each pair's winner, (n_pairs,)."""
        return np.asarray(self.items @ t + ((self.items @ loadings) * scores[self.who]).sum(axis=1))


@dataclass(frozen=True)
class MapFactorisation:
    """Mode of f_u = t + V w_u for probit pairs, t_i ~ N(0, consensus_sd^2), v_ic ~ N(0, loading_sd^2), w ~ N(0, 1).

    loading_sd, the prior sd of a loading: None chooses it by the log loss on a held-out fifth of the training labels.
    """

    n_components: int = 10
    consensus_sd: float = 2.0
    loading_sd: float | None = None

    def fit(self, data: Comparisons) -> PointPosterior:
        """Minimise by L-BFGS from a small random start of fixed seed."""
        chosen = self if self.loading_sd is not None else self.with_chosen_sd(data)
        t, loadings, scores = chosen.mode(data)
        return PointPosterior(t + scores @ loadings.T)

    def with_chosen_sd(self, data: Comparisons) -> "MapFactorisation":
        """Choose the best loading_sd of LOADING_SDS."""
        out = np.random.default_rng(0).permutation(data.n_labels) < data.n_labels // 5
        train, held = data.subset(~out), WinMatrices.of(data.subset(out))
        tried = [replace(self, loading_sd=scale) for scale in LOADING_SDS]
        losses = [-float(log_ndtr(held.margins(*one.mode(train, 60))).mean()) for one in tried]
        return tried[int(np.argmin(losses))]

    def mode(self, data: Comparisons, steps: int = 200) -> tuple[Floats, Floats, Floats]:
        """Find (t, V, W) of the highest posterior density."""
        won = WinMatrices.of(data)
        start = np.random.default_rng(0).standard_normal(len(self.units(won)))
        options = {"maxiter": steps, "ftol": 1e-6}
        best = minimize(self.loss, start, args=(won,), jac=True, method="L-BFGS-B", options=options)  # type: ignore[call-overload]
        return self.split(self.units(won) * best.x, won)

    def split(self, theta: Floats, won: WinMatrices) -> tuple[Floats, Floats, Floats]:
        """Split the vector theta into (t, V, W)."""
        n_items, n_annotators, c = won.items.shape[1], won.annotators.shape[1], self.n_components
        t, loadings, scores = np.split(theta, [n_items, n_items * (1 + c)])
        return t, loadings.reshape(n_items, c), scores.reshape(n_annotators, c)

    def precisions(self, won: WinMatrices) -> Floats:
        """Return the prior precision of each number in theta."""
        if self.loading_sd is None:
            raise InvalidSetting("loading_sd is not chosen yet; `chosen` does it.")
        n_items, n_annotators, c = won.items.shape[1], won.annotators.shape[1], self.n_components
        each = [self.consensus_sd**-2, self.loading_sd**-2, 1.0]
        return np.repeat(each, [n_items, n_items * c, n_annotators * c])

    def units(self, won: WinMatrices) -> Floats:
        """Return approximate posterior standard deviations of theta; scaling by them makes the search many
        times faster.
        """
        prior, c = self.precisions(won), self.n_components
        per_item = abs(won.items).sum(axis=0)
        per_annotator = won.annotators.sum(axis=0) * 2 * c / prior[len(per_item)]
        known = np.concatenate([per_item, np.repeat(per_item, c), np.repeat(per_annotator, c)])
        return np.asarray((prior + known / 2) ** -0.5)

    def loss(self, x: Floats, won: WinMatrices) -> tuple[float, Floats]:
        """Return minus the log posterior of theta = units x up to a constant, and its gradient by x."""
        unit, prior = self.units(won), self.precisions(won)
        theta = unit * x
        t, loadings, scores = self.split(theta, won)
        margin = won.margins(t, loadings, scores)
        pull = -probit_ratio(margin)
        by_loadings = won.items.T @ (pull[:, None] * scores[won.who])
        by_scores = won.annotators.T @ (pull[:, None] * (won.items @ loadings))
        slope = np.concatenate([won.items.T @ pull, by_loadings.ravel(), by_scores.ravel()])
        value = float(theta @ (prior * theta) / 2 - log_ndtr(margin).sum())
        return value, unit * (prior * theta + slope)


BASELINES: dict[str, Callable[[], Any]] = {
    "IndependentGPs": IndependentGPs,
    "MapFactorisation": MapFactorisation,
    "GPPLPerAnnotator": GPPLPerAnnotator,
    "CrowdBTThenGP": CrowdBTThenGP,
    "JointGP": JointGP,
    "JointGP-u": partial(JointGP, features=False),  # without features of annotators, as crowd_gppl names it
    "JointGP-t": partial(JointGP, consensus=False),
}
