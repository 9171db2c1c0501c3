"""Chooses prior scales from the training labels: by EP evidence, and by the evidence of held-out annotators."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit, softmax

from models_engine.inference.graded.cut_points import log_cut_prior
from models_engine.inference.probit_ep.annotator_blocks import Block, build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, run_ep, taste_statistic, warm_start
from models_engine.inference.probit_ep.independent_parts import IndependentParts
from models_engine.inference.probit_ep.learned_cuts import learn_cuts, log_gaps_of
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.kernels import ItemKernel

__all__ = [
    "LeftOut",
    "MixtureWeights",
    "PriorScales",
    "ScalePriors",
    "left_out_weights",
    "most_probable_scales",
    "sites_among",
    "subsample_sites",
]

Floats = NDArray[np.float64]
MAX_ITEMS, MAX_ANNOTATORS = 300, 400
LOOSE_TOLERANCE = 1e-2
CUT_ROUNDS = 4  # steps of the cut points at one trial of scales
SLOPE_TOLERANCE = 1e-3  # of the sites, where the slope of the evidence counts, which is not stationary in them
TOLERANCE = 0.01  # of the log posterior of the scales in a step, and of its slope
NEAR = 0.3  # of the prior's standard deviations: how far scales move where reliabilities are found
DIFFERENCE = 1e-4  # of the kernel's coordinates, for differences


@dataclass(frozen=True)
class PriorScales:
    """Standard deviations of the consensus and of one annotator's taste, and the kernel's share and length.

    cuts: cut points of graded answers, None where grades do not count.   item_sds (n_items,): of the consensus of each
    item, where unconnected parts have their own; without item features only. consensus_sd is then the typical one.
    """

    consensus_sd: float
    taste_sd: float
    share: float = 0.0
    length: float = 1.0
    cuts: tuple[float, ...] | None = None
    item_sds: Floats | None = None

    @property
    def cut_points(self) -> Floats | None:
        return None if self.cuts is None else np.array(self.cuts)

    def consensus(self, kernel: Floats) -> Floats:
        """Return the prior covariance of the consensus, kernel (n_items, n_items) being that of scale 1."""
        if self.item_sds is None:
            return self.consensus_sd**2 * kernel
        return np.outer(self.item_sds, self.item_sds) * kernel


@dataclass(frozen=True)
class ScalePriors:
    """Log-normal priors (median, sd of the log) of the two scales; sd 0 fixes them at the median."""

    consensus_sd: float
    taste_sd: float
    log_sd: float


def subsample_sites(sites: PairSites, rng: np.random.Generator) -> tuple[PairSites, NDArray[np.int64]]:
    """Choose at most 400 annotators and the 300 most compared items, renumbered; also returns which items these are.

    A Gaussian prior over some items is the marginal of that over all, so the scales found here hold for all items.
    """
    annotators = np.unique(sites.annotator)
    if len(annotators) > MAX_ANNOTATORS:
        annotators = np.sort(rng.choice(annotators, MAX_ANNOTATORS, replace=False))
    kept = np.isin(sites.annotator, annotators)
    counts = np.bincount(np.concatenate([sites.low[kept], sites.high[kept]]), minlength=sites.n_items)
    items = np.sort(np.argsort(-counts, kind="stable")[:MAX_ITEMS])
    return sites_among(sites.select(np.flatnonzero(kept)), items), items


def sites_among(sites: PairSites, items: NDArray[np.int64]) -> PairSites:
    """Return the sites of pairs of these items, renumbered."""
    number = np.full(sites.n_items, -1)
    number[items] = np.arange(len(items))
    chosen = sites.select(np.flatnonzero((number[sites.low] >= 0) & (number[sites.high] >= 0)))
    return replace(chosen, low=number[chosen.low], high=number[chosen.high], n_items=len(items))


def most_probable_scales(
    sites: PairSites,
    features: Floats | None,
    priors: ScalePriors,
    rng: np.random.Generator,
    on_step: Callable[[float], None],
    lapse: Floats | None = None,
    cuts: Floats | None = None,
    side: Floats | None = None,
    near: PriorScales | None = None,
) -> PriorScales:
    """Find scales that maximise EP evidence times their prior, with tastes N(0, taste_sd^2 K) of no learned shape.

    features: (n_items, d) or None; with features the kernel's share and length are found as well.   lapse, side: as in
    CrowdPrior.   cuts: where cut points of graded answers start; they take a few steps up the evidence at each trial.
    near: scales found before, with other reliabilities, to search around.

    Up the gradient of the evidence where everybody is reliable (L-BFGS); by a simplex where some answers may be
    reversed: EP then keeps the means of some sites only, and is not stationary in these.
    """
    few, items = subsample_sites(sites, rng)
    own = None if features is None else features[items]
    if features is None:
        parts = IndependentParts.of(few)
        few, blocks = parts.sites, parts.blocks
        lapse, side = (None if one is None else one[parts.owner] for one in (lapse, side))
    else:
        blocks = build_blocks(few)
    warm: list[EPResult] = []
    known = [cuts]
    tolerance = SLOPE_TOLERANCE if lapse is None else LOOSE_TOLERANCE

    def run(crowd: CrowdPrior, start: EPResult | None) -> EPResult:
        begin = warm_start(start if start is not None else warm[-1] if warm else None)
        return run_ep(few, blocks, crowd, *begin, tolerance=tolerance, max_iterations=30)

    def kernel_at(x: Floats) -> Floats:
        scales = _scales(x, priors)
        return ItemKernel(own, few.n_items, scales.share, scales.length).matrix()

    def trial(x: Floats) -> tuple[float, CrowdPrior, EPResult]:
        crowd = replace(_isotropic(_scales(x, priors), kernel_at(x), lapse), cuts=known[0], side=side)
        crowd, found = learn_cuts(crowd, run, CUT_ROUNDS)
        warm[:], known[:] = [found], [crowd.cuts]
        value = found.log_evidence - float(x @ x) / 2
        value += 0.0 if crowd.cuts is None else log_cut_prior(log_gaps_of(crowd.cuts), "probit")[0]
        on_step(value)
        return -value, crowd, found

    def loss(x: Floats) -> float:
        return trial(x)[0]

    def loss_and_slope(x: Floats) -> tuple[float, Floats]:
        value, crowd, found = trial(x)
        slopes = [(kernel_at(x + step) - kernel_at(x - step)) / (2 * DIFFERENCE) for step in steps]
        return value, x - evidence_gradient(crowd, found, _directions(crowd, _scales(x, priors), priors, slopes))

    width = 2 if features is None else 4
    start, most = np.zeros(width) if near is None else _coordinates(near, priors)[:width], 20 * width
    steps = DIFFERENCE * np.eye(width)[2:]
    if lapse is None:
        relative = TOLERANCE / max(1.0, float(few.copies @ (few.wins + few.losses)))
        best = minimize(
            loss_and_slope,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxfun": most, "ftol": relative, "gtol": TOLERANCE},
        )
    else:
        reach = np.array([1.0, 1.0, 1.0, 0.7]) * (1.0 if near is None else NEAR)
        simplex = np.vstack([start, start + np.diag(reach[:width])])
        best = minimize(
            loss,
            start,
            method="Nelder-Mead",
            options={"maxfev": most, "xatol": 0.1, "fatol": 0.1, "initial_simplex": simplex},
        )
    found = _scales(np.asarray(best.x), priors)
    return found if known[0] is None else replace(found, cuts=tuple(known[0].tolist()))


def evidence_gradient(crowd: CrowdPrior, found: EPResult, directions: list[tuple[Floats, Floats]]) -> Floats:
    """Return how fast the log evidence rises where (taste, consensus), covariances (n_items, n_items), move along each
    of the directions, (len(directions),); found: a fixed point of EP under `crowd`.

    There the evidence is stationary in the sites (Seeger 2005), so that they count as fixed. By the taste covariance it
    then is -S/2 (`taste_statistic`), by that of the consensus P (C + m m') P / 2 - P / 2, with P the prior precision,
    C the posterior covariance and m how far the posterior mean is from the prior's.
    """
    move, precision = found.mean - crowd.mean, crowd.precision
    by_taste = -taste_statistic(found) / 2
    by_consensus = (precision @ (found.covariance + move[:, None] * move) @ precision - precision) / 2
    return np.array([(by_taste * taste).sum() + (by_consensus * consensus).sum() for taste, consensus in directions])


def _directions(
    crowd: CrowdPrior, scales: PriorScales, priors: ScalePriors, slopes: list[Floats]
) -> list[tuple[Floats, Floats]]:
    """Return the derivatives of (taste, consensus) by the coordinates of `_scales`; slopes: of the kernel."""
    nothing, twice = np.zeros_like(crowd.taste), 2 * priors.log_sd
    consensus = nothing if crowd.consensus is None else crowd.consensus
    by_kernel = [(scales.taste_sd**2 * slope, scales.consensus_sd**2 * slope) for slope in slopes]
    return [(nothing, twice * consensus), (twice * crowd.taste, nothing), *by_kernel]


def _scales(x: Floats, priors: ScalePriors) -> PriorScales:
    """Convert standard-normal coordinates: (log consensus_sd, log taste_sd[, logit share, log length])."""
    consensus_sd, taste_sd = (
        priors.consensus_sd * np.exp(priors.log_sd * x[0]),
        priors.taste_sd * np.exp(priors.log_sd * x[1]),
    )
    if len(x) == 2:
        return PriorScales(float(consensus_sd), float(taste_sd))
    return PriorScales(float(consensus_sd), float(taste_sd), float(expit(2 * x[2])), float(np.exp(x[3])))


def _coordinates(scales: PriorScales, priors: ScalePriors) -> Floats:
    """Return the coordinates (4,) of these scales, see `_scales`."""
    logs = np.log([scales.consensus_sd / priors.consensus_sd, scales.taste_sd / priors.taste_sd]) / priors.log_sd
    share = np.clip(scales.share, 1e-6, 1 - 1e-6)
    return np.array([*logs, logit(share) / 2, np.log(scales.length)])


def _isotropic(scales: PriorScales, kernel: Floats, lapse: Floats | None) -> CrowdPrior:
    zero = np.zeros(len(kernel))
    return CrowdPrior(scales.taste_sd**2 * kernel, scales.consensus_sd**2 * kernel, zero, lapse=lapse)


@dataclass(frozen=True, eq=False)
class MixtureWeights:
    """Candidate taste covariances a * learned + r * prior: (a, r) pairs and their posterior weights."""

    candidates: tuple[tuple[float, float], ...]
    weights: Floats

    def mean(self) -> tuple[float, float]:
        """Return (a, r) averaged with the weights."""
        a, r = np.asarray(self.candidates).T @ self.weights
        return float(a), float(r)

    def without_shape(self) -> "MixtureWeights":
        """Return the same with no weight on candidates that have a share of the learned covariance."""
        kept = self.weights * np.array([a == 0 for a, _ in self.candidates])
        return MixtureWeights(self.candidates, kept / kept.sum())

    def leading(self, least: float, most: int) -> list[tuple[tuple[float, float], float]]:
        """Return the candidates of weight `least` or more, at most `most`, with weights rescaled to sum to one."""
        order = [int(i) for i in np.argsort(-self.weights)[:most] if self.weights[i] >= least]
        total = float(self.weights[order].sum())
        return [(self.candidates[i], float(self.weights[i]) / total) for i in order]


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Sites of annotators whose labels were not used for `learned`, a taste covariance, and the prior over their items.

    others: sites of those from whom it was learned, over the same items, where what they say about the consensus counts
    before the annotators left out are predicted; None where these begin with its prior.
    """

    sites: PairSites
    prior: CrowdPrior
    learned: Floats
    others: PairSites | None = None

    def log_evidences(self, candidates: Iterable[tuple[float, float]]) -> Iterator[float]:
        """Yield the log evidence of the sites at each taste covariance a * learned + r * prior, of (a, r)."""
        blocks, last = build_blocks(self.sites), None
        theirs, consensus = None if self.others is None else build_blocks(self.others), None
        for a, r in candidates:
            crowd = self.prior.changed(taste=a * self.learned + r * self.prior.taste)
            if self.others is not None and theirs is not None:
                consensus = _run_loosely(self.others, theirs, crowd, consensus)
                crowd = replace(crowd, consensus=consensus.covariance, mean=consensus.mean)
            last = _run_loosely(self.sites, blocks, crowd, last)
            yield last.log_evidence


def _run_loosely(sites: PairSites, blocks: list[Block], crowd: CrowdPrior, last: EPResult | None) -> EPResult:
    return run_ep(sites, blocks, crowd, *warm_start(last), tolerance=LOOSE_TOLERANCE, max_iterations=30)


def left_out_weights(
    folds: list[LeftOut], candidates: tuple[tuple[float, float], ...], on_step: Callable[[float], None]
) -> MixtureWeights:
    """Weight scalings by the EP evidence of annotators whose labels were not used for the taste covariance.

    Folds hold different annotators, and their evidences are added. Of few people the learned covariance tells by itself
    what the others said. Where a fold begins with the prior of the consensus, it then explains labels that the others'
    consensus explains as well; so each begins with what they found of it at the same scaling.
    """
    total = np.zeros(len(candidates))
    for fold in folds:
        for index, evidence in enumerate(fold.log_evidences(candidates)):
            total[index] += evidence
            on_step(evidence)
    return MixtureWeights(candidates, np.asarray(softmax(total)))
