"""Groups of annotators along components of taste: a mixture that allows for how little is known of each one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

__all__ = ["Groups", "groups"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST = 6
FEWEST_MEMBERS = 3  # a group of fewer is an outlier
TELLING = 0.3  # components of which the answers settle less, on average, only blur the groups
N_STARTS = 5
N_STEPS = 200
LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class Groups:
    """n: how many groups stand out, 1 if none do.   member (n_annotators,): the likeliest group.
    certainty (n_annotators,): its probability.   bic: of 1, 2, ... groups; the smallest was taken."""

    n: int
    member: Ints
    certainty: Floats
    bic: tuple[float, ...]


def groups(scores: Floats, deviations: Floats, *, most: int = MOST, seed: int = 0) -> Groups:
    """Of posterior means and standard deviations (n_annotators, c) of scores that are N(0, 1) before any answer.

    Somebody with few answers has a score near 0 because little is known, not because they are in the middle. So each
    is taken back to what the answers alone say, y = m / (1 - s^2) with noise s^2 / (1 - s^2), and a mixture of
    Gaussians of one width per component is fitted to that by EM (Bovy, Hogg & Roweis 2011; only means differ). The
    number of groups has the smallest BIC. Components of which little is known are left out.
    """
    m, variance = np.asarray(scores, dtype=np.float64), np.clip(np.asarray(deviations) ** 2, 1e-4, 1 - 1e-4)
    told = np.flatnonzero((1 - variance).mean(axis=0) >= TELLING)
    told = told if len(told) else np.array([0])
    m, variance = m[:, told], variance[:, told]
    y, noise = m / (1 - variance), variance / (1 - variance)
    rng = np.random.default_rng(seed)
    n, width = y.shape
    found = [_best(y, noise, k, rng) for k in range(1, max(1, min(most, n // (2 * FEWEST_MEMBERS))) + 1)]
    bic = tuple(-2 * one[0] + (k - 1 + k * width + width) * np.log(max(n, 2)) for k, one in enumerate(found, start=1))
    for k in np.argsort(bic):
        share = found[int(k)][1]
        member = share.argmax(axis=1)
        counts = np.bincount(member, minlength=share.shape[1])
        if counts.min() >= FEWEST_MEMBERS or k == 0:
            order = np.argsort(-counts, kind="stable")
            rank = np.empty_like(order)
            rank[order] = np.arange(len(order))
            return Groups(int(k) + 1, rank[member], share.max(axis=1), tuple(float(value) for value in bic))
    raise AssertionError("one group always holds")


def _best(y: Floats, noise: Floats, k: int, rng: np.random.Generator) -> tuple[float, Floats]:
    """(log likelihood, P(group) (n, k)) of the best of several starts."""
    starts = [_fit(y, noise, y[rng.choice(len(y), k, replace=False, p=_weight(noise))]) for _ in range(N_STARTS)]
    return max(starts[:1] if k == 1 else starts, key=lambda one: one[0])


def _weight(noise: Floats) -> Floats:
    """Starts are drawn among those who are known best."""
    weight = 1 / (1 + noise).sum(axis=1)
    return weight / weight.sum()


def _fit(y: Floats, noise: Floats, means: Floats) -> tuple[float, Floats]:
    shares, width, before = np.full(len(means), 1 / len(means)), np.ones(y.shape[1]), -np.inf
    for _ in range(N_STEPS):
        total = noise + width
        off = y[:, None, :] - means
        log = (
            np.log(np.maximum(shares, LEAST))
            - (off**2 / total[:, None] + np.log(2 * np.pi * total[:, None])).sum(2) / 2
        )
        evidence = logsumexp(log, axis=1)
        likelihood, share = float(evidence.sum()), np.exp(log - evidence[:, None])
        if likelihood - before < 1e-5 * abs(likelihood):
            break
        before = likelihood
        gain = width / total  # how far each one's own place follows what the answers say
        place = means + gain[:, None] * off
        weight = share[:, :, None]
        means = (weight * place).sum(axis=0) / np.maximum(share.sum(axis=0), LEAST)[:, None]
        width = (weight * ((place - means) ** 2 + (width - gain * width)[:, None])).sum(axis=(0, 1)) / len(y)
        shares, width = share.mean(axis=0), np.maximum(width, LEAST)
    return likelihood, share
