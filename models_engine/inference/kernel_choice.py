"""Chooses a kernel's share and length scale by the variational bound on the evidence."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.inducing import prior_of
from models_engine.inference.pairwise_gp import GammaPrior, PairFactors, PairwiseGP
from models_engine.inference.pairwise_vg import maximise_bound
from models_engine.kernels import ItemKernel

__all__ = ["LENGTHS", "SHARES", "candidates", "most_probable_kernel"]

Floats = NDArray[np.float64]
SHARES = (0.5, 0.9, 1.0, 0.0)
LENGTHS = (1.0, 0.5, 2.0, 4.0)
EXACT_ITEMS = 300
MOST_ITEMS, FEW_POINTS = 2_000, 200  # where the fit itself goes through inducing points
LOOSE, FEW_STEPS = 1e-2, 30


def candidates(share: float | None, length: float | None) -> list[tuple[float, float]]:
    """(share, length) to try, the middle first; what is given is kept. A share of 0 has no length."""
    shares = SHARES if share is None else (share,)
    lengths = LENGTHS if length is None else (length,)
    return [(a, b) for a in shares for b in lengths if a > 0 or b == lengths[0]]


def most_probable_kernel(
    factors: PairFactors,
    kernel: ItemKernel,
    tried: list[tuple[float, float]],
    scale: GammaPrior,
    on_step: Callable[[float], None],
    *,
    exact: bool,
) -> ItemKernel:
    """The kernel with that (share, length) of `tried` whose bound is highest over the most compared items.

    These are 300, or (not exact) 2,000 seen through 200 inducing points, of which many more pairs are among
    themselves. Equal bounds leave the first: without labels nothing is learned.
    """
    best, highest = tried[0], -np.inf
    if len(tried) > 1:
        few, items = _most_compared(factors, EXACT_ITEMS if exact else MOST_ITEMS)
        known = None if kernel.features is None else kernel.features[items]
        for share, length in tried:
            trial = ItemKernel(known, len(items), share, length, kernel.form)
            points = len(items) if exact else FEW_POINTS
            problem = PairwiseGP(few, prior_of(trial, points, np.random.default_rng(0)), scale)
            found = maximise_bound(problem.start(), tolerance=LOOSE, limit=FEW_STEPS, on_step=lambda _: None)
            on_step(found.state.bound)
            if found.state.bound > highest + 1e-3:
                best, highest = (share, length), found.state.bound
    return replace(kernel, share=best[0], length=best[1])


def _most_compared(factors: PairFactors, most: int) -> tuple[PairFactors, NDArray[np.int64]]:
    """The pairs among the most compared items, renumbered, and which items these are."""
    counts = np.bincount(np.concatenate([factors.low, factors.high]), minlength=factors.n_items)
    items = np.sort(np.argsort(-counts, kind="stable")[:most])
    number = np.full(factors.n_items, -1)
    number[items] = np.arange(len(items))
    some = factors.select(np.flatnonzero((number[factors.low] >= 0) & (number[factors.high] >= 0)))
    return PairFactors(number[some.low], number[some.high], some.wins, some.losses, len(items)), items
