"""The scales of a crowd model, found by climbing the evidence that EP has where it is done at fixed scales."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from models_engine.inference.crowd_bt.ep_with_scales import EPState, evaluate_state, run_crowd_ep
from models_engine.inference.crowd_bt.scales import Scales

__all__ = ["climb_evidence"]

Floats = NDArray[np.float64]
MAX_EVALUATIONS = 40  # of the evidence
FLAT = 0.02  # nats per unit of a scale's log below which the climb is over; the prior alone curves by 1
NOWHERE = 10.0  # nats by which scales without a fixed point of EP count as worse than the worst seen


def climb_evidence(
    state: EPState, *, tolerance: float, limit: int, on_step: Callable[[float], None]
) -> tuple[EPState | None, bool]:
    """Return EP's fixed point at the most probable scales that a search from the state's finds, and whether it ended;
    None where EP has no fixed point at any scales tried.

    Along a flat objective (few labels, neighbours: widely spread items judged by careless people look like narrowly
    spread ones judged by careful people) scales and sites that move at once can pass the mode and not come back. Here
    each evaluation is a fixed point, where the evidence is stationary in the sites, so that score() is its gradient
    (Minka 2001), and L-BFGS-B only ever keeps what is better.   on_step: told the objective of each evaluation.
    """
    learner, base = state.learner, state.scales.vector()
    free, low, high = np.flatnonzero(learner.free), *learner.bounds()
    found: list[EPState] = []

    def loss(vector: Floats) -> tuple[float, Floats]:
        whole, near = base.copy(), found[-1] if found else state
        whole[free] = vector
        start = evaluate_state(near.pairs, near.sites, Scales.of(whole), near.side_sd, learner.nothing(), near)
        at, done = (
            (start, False)
            if start is None
            else run_crowd_ep(start, tolerance=tolerance, limit=limit, on_step=lambda _: None)
        )
        if at is None or not done:
            return NOWHERE - min((one.objective for one in found), default=0.0), np.zeros(len(free))
        found.append(replace(at, learner=learner))
        on_step(found[-1].objective)
        return -found[-1].objective, -found[-1].score()[free]

    search = minimize(
        loss,
        np.clip(base[free], low[free], high[free]),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low[free], high[free], strict=True)),
        options={"maxfun": MAX_EVALUATIONS, "gtol": FLAT},
    )
    return max(found, key=lambda one: one.objective, default=None), bool(search.success and found)
