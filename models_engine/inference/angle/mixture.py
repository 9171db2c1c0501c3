"""Groups of annotators, each with its own angle-based model: memberships and shares by variational Bayes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, logsumexp, softmax, xlogy

from models_engine.data import Comparisons
from models_engine.inference.angle.likelihood import (
    AngleLabels,
    AngleTarget,
    Mode,
    Variational,
    fit_variational,
    label_rows,
    match_gamma,
)
from models_engine.inference.angle.order_target import OrderTarget
from models_engine.inference.angle.orders import DrawnRankings, Orders
from models_engine.inference.angle.permutations import EXACT_LIMIT, log_compatible, log_constant
from models_engine.inference.angle.von_mises_fisher import log_sphere_mean, mean_length, sample_directions
from models_engine.linalg import sum_by_group

__all__ = ["MODE_TOLERANCE", "LabelProfiles", "MixtureGroup", "MixtureGroups"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MODE_TOLERANCE = 1e-6  # of a group's log density, where rankings are incomplete: memberships move it by more


@dataclass(frozen=True, eq=False)
class LabelProfiles:
    """Labels summed over annotators who gave the same labels (a profile). n distinct labels over t items.

    y (n, t): of complete rankings, else 0.   which (n,): row of `before` of an incomplete label, else -1.
    weights (n_profiles, n): each label's weight in a profile.   count (n_profiles,): how many annotators have it.
    profile (n_annotators,): which one.
    """

    y: Floats
    which: Ints
    before: Ints
    weights: scipy.sparse.csr_array
    count: Floats
    profile: Ints

    @classmethod
    def of(cls, data: Comparisons) -> "LabelProfiles":
        """Sum labels by profile; a tied pair is two labels of half weight."""
        y, which, before, label, weight = label_rows(data)
        labels, same = np.unique(np.column_stack([y, which]), axis=0, return_inverse=True)
        shape = (data.n_annotators, len(labels))
        matrix = scipy.sparse.coo_array((weight, (data.annotators[label], same.ravel())), shape=shape).tocsr()
        matrix.sort_indices()
        seen: dict[tuple[bytes, bytes], int] = {}
        profile = np.array([seen.setdefault(key, len(seen)) for key in _keys(matrix)], dtype=np.int64)
        _, first = np.unique(profile, return_index=True)
        count = np.bincount(profile, minlength=len(first)).astype(np.float64)
        return cls(labels[:, :-1], labels[:, -1].astype(np.int64), before, matrix[first], count, profile)

    @property
    def t(self) -> int:
        return self.y.shape[1]

    @cached_property
    def orders(self) -> Orders:
        """Return the incomplete labels of more than eight items, by row of `before`."""
        return Orders.of(self.before)

    def log_likelihood(self, eta: Floats, rankings: Sequence[DrawnRankings] = ()) -> Floats:
        """Return the log likelihood of one such annotator's labels under eta (n_groups, t), (n_profiles, n_groups).

        rankings: of each group; only where incomplete labels are of more than eight items.
        """
        by_row = self.y @ eta.T - log_constant(eta)
        partial = self.which >= 0
        if len(self.before) and rankings:
            known = [self.orders.log_probabilities(one, drawn) for one, drawn in zip(eta, rankings, strict=True)]
            by_row[partial] = np.stack(known, axis=1)[self.which[partial]]
        elif len(self.before):
            by_row[partial] += log_compatible(eta, self.before).T[self.which[partial]]
        return self.weights @ by_row

    def of_members(self, share: Floats) -> AngleLabels:
        """Return all labels, weighted by the membership of each profile (n_profiles,) in a group."""
        weight = self.weights.T @ (share * self.count)
        complete = self.which < 0
        among = sum_by_group(self.which[~complete], weight[~complete], len(self.before))
        total = float(weight[complete].sum())
        return AngleLabels(self.t, weight @ self.y, total, self.before, among, int((~complete).sum()))


def _keys(matrix: scipy.sparse.csr_array) -> list[tuple[bytes, bytes]]:
    """Return each row's columns and values as keys of a dictionary."""
    ends = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    return [(matrix.indices[a:b].tobytes(), matrix.data[a:b].tobytes()) for a, b in ends]


def _go_on() -> None:
    """Do nothing: the default of `check`."""


