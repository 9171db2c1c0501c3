"""Reliability of the items' utilities: scale separation from one fit, split halves from many pairs of fits."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from models_engine.arrays import raising, read_count, read_deviations, read_number, read_values
from models_engine.data import Comparisons
from models_engine.errors import InsufficientData, InvalidSetting, NotConverged
from models_engine.estimators.base import Estimator
from models_engine.estimators.bradley_terry import QUICK
from models_engine.linalg import centre
from models_engine.posterior import BasePosterior
from models_engine.validation import check_rows

__all__ = ["Reliability", "SplitHalf", "compute_separation", "scale_separation", "split_half"]

Floats = NDArray[np.float64]
N_DRAWS = 1_000
N_SPLITS = 20
LEVEL = 0.9
MIN_ITEMS = 5


@dataclass(frozen=True)
class Reliability:
    """Scale-separation reliability (SSR) with its interval; nan where there is nothing to separate.

    separation: true standard deviation over the root mean square error, G = sqrt(SSR / (1 - SSR)).   strata: how many
    levels could be told apart, (4 G + 1) / 3 (Wright & Masters 1982, p. 106).
    """

    value: float
    low: float
    high: float
    separation: float
    strata: float
    level: float = LEVEL


@dataclass(frozen=True)
class SplitHalf:
    """Correlations between halves. half: plain, the mean over splits, which is the reliability of half the answers.

    full: stepped up to all answers (Spearman-Brown).   low, high: interval of `full`; half_low, half_high: of `half`.
    n_splits: splits that could be used.   n_items: items compared in both halves, on average.
    """

    half: float
    half_low: float
    half_high: float
    full: float
    low: float
    high: float
    n_splits: int
    n_items: float


def compute_separation(means: ArrayLike, deviations: ArrayLike) -> float:
    """Compute SSR from stored posterior means and standard deviations (n_items,) of centred utilities; numpy only.

    SSR is the share of the true variance in that of the estimates. With maximum likelihood estimates b and standard
    errors it is (var(b) - mean(se^2)) / var(b) (Pollitt 2012; Bramley 2015, p. 3; Verhavert, De Maeyer, Donche &
    Coertjens 2018). Posterior means are shrunk instead of spread by their errors: the true variance is
    var(m) + mean(sd^2), of which they hold var(m), so that SSR = sum m^2 / (sum m^2 + sum sd^2) (empirical reliability
    of expected a posteriori scores: Bechger, Maris, Verstralen & Beguin 2003). Both are the squared correlation of
    estimate and truth. nan for less than two items or no variance at all. Raises InvalidData.
    """
    mean, deviation = centre(read_values(means, "means")), read_deviations(deviations, "deviations")
    check_rows({"means": mean, "deviations": deviation}, "item")
    spread, doubt = float((mean**2).sum()), float((deviation**2).sum())
    return spread / (spread + doubt) if len(mean) > 1 and spread + doubt > 0 else float("nan")


def scale_separation(
    posterior: BasePosterior, level: float = LEVEL, *, rng: np.random.Generator | None = None
) -> Reliability:
    """Compute SSR of a fit, see compute_separation, over the posterior's items: restrict it to one connected part
    first.

    What is open about a learned scale makes utilities larger or smaller together, which changes no correlation: it is
    left out (BasePosterior.deviations_at_scale).
    Interval: the squared correlation of the posterior means with the truth, the truth drawn from the posterior; its
    width says how much that differs between worlds with these answers. SSR holds as far as the model does: it does not
    count that another panel of judges may differ (Bramley 2015; split_half by judges does), and the maximum
    likelihood form is inflated by choosing pairs by their closeness, which posterior means are less (Bramley & Vitello
    2019). Raises InvalidSetting.
    """
    level = _read_level(level)
    value = compute_separation(posterior.utilities(), posterior.deviations_at_scale())
    if not np.isfinite(value):
        return Reliability(value, value, value, value, value, level)
    draws = posterior.sample(N_DRAWS, rng=np.random.default_rng(0) if rng is None else rng)
    squared = _correlations(posterior.utilities(), draws) ** 2
    low, high = np.quantile(squared, [(1 - level) / 2, (1 + level) / 2])
    separation = float(np.sqrt(value / (1 - value))) if value < 1 else float("inf")
    return Reliability(value, float(low), float(high), separation, (4 * separation + 1) / 3, level)


def _correlations(mean: Floats, draws: Floats) -> Floats:
    """Return (n_draws,) correlation of each row with the means; 0 where either does not vary."""
    one, many = centre(mean), centre(draws)
    size = np.sqrt((one**2).sum() * (many**2).sum(axis=1))
    return np.divide(many @ one, size, out=np.zeros(len(many)), where=size > 0)


def split_half(
    data: Comparisons,
    by: Literal["judges", "answers"] = "judges",
    *,
    estimator: Estimator | None = None,
    n_splits: int = N_SPLITS,
    level: float = LEVEL,
    rng: np.random.Generator | None = None,
) -> SplitHalf:
    """Correlate the utilities from two random halves of the judges, or of the answers, over n_splits splits.

    Halves of judges say how far another panel would agree (Bisson, Gilmore, Inglis & Jones 2016; Pollitt 2012); halves
    of the answers to one question are the custom for best-worst scaling (Kiritchenko & Mohammad 2017). `half` is the
    mean correlation r over splits; `full` steps each split up to all answers, 2 r / (1 + r) (Spearman 1910, Brown
    1910), and takes the mean. `estimator` fits each half (where none is given, BradleyTerry
    with a fixed prior, by its mode); the utilities of items compared in both halves are correlated.

    Interval: Fisher's z of the mean with standard error 1 / sqrt(n_items - 3), which is that of a single split's
    correlation over items drawn at random; where there are few judges who differ in taste it is too short.

    Raises InsufficientData: under two judges or answers, or no split with five items or more in both halves; and
    InvalidSetting.
    """
    if by not in ("judges", "answers"):
        raise InvalidSetting(f"by is {by!r}; split the judges or the answers.", value=by)
    level, n_splits = _read_level(level), _read_n_splits(n_splits)
    generator = np.random.default_rng(0) if rng is None else rng
    maker = QUICK if estimator is None else estimator
    found = []
    for one, other in _split_data(data, by, n_splits, generator):
        both = np.flatnonzero((one.n_comparisons() > 0) & (other.n_comparisons() > 0))
        if len(both) >= MIN_ITEMS:
            left, right = (_utilities(maker, part)[both] for part in (one, other))
            found.append((float(_correlations(left, right[None, :])[0]), len(both)))
    if not found:
        raise InsufficientData(
            f"no split of the {by} leaves {MIN_ITEMS} items compared in both halves; collect more answers."
        )
    r, n_items = np.array([r for r, _ in found]), float(np.mean([n for _, n in found]))
    half, full = float(r.mean()), float(_step_up(r).mean())
    reach = float(ndtri((1 + level) / 2)) / np.sqrt(n_items - 3)
    ends = [np.tanh(np.arctanh(np.clip(half, -0.9999, 0.9999)) + sign * reach) for sign in (-1, 1)]
    stepped = [float(end) for end in _step_up(np.array(ends))]
    return SplitHalf(half, float(ends[0]), float(ends[1]), full, stepped[0], stepped[1], len(r), n_items)


def _read_level(level: float) -> float:
    with raising(InvalidSetting):
        return read_number(level, "level", above=0.0, below=1.0)


def _read_n_splits(n_splits: int) -> int:
    with raising(InvalidSetting):
        n_splits = read_count(n_splits, "n_splits")
    if n_splits < 1:
        raise InvalidSetting(f"n_splits is {n_splits}; give 1 or more.", value=n_splits)
    return n_splits


def _step_up(r: Floats) -> Floats:
    """Apply Spearman-Brown, 2 r / (1 + r); r itself if negative."""
    return np.where(r > 0, 2 * r / (1 + np.maximum(r, 0)), r)


def _split_data(
    data: Comparisons, by: str, n_splits: int, rng: np.random.Generator
) -> Iterator[tuple[Comparisons, Comparisons]]:
    """Yield random halves of the judges with a counted answer, or of the counted answers; odd ones alternate."""
    counted = np.flatnonzero(data.weights > 0)
    unit = data.annotators[counted] if by == "judges" else counted
    units = np.unique(unit)
    if len(units) < 2:
        raise InsufficientData(f"{len(units)} {by} cannot be split into halves; two or more are needed.")
    for split in range(n_splits):
        first = rng.permutation(units)[: (len(units) + split % 2) // 2]
        inside = np.isin(unit, first)
        yield data.subset(counted[inside]), data.subset(counted[~inside])


def _utilities(estimator: Estimator, data: Comparisons) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return estimator.fit(data).utilities()
