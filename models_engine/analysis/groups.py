"""Groups of annotators along components of taste: a mixture model that accounts for each score's uncertainty."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Enough", "Groups", "enough_to_tell", "find_groups"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_GROUPS = 6
MIN_MEMBERS = 3  # a group of fewer is an outlier
MIN_INFORMATION = 0.3  # components with a smaller mean reduction of variance are left out
LEVEL = 0.05  # significance level of the test for one more group
POWER = 0.8  # with less power to detect two clearly opposed groups there are too few annotators
CAMPS_WITHIN = 0.1  # variance within each of two clearly opposed groups, of a score's 1
N_STARTS, N_STEPS = 4, 40
MAX_NUMBERS = 30_000  # annotators times simulated crowds, of which there are 39 to 199
MIN_SCALE = 1e-6
TIMES = (2.0, 3.0, 4.0, 6.0, 8.0, 12.0)  # as many annotators, or answers, as are tried


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups found. n: their number; 1 if there is one crowd, 0 if there are too few annotators to decide.

    member (n_annotators,): the most probable group, 0 where n < 2.   certainty (n_annotators,): its probability.
    bic: of 1, 2, ... groups, for comparison with other programs, not used here.   p_values: of each further group.
    power: the probability of detecting two clearly opposed groups with these numbers and uncertainties; 1 if n > 1.
    """

    n: int
    member: Ints
    certainty: Floats
    bic: tuple[float, ...]
    p_values: tuple[float, ...] = ()
    power: float = 1.0


