"""Chooses prior scales from the training labels: by EP evidence, and by the evidence of held-out annotators."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, softmax

from models_engine.inference.graded.cut_points import log_cut_prior
from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, run_ep, warm_start
from models_engine.inference.probit_ep.independent_parts import IndependentParts
from models_engine.inference.probit_ep.learned_cuts import learn_cuts, log_gaps_of
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.kernels import ItemKernel

__all__ = [
    "MixtureWeights",
    "PriorScales",
    "ScalePriors",
    "left_out_weights",
    "most_probable_scales",
    "subsample_sites",
]

Floats = NDArray[np.float64]
MAX_ITEMS, MAX_ANNOTATORS = 300, 400
LOOSE_TOLERANCE = 1e-2
CUT_ROUNDS = 4  # steps of the cut points at one trial of scales


@dataclass(frozen=True)
class PriorScales:
    """Standard deviations of the consensus and of one annotator's taste, and the kernel's share and length.

    cuts: cut points of graded answers, None where grades do not count.
    """

    consensus_sd: float
    taste_sd: float
    share: float = 0.0
    length: float = 1.0
    cuts: tuple[float, ...] | None = None

    @property
    def cut_points(self) -> Floats | None:
        return None if self.cuts is None else np.array(self.cuts)


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
    number = np.full(sites.n_items, -1)
    number[items] = np.arange(len(items))
    kept &= (number[sites.low] >= 0) & (number[sites.high] >= 0)
    chosen = sites.select(np.flatnonzero(kept))
    return replace(chosen, low=number[chosen.low], high=number[chosen.high], n_items=len(items)), items


def most_probable_scales(
    sites: PairSites,
    features: Floats | None,
    priors: ScalePriors,
    rng: np.random.Generator,
    on_step: Callable[[float], None],
    lapse: Floats | None = None,
    cuts: Floats | None = None,
    side: Floats | None = None,
) -> PriorScales:
    """Find scales that maximise EP evidence times their prior, with tastes N(0, taste_sd^2 K) of no learned shape.

    features: (n_items, d) or None; with features the kernel's share and length are found as well.   lapse, side: as in
    CrowdPrior.   cuts: where cut points of graded answers start; they take a few steps up the evidence at each trial.
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

    def run(crowd: CrowdPrior, start: EPResult | None) -> EPResult:
        begin = warm_start(start if start is not None else warm[-1] if warm else None)
        return run_ep(few, blocks, crowd, *begin, tolerance=LOOSE_TOLERANCE, max_iterations=30)

    def loss(x: Floats) -> float:
        scales = _scales(x, priors)
        kernel = ItemKernel(own, few.n_items, scales.share, scales.length).matrix()
        crowd = replace(_isotropic(scales, kernel, lapse), cuts=known[0], side=side)
        crowd, found = learn_cuts(crowd, run, CUT_ROUNDS)
        warm[:], known[:] = [found], [crowd.cuts]
        value = found.log_evidence - float(x @ x) / 2
        value += 0.0 if crowd.cuts is None else log_cut_prior(log_gaps_of(crowd.cuts), "probit")[0]
        on_step(value)
        return -value

    start = np.zeros(2 if features is None else 4)
    simplex = np.vstack([start, start + np.diag([1.0, 1.0, 1.0, 0.7][: len(start)])])
    best = minimize(
        loss,
        start,
        method="Nelder-Mead",
        options={"maxfev": 20 * len(start), "xatol": 0.1, "fatol": 0.1, "initial_simplex": simplex},
    )
    found = _scales(np.asarray(best.x), priors)
    return found if known[0] is None else replace(found, cuts=tuple(known[0].tolist()))


def _scales(x: Floats, priors: ScalePriors) -> PriorScales:
    """Convert standard-normal coordinates: (log consensus_sd, log taste_sd[, logit share, log length])."""
    consensus_sd, taste_sd = (
        priors.consensus_sd * np.exp(priors.log_sd * x[0]),
        priors.taste_sd * np.exp(priors.log_sd * x[1]),
    )
    if len(x) == 2:
        return PriorScales(float(consensus_sd), float(taste_sd))
    return PriorScales(float(consensus_sd), float(taste_sd), float(expit(2 * x[2])), float(np.exp(x[3])))


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


def left_out_weights(
    folds: list[tuple[PairSites, CrowdPrior, Floats]],
    candidates: tuple[tuple[float, float], ...],
    on_step: Callable[[float], None],
) -> MixtureWeights:
    """Weight scalings by the EP evidence of annotators whose labels were not used for the taste covariance.

    folds: (sites of the annotators left out, prior over their items, taste covariance learned from the others). Each
    fold's evidence has its own consensus integrated under the prior, so only the shape comes from the others; folds
    hold different annotators, so that their evidences add.
    """
    total = np.zeros(len(candidates))
    for sites, prior, learned in folds:
        blocks = build_blocks(sites)
        last: EPResult | None = None
        for index, (a, r) in enumerate(candidates):
            crowd = prior.changed(taste=a * learned + r * prior.taste)
            last = run_ep(sites, blocks, crowd, *warm_start(last), tolerance=LOOSE_TOLERANCE, max_iterations=30)
            total[index] += last.log_evidence
            on_step(last.log_evidence)
    return MixtureWeights(candidates, np.asarray(softmax(total)))
