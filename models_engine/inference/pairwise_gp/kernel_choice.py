"""Chooses a kernel's share and length scale by the variational bound on the evidence."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.pairwise_gp.inducing import build_item_prior
from models_engine.inference.pairwise_gp.model import GammaPrior, PairFactors, PairwiseGP
from models_engine.inference.pairwise_gp.variational import maximise_bound
from models_engine.kernels import ItemKernel

__all__ = ["LENGTHS", "SHARES", "choose_kernel", "kernel_candidates"]

Floats = NDArray[np.float64]
SHARES = (0.5, 0.9, 1.0, 0.0)
LENGTHS = (1.0, 0.5, 2.0, 4.0)
MAX_EXACT_ITEMS = 300
MAX_ITEMS, N_POINTS = 2_000, 200  # where the fit itself goes through inducing points
LOOSE_TOLERANCE, MAX_STEPS = 1e-2, 30


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
        few, items = _most_compared(factors, MAX_EXACT_ITEMS if exact else MAX_ITEMS)
        known = None if kernel.features is None else kernel.features[items]
        for share, length in tried:
            trial = ItemKernel(known, len(items), share, length, kernel.form)
            points = len(items) if exact else N_POINTS
            problem = PairwiseGP(few, build_item_prior(trial, points, np.random.default_rng(0)), scale)
            found = maximise_bound(problem.start(), tolerance=LOOSE_TOLERANCE, limit=MAX_STEPS, on_step=lambda _: None)
            on_step(found.state.bound)
            if found.state.bound > highest + 1e-3:
                best, highest = (share, length), found.state.bound
    return replace(kernel, share=best[0], length=best[1])


def _most_compared(factors: PairFactors, most: int) -> tuple[PairFactors, NDArray[np.int64]]:
    """Return the pairs among the most compared items, renumbered, and which items these are."""
    counts = np.bincount(np.concatenate([factors.low, factors.high]), minlength=factors.n_items)
    items = np.sort(np.argsort(-counts, kind="stable")[:most])
    number = np.full(factors.n_items, -1)
    number[items] = np.arange(len(items))
    some = factors.select(np.flatnonzero((number[factors.low] >= 0) & (number[factors.high] >= 0)))
    return replace(some, low=number[some.low], high=number[some.high], n_items=len(items)), items