def find_groups(scores: Floats, deviations: Floats, *, most: int = MAX_GROUPS, seed: int = 0) -> Groups:
    """Find groups from posterior means and standard deviations (n_annotators, c) of scores that are N(0, 1) a priori.

    Pass only components that are more than noise; without any there are too few answers to decide.

    With few answers a score is near 0 because of the prior. So the prior is removed, y = m / (1 - s^2) with noise
    variance s^2 / (1 - s^2), and a mixture of Gaussians with one width per component is fitted to y by EM (Bovy, Hogg &
    Roweis 2011; only means differ). A further group is accepted if its likelihood ratio is exceeded in at most 5% of
    crowds simulated without it (McLachlan 1987). If there is no second group, the same test is applied to simulated
    crowds of two clearly opposed groups: if it detects them in fewer than 80%, there are too few annotators.
    """
    m, variance = np.asarray(scores, dtype=np.float64), np.clip(np.asarray(deviations) ** 2, 1e-4, 1 - 1e-4)
    informative = np.flatnonzero((1 - variance).mean(axis=0) >= MIN_INFORMATION) if len(m) else np.zeros(0, np.int64)
    nobody = Groups(0, np.zeros(len(m), np.int64), np.ones(len(m)), (), (), 0.0)
    if not len(informative) or len(m) < 2 * MIN_MEMBERS:
        return nobody
    m, variance = m[:, informative], variance[:, informative]
    y, noise = m / (1 - variance), variance / (1 - variance)
    rng = np.random.default_rng(seed)
    found, p_values, null = [_best(y, noise, 1, rng)], [], np.zeros(0)
    for k in range(2, min(most, len(y) // MIN_MEMBERS) + 1):
        larger = _best(y, noise, k, rng)
        null = _null(found[-1], noise, k, rng) if k == 2 or larger.smallest() >= MIN_MEMBERS else null
        p_values.append(_share_above(null, 2 * (larger.likelihood - found[-1].likelihood)))
        if p_values[-1] > LEVEL or larger.smallest() < MIN_MEMBERS:
            break
        found.append(larger)
    bic = tuple(one.bic() for one in found)
    if len(found) == 1:
        power = _power(np.quantile(null, 1 - LEVEL), noise, rng)
        return Groups(int(power >= POWER), nobody.member, nobody.certainty, bic, tuple(p_values), power)
    order = np.argsort(-found[-1].counts(), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    share = found[-1].share
    return Groups(len(found), rank[share.argmax(axis=1)], share.max(axis=1), bic, tuple(p_values))


@dataclass(frozen=True)
class Enough:
    """What would be enough to detect two clearly opposed groups; None where twelve times as much is not.

    annotators: with scores as uncertain as now.   answers: of each annotator, as a multiple of now.
    """

    annotators: int | None
    answers: float | None


def enough_to_tell(deviations: Floats, *, seed: int = 0) -> Enough:
    """Find how many more annotators or answers give find_groups a power of 80%.

    deviations: as for find_groups, of the annotators there are. Further annotators are as uncertain as these; a score's
    information, 1 / s^2 - 1, grows in proportion to answers.
    """
    variance = np.clip(np.asarray(deviations) ** 2, 1e-4, 1 - 1e-4)
    noise, rng = variance / (1 - variance), np.random.default_rng(seed)
    if not len(noise) or not noise.shape[1]:
        return Enough(None, None)
    people = (times for times in TIMES if _power_at(np.resize(noise, (round(times * len(noise)), noise.shape[1])), rng))
    answers = (times for times in TIMES if _power_at(noise / times, rng))
    found = next(people, None)
    return Enough(None if found is None else round(found * len(noise)), next(answers, None))


def _power_at(noise: Floats, rng: np.random.Generator) -> bool:
    """Tell whether two clearly opposed groups would be detected in 80% of crowds with this noise (n_annotators, c)."""
    if len(noise) < 2 * MIN_MEMBERS or (1 / (1 + noise)).mean(axis=0).max() < MIN_INFORMATION:
        return False
    n_crowds = int(np.clip(MAX_NUMBERS // len(noise), 39, 199))
    null = _ratios(np.sqrt(1 + noise) * rng.standard_normal((n_crowds, *noise.shape)), noise, 2, rng)
    return _power(float(np.quantile(null, 1 - LEVEL)), noise, rng) >= POWER


@dataclass(frozen=True, eq=False)
class _Mixture:
    """Fitted mixture: log likelihood, means (k, c), width (c,), shares (k,), and P(group) share (n, k)."""

    likelihood: float
    means: Floats
    width: Floats
    shares: Floats
    share: Floats

    def counts(self) -> Ints:
        return np.bincount(self.share.argmax(axis=1), minlength=len(self.means))

    def smallest(self) -> int:
        return int(self.counts().min())

    def bic(self) -> float:
        k, width = self.means.shape
        return float(-2 * self.likelihood + (k - 1 + k * width + width) * np.log(max(len(self.share), 2)))


def _best(y: Floats, noise: Floats, k: int, rng: np.random.Generator) -> _Mixture:
    likelihood, means, width, shares, share = _fits(y[None], noise, k, rng)
    return _Mixture(float(likelihood[0]), means[0], width[0], shares[0], share[0])


def _null(fit: _Mixture, noise: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Return (n_crowds,) likelihood ratios of k groups against one fewer, of crowds drawn from the fit with
    one fewer.
    """
    n_crowds = int(np.clip(MAX_NUMBERS // len(noise), 39, 199))
    inside = np.stack([rng.choice(len(fit.shares), len(noise), p=fit.shares) for _ in range(n_crowds)])
    sd = np.sqrt(fit.width + noise)
    return _ratios(fit.means[inside] + sd * rng.standard_normal((n_crowds, *noise.shape)), noise, k, rng)


def _power(threshold: float, noise: Floats, rng: np.random.Generator) -> float:
    """Return the share of crowds of two equal groups on the first component with a likelihood ratio above the
    threshold.
    """
    n_crowds, means = int(np.clip(MAX_NUMBERS // len(noise), 39, 199)), np.zeros_like(noise)
    means[:, 0] = np.where(np.arange(len(noise)) % 2, 1.0, -1.0) * np.sqrt(1 - CAMPS_WITHIN)
    places = np.stack([rng.permutation(means) for _ in range(n_crowds)])
    widths = np.r_[CAMPS_WITHIN, np.ones(noise.shape[1] - 1)]
    y = places + np.sqrt(widths + noise) * rng.standard_normal(places.shape)
    return float((_ratios(y, noise, 2, rng) > threshold).mean())


def _share_above(null: Floats, ratio: float) -> float:
    return float((1 + (null >= ratio).sum()) / (1 + len(null)))


def _ratios(y: Floats, noise: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Return 2 (log likelihood of k groups - of k - 1) of crowds y (n_crowds, n, c); 0 where a group is an
    outlier only.
    """
    larger, smaller = _fits(y, noise, k, rng), _fits(y, noise, k - 1, rng)
    return np.where(_is_whole(larger[4]), 2 * (larger[0] - smaller[0]), 0.0)


def _is_whole(share: Floats) -> NDArray[np.bool_]:
    """Return (n_crowds,) whether each group of `share` (n_crowds, n, k) has enough members."""
    member = share.argmax(axis=2)
    counts = (member[:, :, None] == np.arange(share.shape[2])).sum(axis=1)
    return np.asarray(counts.min(axis=1) >= MIN_MEMBERS)


def _fits(y: Floats, noise: Floats, k: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return (likelihood, means, width, shares, share) of crowds y (n_crowds, n, c), the best of several starts.

    Those whose groups all have enough members come before others.
    """
    best = _fit(y, noise, _starts(y, noise, k, rng))
    for _ in range(0 if k == 1 else N_STARTS - 1):
        other = _fit(y, noise, _starts(y, noise, k, rng))
        whole, was_whole = _is_whole(other[4]), _is_whole(best[4])
        better = (whole & ~was_whole) | ((whole == was_whole) & (other[0] > best[0]))
        for kept, new in zip(best, other, strict=True):
            kept[better] = new[better]
    return best


def _starts(y: Floats, noise: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Draw the places of k annotators with little noise as initial means, (n_crowds, k, c)."""
    keys = np.log(rng.random(y.shape[:2])) * (1 + noise).sum(axis=1)  # Efraimidis & Spirakis 2006
    chosen = np.argsort(-keys, axis=1)[:, :k]
    return np.take_along_axis(y, chosen[:, :, None], axis=1)


def _fit(y: Floats, noise: Floats, means: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Run EM on all crowds at once for a fixed number of steps, so that their likelihoods are comparable.

    Arrays are (k, c, n, n_crowds) inside: crowds, of which there are many unless there is one, come last, as numpy is
    slow along short axes.
    """
    k, n = means.shape[1], y.shape[1]
    width = np.maximum((y.var(axis=1) - np.median(noise, axis=0)) / k**2, 0.1).T[None, :, None]
    y, noise = np.ascontiguousarray(y.transpose(2, 1, 0))[None], np.ascontiguousarray(noise.T)[None, :, :, None]
    means, shares = means.transpose(1, 2, 0)[:, :, None], np.full((k, 1, y.shape[3]), 1 / k)
    for step in range(N_STEPS + 1):
        total, off = noise + width, y - means
        constant = np.log(2 * np.pi * total).sum(axis=1)
        log = np.log(np.maximum(shares, MIN_SCALE)) - ((off**2 / total).sum(axis=1) + constant) / 2
        share, evidence = _normalize(log)
        if step == N_STEPS:
            break
        gain = width / total  # weight of an annotator's own y in the posterior mean of their place
        place, weight = means + gain * off, share[:, None]
        members = np.maximum(share.sum(axis=1), MIN_SCALE)[:, None, None]
        means = (weight * place).sum(axis=2, keepdims=True) / members
        left = (place - means) ** 2 + width * (1 - gain)
        width = np.maximum((weight * left).sum(axis=(0, 2), keepdims=True) / n, MIN_SCALE)
        shares = share.mean(axis=1, keepdims=True)
    return evidence.sum(axis=0), means[:, :, 0].transpose(2, 0, 1), width[0, :, 0].T, shares[:, 0].T, share.transpose()


def _normalize(log: Floats) -> tuple[Floats, Floats]:
    """Return exp(log) divided by its sum over groups (axis 0), and the logarithm of that sum."""
    top = log.max(axis=0)
    share = np.exp(log - top)
    total = share.sum(axis=0)
    return share / total, top + np.log(total)
