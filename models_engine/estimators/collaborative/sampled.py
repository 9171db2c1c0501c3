"""Sampling of tastes for CollaborativeGP and CrowdGPPL: answers, prior densities, summaries of the draws."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr

from models_engine.data import Comparisons
from models_engine.estimators.collaborative.steps import Settings
from models_engine.inference.probit_ep.pair_sites import MAX_COPIES
from models_engine.inference.tastes.perception import AnswerGroup
from models_engine.inference.tastes.sampling import GRID, LOG_STEP, Sampled, ScaleDensities
from models_engine.inference.tastes.scales import MixtureWeights
from models_engine.linalg import centre_covariance, centre_parts, sum_by_group

__all__ = [
    "ConsensusFactors",
    "Widening",
    "answer_groups",
    "count_components",
    "count_components_beyond_noise",
    "count_sweeps",
    "is_sampled",
    "log_density_of_total",
    "log_normal",
    "scale_densities",
    "taste_sizes",
    "told_taste",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MIN_SAMPLED = 8  # annotators: of fewer, draws of how tastes vary are little but their prior and their Monte Carlo error
MAX_SAMPLED = 60  # of more, estimated tastes predict better (Sushi-A, 100 people: cross entropy .295 against .319)
MAX_PLACES = 20_000  # items shown, over all answers: a sweep takes 2 ms per thousand on one core
MIN_WARM_UP, FEWEST_DRAWS, MOST_DRAWS = 250, 450, 1800  # sweeps; the fewest from half of MAX_PLACES
MAX_CELLS = 200_000  # annotators times items
MAX_ITEMS, MAX_RELATED = 300, 100  # without and with item features, where a sweep takes the cube of the items
LOG_TOTALS = np.log(GRID[0]) + LOG_STEP * np.arange(len(GRID) + 24)  # beyond GRID by more than its points' root sum
COMPONENT, OWN = 0.4, 0.4  # medians of a component's and of the own part's standard deviation, to a whole taste's
FACTORS = np.exp(np.linspace(-1.0, 2.0, 61))  # by which deviations may be multiplied
MIN_KEPT, MIN_SHARE = 0.55, 0.1  # of a component that is more than noise
FACTOR_LIMITS = (0.25, 4.0)
SIZES = (1 / 6, 1 / 2, 5 / 6)  # quantiles of the size of tastes over which the consensus is averaged


def is_sampled(settings: Settings, data: Comparisons) -> bool:
    """Return whether tastes and scales are sampled: enough annotators, few answers, whole weights, scales not fixed."""
    if settings.covariance != "auto" or settings.steepness or settings.log_scale_sd == 0:
        return False
    related = settings.features and data.item_features is not None and data.item_features.shape[1] > 0
    return bool(
        MIN_SAMPLED <= len(np.unique(data.annotators)) <= MAX_SAMPLED
        and data.n_items <= (MAX_RELATED if related else MAX_ITEMS)
        and data.n_items * data.n_annotators <= MAX_CELLS
        and np.isin(data.weights, np.arange(0, MAX_COPIES + 1)).all()
        and float(data.sizes @ data.weights) <= MAX_PLACES
    )


def count_sweeps(data: Comparisons) -> tuple[int, int]:
    """Return how many sweeps warm up, and how many are drawn from: more where a sweep takes less time.

    Few answers leave the scales wide open, and the chain then needs some 150 sweeps to go from one end to the other.
    """
    places = max(1.0, float(data.sizes @ data.weights))
    n_draws = int(np.clip(FEWEST_DRAWS * MAX_PLACES / 2 / places, FEWEST_DRAWS, MOST_DRAWS))
    return max(MIN_WARM_UP, n_draws // 4), n_draws


def answer_groups(
    data: Comparisons, *, graded: bool = False, sided: NDArray[np.bool_] | None = None
) -> list[AnswerGroup]:
    """Group answers by the size of their sets; one of weight 2 is two. graded: whether the grades of pairs count.

    sided (n_labels,): of which labels it counts which item was shown first; None where of none.
    """
    found = []
    for group in data.groups():
        rows = np.repeat(np.arange(len(group.label)), group.weights.astype(np.int64))
        grades = np.zeros(len(group.label), np.int64) if data.grades is None else data.grades[group.label]
        if len(rows):
            own = grades[rows] if graded and group.size == 2 else None
            shown = sided[group.label[rows]].astype(float) if sided is not None and group.size == 2 else None
            found.append(AnswerGroup(group.annotators[rows], group.items[rows], group.ranks[rows], own, shown))
    return found


def log_normal(median: float, log_sd: float) -> Callable[[Floats], Floats]:
    """Return log density of the logarithm of a standard deviation, up to a constant."""
    return lambda sd: -((np.log(sd / median) / log_sd) ** 2) / 2


def half_cauchy(scale: float) -> Floats:
    """Return the log density of a half-Cauchy prior on the standard deviation (Gelman 2006), over the grid."""
    return np.asarray(np.log(GRID) - np.log1p((GRID / scale) ** 2))


def scale_densities(settings: Settings, n_components: int, component: Floats | None = None) -> ScaleDensities:
    """Return log-normal priors of the consensus's and a whole taste's sd, and those of what a taste consists of.

    component (len(GRID),): log density of a component's standard deviation, half-Cauchy by default, as the own part's
    is. These say how a taste is shared among its parts: several of them, each with a wide prior, would by themselves
    make a taste far larger than taste_sd says, so that the density of the whole that they imply is divided out.
    """
    own = half_cauchy(OWN * settings.taste_sd)
    of_one = half_cauchy(COMPONENT * settings.taste_sd) if component is None else component
    of_whole = log_normal(settings.taste_sd, settings.log_scale_sd)
    implied = log_density_of_total([own] + [of_one] * n_components)
    return ScaleDensities(
        consensus=log_normal(settings.consensus_sd, settings.log_scale_sd)(GRID),
        component=of_one,
        own=own,
        total=lambda sd: of_whole(sd) - np.interp(np.log(sd), LOG_TOTALS, implied),
        part_spread=settings.log_scale_sd,
    )


def log_density_of_total(log_densities: Sequence[Floats]) -> Floats:
    """Return the log density of the log of sqrt(sum of squares) at LOG_TOTALS, of independent standard deviations.

    log_densities (len(GRID),) each: of a logarithm, up to a constant. Mass of a sum between two points goes to both, by
    its distance from each.
    """
    points, found = np.exp(LOG_TOTALS), np.zeros(len(LOG_TOTALS))
    for place, one in enumerate(log_densities):
        mass = np.exp(one - logsumexp(one))
        if place == 0:
            found[: len(GRID)] = mass
            continue
        at = np.log(np.hypot(points[:, None], GRID)).ravel() / LOG_STEP - LOG_TOTALS[0] / LOG_STEP
        below, both = np.minimum(at.astype(np.int64), len(points) - 2), np.outer(found, mass).ravel()
        above = np.minimum(at - below, 1.0)
        found = sum_by_group(below, both * (1 - above), len(points)) + sum_by_group(
            below + 1, both * above, len(points)
        )
    return np.asarray(np.log(np.maximum(found, np.finfo(np.float64).tiny) / LOG_STEP))


def taste_sizes(sampled: Sampled) -> MixtureWeights:
    """Return multiples of the mean taste covariance at three quantiles of its size, of equal weight."""
    multiples = np.quantile(sampled.sizes, SIZES)
    return MixtureWeights(tuple((float(one), 0.0) for one in multiples), np.full(len(multiples), 1 / len(multiples)))


def count_components(sampled: Sampled) -> int:
    """Count the leading components that are more than noise.

    The mean of V V' over draws keeps a direction that draws agree on and averages out others: of a component it must
    keep 55% of the mean eigenvalue of a draw, and have a tenth of all variance of tastes. Crowds of one taste kept at
    most 52% of it, two camps nearly always more (8 to 40 people; `benchmarks personal` counts both kinds of error).
    """
    n, most = len(sampled.taste), sampled.spectra.shape[1]
    kept = np.linalg.eigvalsh(centre_covariance(sampled.shared))[::-1][: min(n, most)]
    drawn = sampled.spectra.mean(axis=0)[: len(kept)]
    variance = float(np.trace(centre_covariance(sampled.taste)))
    is_clear = (kept >= MIN_KEPT * np.maximum(drawn, 1e-300)) & (kept >= MIN_SHARE * variance)
    return int(np.cumprod(is_clear).sum())


def told_taste(sampled: Sampled) -> Floats:
    """Return the taste covariance of the draws (n_items, n_items), alike in every direction where none is told.

    Without a component of `count_components` the mean over draws has the shape of where the chain happened to be, which
    predictions would follow, so that it is spread over all items (the trace is kept).
    """
    if count_components(sampled):
        return sampled.taste
    n = len(sampled.taste)
    return float(np.trace(sampled.taste)) / n * np.eye(n)


def count_components_beyond_noise(shares: Floats, n_annotators: int, n_items: int) -> int:
    """Count components without draws: shares (c,) above the largest of a covariance without structure.

    Estimated from U people over N items, that is (1 + sqrt(min / max))^2 / min(U, N) at most (Marchenko & Pastur 1967).
    """
    few, many = sorted((max(1, n_annotators), max(1, n_items - 1)))
    return int(np.cumprod(shares > (1 + np.sqrt(few / many)) ** 2 / few).sum())


@dataclass(frozen=True)
class ConsensusFactors:
    """Factors of the consensus at one set of scales and reliabilities, by which it is on average what the draws say.

    mean: of the utilities, which at the scales' typical values come out too large where scales are uncertain.
    sd: of their standard deviations, which leave that uncertainty out.
    """

    mean: float = 1.0
    sd: float = 1.0

    @classmethod
    def between(cls, sampled: Sampled, mean: Floats, covariance: Floats, parts: Ints) -> "ConsensusFactors":
        """Compute the factors, by least squares and by the mean variance. parts (n_items,): of the comparison graph."""
        at = centre_parts(mean, parts)
        variance = sum(
            float(np.trace(centre_covariance(covariance[np.ix_(rows, rows)])))
            for rows in (np.flatnonzero(parts == part) for part in np.flatnonzero(np.bincount(parts) > 1))
        )
        drawn = float((sampled.consensus_square - sampled.consensus**2).sum())
        size = float(at @ at)
        if size == 0 or variance == 0:
            return cls()
        factors = float(at @ sampled.consensus) / size, np.sqrt(max(drawn, 0.0) / variance)
        return cls(*(float(np.clip(one, *FACTOR_LIMITS)) for one in factors))


@dataclass(frozen=True, eq=False)
class Widening:
    """Factors of the standard deviations at one taste covariance that account for the uncertainty about it.

    own, difference (n_annotators,): of own utilities and of their difference to the consensus; sign (n_annotators,): of
    that difference where the chance of its other sign is told. 1 without draws.   consensus: of the consensus.
    """

    own: Floats
    difference: Floats
    sign: Floats
    consensus: "ConsensusFactors"

    @classmethod
    def none(cls, n_annotators: int) -> "Widening":
        own, difference, sign = np.ones((3, n_annotators))
        return cls(own, difference, sign, ConsensusFactors())

    @classmethod
    def between(cls, sampled: Sampled, figures: Iterable[tuple[int, Floats, Floats, Floats, Floats]]) -> "Widening":
        """Compute the factors. figures: (annotator, own mean, own sd, difference, its sd) at the one taste covariance.

        A factor is the root of the draws' mean square deviation from that mean over its variance, means over items.
        That of signs is at least the one at which the chances of the wrong sign are the draws', on average over the
        half of the items that differ most clearly: where tastes may be small, these are larger than deviations tell.
        """
        found = cls.none(len(sampled.own))
        for j, mean, sd, difference, difference_sd in figures:
            found.own[j] = _spread_factor(mean, sd, sampled.own[j], sampled.own_square[j])
            apart = _spread_factor(difference, difference_sd, sampled.difference[j], sampled.difference_square[j])
            found.difference[j] = apart
            found.sign[j] = max(apart, _sign_factor(difference, difference_sd, sampled.above[j]))
        return found

    def extended(self, n_annotators: int) -> "Widening":
        """Extend to a larger crowd: new annotators get the median of the others."""

        def stretch(factors: Floats) -> Floats:
            more = max(0, n_annotators - len(factors))
            return np.r_[factors, np.full(more, np.median(factors) if len(factors) else 1.0)][:n_annotators]

        return Widening(stretch(self.own), stretch(self.difference), stretch(self.sign), self.consensus)


def _spread_factor(at: Floats, sd: Floats, first: Floats, square: Floats) -> float:
    away = float((square - 2 * at * first + at**2).mean())
    return float(np.sqrt(max(away, 0.0) / max(float((sd**2).mean()), 1e-300)))


def _sign_factor(difference: Floats, sd: Floats, above: Floats) -> float:
    z = np.abs(difference) / np.maximum(sd, 1e-300)
    clear = z >= np.median(z)
    wrong = np.where(difference > 0, 1 - above, above)[clear].mean()
    return float(np.interp(wrong, ndtr(-z[clear] / FACTORS[:, None]).mean(axis=1), FACTORS))
