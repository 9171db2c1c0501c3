"""Weighs kernels of different shares and length scales by the variational bound on the evidence, or chooses one."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from models_engine.inference.pairwise_gp.inducing import build_item_prior
from models_engine.inference.pairwise_gp.model import GammaPrior, PairFactors, PairwiseGP
from models_engine.inference.pairwise_gp.variational import maximise_bound
from models_engine.kernels import ItemKernel

__all__ = ["LENGTHS", "MAX_EXACT_ITEMS", "SHARES", "choose_kernel", "kernel_candidates", "weigh_kernels"]

Floats = NDArray[np.float64]
SHARES = (0.5, 0.9, 1.0, 0.0)
LENGTHS = (1.0, 0.5, 2.0, 4.0)
MAX_EXACT_ITEMS = 300
MAX_ITEMS, N_POINTS = 2_000, 200  # where the fit itself goes through inducing points
LOOSE_TOLERANCE, MAX_STEPS = 1e-2, 30
LEAST_WEIGHT = 1e-3  # of the largest, below which a kernel is left out


def kernel_candidates(share: float | None, length: float | None) -> list[tuple[float, float]]:
    """List the (share, length) to try, middle values first; given values are fixed. A share of 0 has no length."""
    shares = SHARES if share is None else (share,)
    lengths = LENGTHS if length is None else (length,)
    return [(a, b) for a in shares for b in lengths if a > 0 or b == lengths[0]]


def choose_kernel(
    factors: PairFactors,
    kernel: ItemKernel,
    tried: list[tuple[float, float]],
    scale: GammaPrior,
    on_step: Callable[[float], None],
    *,
    exact: bool,
) -> ItemKernel:
    """Choose the (share, length) of `tried` with the highest bound over the most compared items.

    These are 300, or (not exact) 2,000 through 200 inducing points, which have many more pairs among themselves. With
    equal bounds, as without labels, the first is chosen.
    """
    best, highest = tried[0], -np.inf
    if len(tried) > 1:
        bounds = _bounds(factors, kernel, tried, scale, on_step, exact=exact)
        for one, bound in zip(tried, bounds.tolist(), strict=True):
            if bound > highest + 1e-3:
                best, highest = one, bound
    return replace(kernel, share=best[0], length=best[1])


def weigh_kernels(
    factors: PairFactors,
    kernel: ItemKernel,
    tried: list[tuple[float, float]],
    scale: GammaPrior,
    on_step: Callable[[float], None],
) -> tuple[list[ItemKernel], Floats]:
    """Return the kernels of `tried` and their posterior weights, up to MAX_EXACT_ITEMS items, the largest first.

    A kernel's weight is its prior's times exp(bound), the bound standing for the log evidence (MacKay 1992). Share and
    length scale are independent and uniform over those tried; without a share the length has no effect, so that one
    kernel has the weight of all lengths. The kernel of the highest bound alone would be too sure of itself: where
    answers are few, a long length scale, by which all items are nearly alike, is as likely as any other.
    """
    if len(tried) == 1:
        return [replace(kernel, share=tried[0][0], length=tried[0][1])], np.ones(1)
    bounds = _bounds(factors, kernel, tried, scale, on_step, exact=True)
    alike = np.array([sum(share == other for other, _ in tried) for share, _ in tried])
    weight = softmax(bounds - np.log(alike))
    order = np.argsort(-weight, kind="stable")
    kept = order[weight[order] >= LEAST_WEIGHT * weight[order[0]]]
    return [replace(kernel, share=tried[k][0], length=tried[k][1]) for k in kept], weight[kept] / weight[kept].sum()


def _bounds(
    factors: PairFactors,
    kernel: ItemKernel,
    tried: list[tuple[float, float]],
    scale: GammaPrior,
    on_step: Callable[[float], None],
    *,
    exact: bool,
) -> Floats:
    """Return the bound by each of `tried` over the most compared items."""
    few, items = _most_compared(factors, MAX_EXACT_ITEMS if exact else MAX_ITEMS)
    known = None if kernel.features is None else kernel.features[items]
    points = len(items) if exact else N_POINTS
    bounds = np.empty(len(tried))
    for row, (share, length) in enumerate(tried):
        trial = ItemKernel(known, len(items), share, length, kernel.form)
        problem = PairwiseGP(few, build_item_prior(trial, points, np.random.default_rng(0)), scale)
        found = maximise_bound(problem.start(), tolerance=LOOSE_TOLERANCE, limit=MAX_STEPS, on_step=lambda _: None)
        bounds[row] = found.state.bound
        on_step(found.state.bound)
    return bounds


def _most_compared(factors: PairFactors, most: int) -> tuple[PairFactors, NDArray[np.int64]]:
    """Return the pairs among the most compared items, renumbered, and which items these are."""
    counts = np.bincount(np.concatenate([factors.low, factors.high]), minlength=factors.n_items)
    items = np.sort(np.argsort(-counts, kind="stable")[:most])
    number = np.full(factors.n_items, -1)
    number[items] = np.arange(len(items))
    some = factors.select(np.flatnonzero((number[factors.low] >= 0) & (number[factors.high] >= 0)))
    return replace(some, low=number[some.low], high=number[some.high], n_items=len(items)), items
