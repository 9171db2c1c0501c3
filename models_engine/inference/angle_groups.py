"""Groups of annotators who rank by angle-based models of their own: memberships and shares by variational Bayes."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, logsumexp, softmax, xlogy

from models_engine.data import Comparisons
from models_engine.inference.angle import (
    AngleLabels,
    AngleTarget,
    Mode,
    Variational,
    fit_variational,
    gamma_of,
    label_rows,
)
from models_engine.inference.permutations import EXACT_LIMIT, log_compatible, log_constant
from models_engine.inference.von_mises_fisher import log_sphere_mean, mean_length, sample_directions
from models_engine.linalg import sums

__all__ = ["Group", "Groups", "Votes"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Votes:
    """Labels summed up: annotators who gave the same labels share a profile. n distinct labels over t items.

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
    def of(cls, data: Comparisons) -> "Votes":
        """A tied pair is two labels of half weight."""
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

    def log_likelihood(self, eta: Floats) -> Floats:
        """(n_profiles, n_groups) of one such annotator's labels under eta (n_groups, t)."""
        by_row = self.y @ eta.T - log_constant(eta)
        if len(self.before):
            partial = self.which >= 0
            by_row[partial] += log_compatible(eta, self.before).T[self.which[partial]]
        return self.weights @ by_row

    def of_members(self, share: Floats) -> AngleLabels:
        """All labels, weighted by how far the annotators of each profile (n_profiles,) belong to a group."""
        weight = self.weights.T @ (share * self.count)
        complete = self.which < 0
        among = sums(self.which[~complete], weight[~complete], len(self.before))
        total = float(weight[complete].sum())
        return AngleLabels(self.t, weight @ self.y, total, self.before, among, int((~complete).sum()))


def _keys(matrix: scipy.sparse.csr_array) -> list[tuple[bytes, bytes]]:
    """Per row its columns and values, as keys of a dictionary."""
    ends = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    return [(matrix.indices[a:b].tobytes(), matrix.data[a:b].tobytes()) for a, b in ends]


@dataclass(frozen=True, eq=False)
class Group:
    """One group: eta (t,) and the log constant as memberships see them, the bound, and its posterior's form.

    posterior: to eight items the normal around the mode, in the coordinates of `basis`; beyond, the variational form.
    """

    eta: Floats
    log_constant: float
    bound: float
    posterior: Mode | Variational
    basis: Floats

    @classmethod
    def fitted(cls, labels: AngleLabels, prior_sd: float, start: "Group | None" = None) -> "Group":
        """The variational form is linear in the memberships where it touches its bound, so that no step lowers it."""
        target, p = AngleTarget(labels, prior_sd), labels.t - 1
        if labels.t <= EXACT_LIMIT:
            mode = target.mode(None if start is None else target.basis.T @ start.eta)
            eta = target.basis @ mode.mean
            return cls(eta, float(log_constant(eta[None])[0]), mode.value, mode, target.basis)
        form = fit_variational(labels.resultant, labels.total, gamma_of(prior_sd, p), tolerance=1e-12)
        mean, typical = form.a / form.b, float(np.exp(digamma(form.a))) / form.b
        eta = typical * float(mean_length(form.beta * typical, p)) * form.direction
        constant = float(gammaln(p + 2) + log_sphere_mean(mean, p)) + (p / 2 - 1) * float(np.log(mean / typical))
        return cls(eta, constant, form.bounds[-1], form, target.basis)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """(n, t) draws of eta, memberships held."""
        if isinstance(self.posterior, Mode):
            z = self.posterior.mean + rng.standard_normal((n, len(self.posterior.mean))) @ self.posterior.root.T
            return z @ self.basis.T
        form = self.posterior
        kappa = rng.gamma(form.a, size=n) / form.b
        direction = self.basis.T @ form.direction if form.beta else np.eye(len(form.direction) - 1)[0]
        return kappa[:, None] * sample_directions(direction, kappa * form.beta, rng) @ self.basis.T


@dataclass(frozen=True, eq=False)
class Groups:
    """Where the updates stand: groups, dirichlet (n_groups,) of their shares, memberships (n_profiles, n_groups)."""

    groups: tuple[Group, ...]
    dirichlet: Floats
    memberships: Floats
    bound: float

    @classmethod
    def of(cls, votes: Votes, memberships: Floats, prior_sd: float, start: "Groups | None" = None) -> "Groups":
        """Best groups and shares (uniform Dirichlet prior) for these memberships; the bound on log p(labels)."""
        earlier = [None] * memberships.shape[1] if start is None else start.groups
        groups = tuple(
            Group.fitted(votes.of_members(share), prior_sd, one)
            for share, one in zip(memberships.T, earlier, strict=True)
        )
        d = 1 + votes.count @ memberships
        expected = digamma(d) - digamma(d.sum())
        entropy = -float((votes.count @ xlogy(memberships, memberships)).sum())
        divergence = float(gammaln(d.sum()) - gammaln(d).sum() - gammaln(len(d)) + (d - 1) @ expected)
        shares = float((votes.count @ memberships) @ expected)
        return cls(groups, d, memberships, sum(group.bound for group in groups) + shares + entropy - divergence)

    def next_memberships(self, votes: Votes) -> Floats:
        """(16): softmax of each profile's expected log share plus log likelihood of the labels, by group."""
        eta = np.stack([group.eta for group in self.groups])
        at_eta = votes.log_likelihood(eta)
        constant = np.array([group.log_constant for group in self.groups]) - log_constant(eta)
        n_labels = np.asarray(votes.weights.sum(axis=1)).reshape(-1, 1)
        return softmax(at_eta - n_labels * constant + digamma(self.dirichlet), axis=1)

    def dic(self, votes: Votes, eta: Floats, shares: Floats) -> float:
        """2 mean deviance - deviance at the mean, over draws eta (n, n_groups, t) and shares (n, n_groups)."""

        def deviance(eta: Floats, shares: Floats) -> float:
            return -2 * float(votes.count @ logsumexp(votes.log_likelihood(eta) + np.log(shares), axis=1))

        each = [deviance(one, share) for one, share in zip(eta, shares, strict=True)]
        return 2 * float(np.mean(each)) - deviance(eta.mean(axis=0), shares.mean(axis=0))