@dataclass(frozen=True, eq=False)
class MixtureGroup:
    """One group: eta (t,) and the log constant for the memberships, the bound, and the form of its posterior.

    posterior: up to eight items, and where some labels are incomplete, the normal at the mode, in the coordinates of
    `basis`; of complete rankings of more items the variational form.
    rankings: those that incomplete labels of more than eight items are averaged over; else none.
    """

    eta: Floats
    log_constant: float
    bound: float
    posterior: Mode | Variational
    basis: Floats
    rankings: tuple[DrawnRankings, ...] = ()

    @classmethod
    def fitted(
        cls,
        profiles: LabelProfiles,
        share: Floats,
        prior_sd: float,
        start: "MixtureGroup | None",
        rng: np.random.Generator,
        check: Callable[[], None],
        tolerance: float,
        is_last: bool,
    ) -> "MixtureGroup":
        """Fit a group to the profiles by their membership in it, share (n_profiles,).

        The variational form is linear in the memberships at its bound, so that no step decreases it; nor does one at a
        mode, but where rankings are drawn anew.
        """
        labels = profiles.of_members(share)
        target, p = AngleTarget(labels, prior_sd), labels.t - 1
        if labels.t <= EXACT_LIMIT:
            mode = target.mode(None if start is None else target.basis.T @ start.eta, on_iteration=check)
            eta = target.basis @ mode.mean
            return cls(eta, float(log_constant(eta[None])[0]), mode.value, mode, target.basis)
        if len(profiles.before):
            return cls._of_orders(OrderTarget(labels, profiles.orders, prior_sd), start, rng, check, tolerance, is_last)
        check()
        form = fit_variational(labels.resultant, labels.total, match_gamma(prior_sd, p), tolerance=1e-12)
        mean, typical = form.a / form.b, float(np.exp(digamma(form.a))) / form.b
        eta = typical * float(mean_length(form.beta * typical, p)) * form.direction
        constant = float(gammaln(p + 2) + log_sphere_mean(mean, p)) + (p / 2 - 1) * float(np.log(mean / typical))
        return cls(eta, constant, form.bounds[-1], form, target.basis)

    @classmethod
    def _of_orders(
        cls,
        target: OrderTarget,
        start: "MixtureGroup | None",
        rng: np.random.Generator,
        check: Callable[[], None],
        tolerance: float,
        is_last: bool,
    ) -> "MixtureGroup":
        rankings = DrawnRankings.at(np.zeros(target.labels.t), rng) if start is None else start.rankings[0]
        at = None if start is None else target.basis.T @ start.eta
        mode, rankings = target.mode(rankings, rng, at, check, tolerance=tolerance)
        if is_last:
            mode = target.with_exact_root(mode, rankings)
        eta = target.basis @ mode.mean
        return cls(eta, float(log_constant(eta[None])[0]), mode.value, mode, target.basis, (rankings,))

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw eta, (n, t), given the memberships."""
        if isinstance(self.posterior, Mode):
            z = self.posterior.mean + rng.standard_normal((n, len(self.posterior.mean))) @ self.posterior.root.T
            return z @ self.basis.T
        form = self.posterior
        kappa = rng.gamma(form.a, size=n) / form.b
        direction = self.basis.T @ form.direction if form.beta else np.eye(len(form.direction) - 1)[0]
        return kappa[:, None] * sample_directions(direction, kappa * form.beta, rng) @ self.basis.T


@dataclass(frozen=True, eq=False)
class MixtureGroups:
    """All groups: dirichlet (n_groups,) of their shares, memberships (n_profiles, n_groups), and the bound."""

    groups: tuple[MixtureGroup, ...]
    dirichlet: Floats
    memberships: Floats
    bound: float

    @classmethod
    def of(
        cls,
        profiles: LabelProfiles,
        memberships: Floats,
        prior_sd: float,
        start: "MixtureGroups | None" = None,
        *,
        rng: np.random.Generator,
        check: Callable[[], None] = _go_on,
        tolerance: float = MODE_TOLERANCE,
        is_last: bool = False,
    ) -> "MixtureGroups":
        """Fit groups and shares (uniform Dirichlet prior) for these memberships, with the bound on log p(labels).

        rng; tolerance, of a group's log density; and is_last, before draws: for incomplete rankings of more than eight
        items alone.   check is called within long fits, and may raise to cancel.
        """
        earlier = [None] * memberships.shape[1] if start is None else start.groups
        groups = tuple(
            MixtureGroup.fitted(profiles, share, prior_sd, one, rng, check, tolerance, is_last)
            for share, one in zip(memberships.T, earlier, strict=True)
        )
        d = 1 + profiles.count @ memberships
        expected = digamma(d) - digamma(d.sum())
        entropy = -float((profiles.count @ xlogy(memberships, memberships)).sum())
        divergence = float(gammaln(d.sum()) - gammaln(d).sum() - gammaln(len(d)) + (d - 1) @ expected)
        shares = float((profiles.count @ memberships) @ expected)
        return cls(groups, d, memberships, sum(group.bound for group in groups) + shares + entropy - divergence)

    def next_memberships(self, profiles: LabelProfiles) -> Floats:
        """Apply (16): softmax over groups of the expected log share plus the log likelihood of each profile's
        labels.
        """
        eta = np.stack([group.eta for group in self.groups])
        at_eta = profiles.log_likelihood(eta, self._rankings)
        constant = np.array([group.log_constant for group in self.groups]) - log_constant(eta)
        n_labels = np.asarray(profiles.weights.sum(axis=1)).reshape(-1, 1)
        return softmax(at_eta - n_labels * constant + digamma(self.dirichlet), axis=1)

    @property
    def _rankings(self) -> list[DrawnRankings]:
        return [drawn for group in self.groups for drawn in group.rankings]

    @property
    def converged(self) -> bool:
        """Return whether the posterior of every group was found."""
        return all(group.posterior.converged for group in self.groups)

    def dic(
        self,
        profiles: LabelProfiles,
        eta: Floats,
        shares: Floats,
        rng: np.random.Generator,
        check: Callable[[], None] = _go_on,
    ) -> float:
        """Return 2 mean deviance - deviance at the mean, over draws eta (n, n_groups, t) and shares (n, n_groups)."""

        def deviance(eta: Floats, shares: Floats) -> float:
            check()
            drawn = [one.near(at, rng) for one, at in zip(self._rankings, eta, strict=False)]
            return -2 * float(profiles.count @ logsumexp(profiles.log_likelihood(eta, drawn) + np.log(shares), axis=1))

        each = [deviance(one, share) for one, share in zip(eta, shares, strict=True)]
        return 2 * float(np.mean(each)) - deviance(eta.mean(axis=0), shares.mean(axis=0))
