"""FeaturePlackettLuce: choices and rankings explained by item features, by variational bounds or around the mode."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import softmax

from models_engine.covariances import DenseCovariance, check_dense
from models_engine.data import Comparisons
from models_engine.errors import InvalidData, InvalidSetting
from models_engine.estimators.feature_posterior import FeaturePosterior, scaled_features
from models_engine.estimators.plackett_luce import ChoiceProblem
from models_engine.inference.choice_bounds import ChoiceBounds
from models_engine.inference.choice_fits import GaussianFit, fit_bound, fit_mode
from models_engine.linalg import cholesky
from models_engine.posterior import Likelihood, Posterior
from models_engine.progress import FitLog, Progress

__all__ = ["FeaturePlackettLuce"]

Floats = NDArray[np.float64]
Scales = tuple[float, float]
GRID = 2.0 ** np.arange(-3, 4)  # standard deviations tried: 1/8 to 8
FIRST = 3  # where the search begins: 1
ROUGH = 1e-3  # tolerance while scales are compared: the evidence errs by its square


@dataclass(frozen=True)
class FeaturePlackettLuce:
    """P(a is chosen out of a set) ~ exp(f_a), f_i = weights'x_i + the item's own effect (Guo et al., Variational
    Inference from Ranked Samples with Features, with the effect added; item_sd=0 is the paper's model).

    Features are standardised and divided by the root of their number d; weights ~ N(0, prior_sd^2), so that prior_sd
    is about the standard deviation of the utility that features explain, and the paper's eta is d / prior_sd^2.
    item_sd: prior standard deviation of the items' own effects. Without item_features there are only these, and
    prior_sd and item_sd add up.
    None, for either, averages over 1/8, 1/4, ..., 8 by their evidence: a climb from 1 to the best, and all around it.
    inference: "map", the mode of the exact likelihood with Laplace covariance and evidence, or "vi", Algorithm 1: the
        Gaussian of Bouchard's and Jaakkola's bounds, whose bound (25) on log p(labels) never falls.
    On pairs the two agree. For larger sets Bouchard's bound is loose: on simulated rankings of four and ten utilities
    came out 1.2 to 1.4 times too steep by "vi" and 90% intervals covered 66-73%; by "map" 0.97-0.99 times and 88-90%.
    The objective is the evidence, while scales are compared the best so far. Ties and best-worst labels as
    Comparisons.stages says.
    """

    prior_sd: float | None = None
    item_sd: float | None = None
    inference: Literal["map", "vi"] = "map"
    max_iterations: int = 1_000
    tolerance: float = 1e-7

    def fit(
        self,
        data: Comparisons,
        start: Posterior | None = None,
        rng: np.random.Generator | None = None,
        progress: Progress | None = None,
    ) -> FeaturePosterior:
        """See Estimator.fit. Nothing is random. Raises TooLarge above 5,000 items."""
        for name, value, least in (("prior_sd", self.prior_sd, "above 0"), ("item_sd", self.item_sd, "of 0 or more")):
            if value is not None and not (value > 0 or (value == 0 and name == "item_sd")):
                raise InvalidSetting(f"{name} is {value}; give a number {least}, or None to have it chosen.")
        check_dense(data.n_items)
        mean = np.zeros(data.n_items)
        if start is not None:
            known = start.utilities()[: data.n_items]
            mean[: len(known)] = known
        search = _Search(self, data, progress)
        scales, fits = search.run(mean)
        return self._posterior(data, search, scales, fits)

    def _posterior(
        self, data: Comparisons, search: "_Search", scales: list[Scales], fits: list[GaussianFit]
    ) -> FeaturePosterior:
        """The moments of the mixture of fits, weighted by evidence."""
        share = softmax(np.array([fit.evidence for fit in fits]))
        best = int(np.argmax(share))
        text = f"log evidence {fits[best].evidence:.6g} at prior_sd {scales[best][0]:g}, item_sd {scales[best][1]:g}"
        diagnostics = search.log.finish(
            converged=all(fit.converged for fit in fits),
            message=f"{text}, averaged over {len(fits)} scales; each to a relative step of {self.tolerance:g}",
        )
        mean, covariance = _mixed(share, [fit.mean for fit in fits], [fit.covariance() for fit in fits])
        weights, weights_root = None, None
        if search.x is not None:
            each = [_weights(search.x, fit, *scale) for fit, scale in zip(fits, scales, strict=True)]
            weights, spread = _mixed(share, [one for one, _ in each], [root @ root.T for _, root in each])
            weights_root = cholesky(spread) if spread.size else spread
        return FeaturePosterior(
            mean - mean.mean(),
            DenseCovariance.of(covariance),
            diagnostics,
            Likelihood(tie_rate=data.pairs().tie_rate()),
            prior_sd=scales[best][0],
            weights=weights,
            weights_root=weights_root,
            reference=data.item_features,
            item_sd=float(np.sqrt(share @ [item_sd**2 for _, item_sd in scales])),
        )


class _Search:
    """Fits at the scales given, or at those of the grid that matter."""

    def __init__(self, settings: FeaturePlackettLuce, data: Comparisons, progress: Progress | None) -> None:
        self.settings, self.n_items = settings, data.n_items
        features = data.item_features
        self.x = None if features is None else scaled_features(features, features)
        one_fit = (
            partial(fit_mode, likelihood=ChoiceProblem(data, shape=0.0))
            if settings.inference == "map"
            else partial(fit_bound, bounds=ChoiceBounds(data))
        )
        self.fitted = partial(one_fit, max_iterations=settings.max_iterations, on_step=self._note)
        self.free = (settings.prior_sd is None, settings.item_sd is None and self.x is not None)
        self.log = FitLog(settings.max_iterations * 2 * len(GRID) ** sum(self.free), progress)
        self.best = -np.inf
        self.seen: dict[tuple[int, int], GaussianFit] = {}

    def run(self, start: Floats) -> tuple[list[Scales], list[GaussianFit]]:
        """Climb from (1, 1) by single steps, look at all eight neighbours of the top, and refine what has weight."""
        place = (FIRST, FIRST)
        if not any(self.free):
            scale = self._scales(place)
            return [scale], [self.fitted(self._root(*scale), start=start, tolerance=self.settings.tolerance)]
        top = self._rough(place, start)
        while True:
            near = {one: self._rough(one, top.mean) for one in self._around(place, diagonal=False)}
            better = max(near, key=lambda one: near[one].evidence, default=place)
            if better == place or near[better].evidence <= top.evidence:
                break
            place, top = better, near[better]
        for one in self._around(place, diagonal=True):
            self._rough(one, top.mean)
        kept = [one for one, fit in self.seen.items() if fit.evidence > top.evidence - 7]  # the rest weigh under 0.1%
        scales = [self._scales(one) for one in kept]
        refined = [
            self.fitted(self._root(*scale), start=self.seen[one].mean, tolerance=self.settings.tolerance)
            for one, scale in zip(kept, scales, strict=True)
        ]
        return scales, refined

    def _around(self, place: tuple[int, int], *, diagonal: bool) -> list[tuple[int, int]]:
        steps = [(0, 1), (0, -1), (1, 0), (-1, 0)] + ([(1, 1), (1, -1), (-1, 1), (-1, -1)] if diagonal else [])
        allowed = [one for one in steps if all(free or not step for free, step in zip(self.free, one, strict=True))]
        near = [(place[0] + row, place[1] + column) for row, column in allowed]
        return [one for one in near if 0 <= min(one) and max(one) < len(GRID)]

    def _rough(self, place: tuple[int, int], start: Floats) -> GaussianFit:
        if place not in self.seen:
            tolerance = max(ROUGH, self.settings.tolerance)
            self.seen[place] = self.fitted(self._root(*self._scales(place)), start=start, tolerance=tolerance)
        return self.seen[place]

    def _scales(self, place: tuple[int, int]) -> Scales:
        prior_sd, item_sd = self.settings.prior_sd, self.settings.item_sd
        own = float(GRID[place[1]]) if self.x is not None else 0.0
        return (float(GRID[place[0]]) if prior_sd is None else prior_sd, own if item_sd is None else item_sd)

    def _root(self, prior_sd: float, item_sd: float) -> Floats:
        """(n_items, r), its product with its transpose the prior covariance of the utilities."""
        if self.x is None:
            return np.eye(self.n_items) * np.hypot(prior_sd, item_sd)
        if item_sd:
            return cholesky(prior_sd**2 * self.x @ self.x.T + item_sd**2 * np.eye(self.n_items))
        if self.x.shape[1] == 0:
            raise InvalidData("item_features are the same for every item; give others, or an item_sd above 0.")
        return prior_sd * self.x

    def _note(self, evidence: float) -> None:
        self.best = max(self.best, evidence)
        self.log.step(self.best if any(self.free) else evidence)


def _weights(x: Floats, fit: GaussianFit, prior_sd: float, item_sd: float) -> tuple[Floats, Floats]:
    """Posterior mean (d,) of the features' weights and a root (d, r) of their covariance."""
    if not item_sd:  # root = prior_sd x, weights = prior_sd w
        return prior_sd * fit.w_mean, prior_sd * fit.w_root()
    # weights | w ~ N(prior_sd H w, prior_sd^2 (I - H H')), H = prior_sd x' root^-T
    half = prior_sd * scipy.linalg.solve_triangular(fit.root, x, lower=True).T
    rest = cholesky(np.eye(len(half)) - half @ half.T)
    return prior_sd * half @ fit.w_mean, prior_sd * np.hstack([half @ fit.w_root(), rest])


def _mixed(share: Floats, means: list[Floats], covariances: list[Floats]) -> tuple[Floats, Floats]:
    """Mean and covariance of a mixture."""
    mean = np.asarray(share @ np.stack(means), dtype=np.float64)
    covariance = sum(
        p * (spread + np.outer(one - mean, one - mean))
        for p, one, spread in zip(share, means, covariances, strict=True)
    )
    return mean, np.asarray(covariance)
