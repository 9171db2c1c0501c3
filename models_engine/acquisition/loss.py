"""How much is still open: the expected loss of an aim under a posterior, and the items whose question is answered."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from models_engine.acquisition.aims import (
    N_NEIGHBOURS,
    SURE,
    Aim,
    Marginals,
    check_aim,
    cuts_of,
    neighbours,
    read_marginals,
    surely_tied,
)
from models_engine.arrays import read_covariance, read_floats
from models_engine.constants import Z90
from models_engine.errors import InvalidData
from models_engine.linalg import cholesky

__all__ = ["draw_utilities", "draw_wrong_best", "expected_loss", "settled"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
MAX_DRAWS, MIN_DRAWS, MAX_CELLS = 2_000, 200, 2_000_000  # draws, and draws times items


def settled(mean: ArrayLike, sd: ArrayLike, aim: Aim, *, margin: float = 0.0, parts: ArrayLike | None = None) -> Bools:
    """Return whether each item's question is answered, (n_items,).

    best, classes: with every boundary, P(on the other side than its mean) is below 5%, or P(within margin/2 of it) at
    least 95%. whole: it is separated from each item of its part (P(above or below) at least 95%) or tied with it
    (P(less than the margin apart) at least 95%). The best k's boundary is midway between the k-th and the next mean.
    Items that nothing can be asked about, alone in their part or in one of k items or fewer, are not settled.
    Arguments and errors as for candidate_sets.
    """
    marginals = read_marginals(mean, sd, aim, parts, margin)
    if aim.kind == "whole":
        return _settled_among_neighbours(marginals, margin)
    cuts = cuts_of(marginals, aim)
    distance, deviation = np.abs(marginals.mean[:, None] - cuts), marginals.sd[:, None]
    with np.errstate(invalid="ignore"):
        known = (ndtr(-distance / deviation) < 1 - SURE) | surely_tied(distance, deviation, margin / 2)
    return np.asarray((known & np.isfinite(cuts)).all(axis=1))


def expected_loss(
    mean: ArrayLike,
    sd_or_covariance: ArrayLike,
    aim: Aim,
    *,
    margin: float = 0.0,
    parts: ArrayLike | None = None,
) -> float:
    """Return the expected loss of stopping now, under the posterior.

    best: how many of the k items with the highest means are not among the true best k, those no more than the margin
    below the last of them not counted; summed over parts; by draws, always the same ones.
    classes: how many items are in another class than that of their mean, by more than margin/2.
    whole: mean width of the items' 90% intervals, in logits.
    sd_or_covariance: (n_items,) or (n_items, n_items).   Arguments and errors as for candidate_sets.
    """
    marginals, covariance = _read(mean, sd_or_covariance, aim, margin, parts)
    if aim.kind == "whole":
        return float(2 * Z90 * marginals.sd.mean())
    if aim.kind == "classes":
        return _expected_misplaced(marginals, np.asarray(aim.boundaries, dtype=np.float64), margin)
    return float(_wrong_best(marginals, aim.k or 0, margin, covariance).mean())


def draw_wrong_best(
    mean: ArrayLike,
    sd_or_covariance: ArrayLike,
    aim: Aim,
    *,
    margin: float = 0.0,
    parts: ArrayLike | None = None,
) -> Floats:
    """Return how many of the best k by their means are wrong, as in expected_loss, in each draw: (n_draws,).

    Raises InvalidAim where the aim is not "best".
    """
    check_aim(aim, "best")
    marginals, covariance = _read(mean, sd_or_covariance, aim, margin, parts)
    return _wrong_best(marginals, aim.k or 0, margin, covariance)


def draw_utilities(mean: Floats, sd: Floats, covariance: Floats | None, n_draws: int) -> Floats:
    """Draw (n_draws, n_items), always the same for the same arguments; each draw comes with its mirror image."""
    half = np.random.default_rng(0).standard_normal((n_draws // 2, len(mean)))
    noise = np.concatenate([half, -half])
    if covariance is None:
        return np.asarray(mean + noise * sd)
    try:
        lower = cholesky(covariance + 1e-9 * sd.max() ** 2 * np.eye(len(mean)))
    except np.linalg.LinAlgError as error:
        raise InvalidData("the covariance has a negative eigenvalue; give one of real differences.") from error
    return np.asarray(mean + noise @ lower.T)


def _read(
    mean: ArrayLike, sd_or_covariance: ArrayLike, aim: Aim, margin: float, parts: ArrayLike | None
) -> tuple[Marginals, Floats | None]:
    spread = read_floats(sd_or_covariance, "sd_or_covariance")
    if spread.ndim not in (1, 2) or (spread.ndim == 2 and spread.shape[0] != spread.shape[1]):
        raise InvalidData(f"sd_or_covariance has shape {spread.shape}; give (n_items,) or (n_items, n_items).")
    if spread.ndim == 2:
        spread = read_covariance(spread, "sd_or_covariance")
    sd = np.sqrt(np.diagonal(spread)) if spread.ndim == 2 else spread
    return read_marginals(mean, sd, aim, parts, margin), spread if spread.ndim == 2 else None


def _expected_misplaced(marginals: Marginals, cuts: Floats, margin: float) -> float:
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
    own = np.searchsorted(cuts, marginals.mean, side="right")
    low = (ends[own] - margin / 2 - marginals.mean) / marginals.sd
    high = (ends[own + 1] + margin / 2 - marginals.mean) / marginals.sd
    return float((ndtr(low) + ndtr(-high)).sum())


def _wrong_best(marginals: Marginals, k: int, margin: float, covariance: Floats | None) -> Floats:
    n_draws = int(np.clip(MAX_CELLS // marginals.n_items, MIN_DRAWS, MAX_DRAWS))
    draws = draw_utilities(marginals.mean, marginals.sd, covariance, n_draws)
    total = np.zeros(len(draws))
    for part in np.flatnonzero(np.bincount(marginals.part) > k):
        items = np.flatnonzero(marginals.part == part)
        own = draws[:, items]
        last = np.partition(own, len(items) - k, axis=1)[:, len(items) - k]
        chosen = np.argsort(-marginals.mean[items], kind="stable")[:k]
        total += (own[:, chosen] < last[:, None] - margin).sum(axis=1)
    return total


def _settled_among_neighbours(marginals: Marginals, margin: float) -> Bools:
    order = marginals.order()
    mean, sd, part = marginals.mean[order], marginals.sd[order], marginals.part[order]
    known = (np.bincount(part) > 1)[part]
    for upper, lower in neighbours(part, N_NEIGHBOURS):
        distance, deviation = mean[upper] - mean[lower], np.hypot(sd[upper], sd[lower])
        open_pairs = ~((ndtr(distance / deviation) >= SURE) | surely_tied(distance, deviation, margin))
        known[upper[open_pairs]] = False
        known[lower[open_pairs]] = False
    result = np.empty(len(order), dtype=bool)
    result[order] = known
    return result
