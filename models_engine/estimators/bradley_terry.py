"""BradleyTerry: one utility per item, shared by all annotators; by the posterior's mode or the nearest Gaussian."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models_engine.covariance.forms import Covariance, DenseCovariance
from models_engine.covariance.graph import GraphCovariance
from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.estimators.settings import check_settings
from models_engine.estimators.substitutes import fit_in_place_of
from models_engine.implied_pairs import PairTable
from models_engine.inference.davidson.mode import MAX_DENSE_ITEMS, Curvature, DavidsonProblem, PairCounts, maximise
from models_engine.inference.davidson.scale_mixture import mix_over_scales
from models_engine.inference.davidson.variational import find_nearest_gaussian, start_gaussian
from models_engine.inference.graded.counts import GradedCounts
from models_engine.inference.graded.problem import GradedProblem
from models_engine.messages import Message, gettext_noop
from models_engine.posterior import GaussianPosterior, Likelihood, Posterior
from models_engine.progress import FitLog, Progress

__all__ = ["BradleyTerry"]

Floats = NDArray[np.float64]
Problem = DavidsonProblem | GradedProblem
CENTRAL_SD = 1.5  # median of the log-normal prior of a learned prior_sd, whose log has sd 1
SCALE_STEPS = 30


@dataclass(frozen=True)
class BradleyTerry:
    """Model P(left preferred) = 1/(1+exp(-(f_left - f_right))), f_i ~ N(0, prior_sd^2) (Bradley & Terry 1952).

    prior_sd: prior standard deviation of a utility, in logits; None learns it by the evidence (MacKay 1992), so that
        intervals cover whatever the scale of the data, and averages over what is open about it, up to 2,000 items; use
        variational inference with it. The posterior's prior_sd is then the likeliest.
    inference: "map" is the mode with Laplace's covariance, at any size. "variational" is the Gaussian closest to the
        posterior (Opper & Archambeau 2009): below about 50 comparisons per item its means are less biased and its
        intervals cover better, up to 2,000 items; above, the mode is found in its place and the message says so. "auto"
        is variational up to there and the mode above.
    ties: "davidson" adds P(tie) = nu/(2 cosh(margin/2)+nu) (Davidson 1970) as soon as a tie is seen, "half" counts a
        tie as half a win each way, "ignore" leaves ties out.   tie_sd: prior standard deviation of log nu around 0.
    grades: "ordered" takes how much better an item is as an ordered likelihood with learned cut points (see
        GradedProblem), as soon as a label says it; ties then lie within the first cut point of 0 (Rao & Kupper 1967)
        unless they are halved or ignored. "ignore" takes the winner alone.
    side: also infer a utility added to the item shown left, with prior N(0, side_sd^2); pairs of known order only.
    annotator_weights: (n_annotators,) multiplies the weights of each annotator's labels; None means all 1.
    Larger sets enter as their implied pairs (Comparisons.pairs).
    """

    prior_sd: float | None = CENTRAL_SD
    inference: Literal["map", "variational", "auto"] = "map"
    ties: Literal["davidson", "half", "ignore"] = "davidson"
    tie_sd: float = 3.0
    grades: Literal["ordered", "ignore"] = "ordered"
    side: bool = False
    side_sd: float = 1.0
    annotator_weights: tuple[float, ...] | None = None
    max_iterations: int = 500
    tolerance: float = 1e-8

    def fit(
        self,
        data: Comparisons,
        start: Posterior | None = None,
        rng: np.random.Generator | None = None,
        progress: Progress | None = None,
    ) -> GaussianPosterior:
        """See Estimator.fit. The objective is concave, so every start gives the same result; rng is not used."""
        check_settings(self)
        if self.inference == "variational" and data.n_items > MAX_DENSE_ITEMS:
            by_mode = replace(self, inference="map")
            return fit_in_place_of(
                self.inference,
                by_mode.inference,
                data.n_items,
                MAX_DENSE_ITEMS,
                lambda: by_mode.fit(data, start, rng, progress),
            )
        log = FitLog(self.max_iterations, progress)
        pairs = _keep_weighted(data.pairs(), self)
        sided = self.side & (data.sizes[pairs.label] == 2) & (data.positions[data.starts[pairs.label]] >= 0)
        problem = self._build_problem(pairs, sided, data.n_grades)
        x = _starting_point(problem, start)
        if self.inference == "variational" or (self.inference == "auto" and data.n_items <= MAX_DENSE_ITEMS):
            run: _Run = _Variational(problem, x, self.tolerance, log, start)
        else:
            run = _Mode(problem, x, self.tolerance, log)
        if self.prior_sd is None:
            prior_sd = run.learn_scale(_starting_sd(start))
            mixed = run.mix_over_scales(prior_sd)
        else:
            prior_sd, mixed = run.optimise_at_scale(self.prior_sd), None
        converged = run.converged and bool(np.isfinite(run.x).all())
        text = (
            gettext_noop("all steps below %(tolerance)s")
            if converged
            else gettext_noop("steps not below %(tolerance)s")
        )
        scale = Message.of(gettext_noop("prior_sd %(prior_sd)s"), prior_sd=f"{prior_sd:.6g}")
        message = Message.joined(Message.of(text, tolerance=f"{self.tolerance:g}"), scale)
        diagnostics = log.finish(converged=converged, message=message)
        if mixed is None:
            x, (covariance, sds) = run.x, _covariance(run.curvature)
        else:
            x, (covariance, sds) = mixed[0], _dense_covariance(mixed[1], data.n_items)
        f, side, log_nu = problem.split(x)
        likelihood = Likelihood(side=side, side_sd=float(sds[0]) if self.side else None)
        likelihood = replace(likelihood, tie_rate=data.pairs().tie_rate() if self.ties == "half" else None)
        if isinstance(problem, GradedProblem):
            of_cuts = [0.0] * (not problem.has_tie) + sds[len(sds) - problem.n_cuts :].tolist()
            cuts = problem.split(x)[2]
            likelihood = replace(likelihood, cuts=tuple(cuts.tolist()), cut_sds=tuple(of_cuts))
        elif problem.has_tie:
            likelihood = replace(likelihood, tie=float(np.exp(log_nu)))
        return GaussianPosterior(f - f.mean(), covariance, diagnostics, likelihood, prior_sd=prior_sd)

    def _build_problem(self, pairs: PairTable, sided: NDArray[np.bool_], n_grades: int) -> Problem:
        halve_ties, own = self.ties == "half", np.full(pairs.n_items, (self.prior_sd or CENTRAL_SD) ** -2)
        side = [self.side_sd**-2] * self.side
        if self.grades == "ordered" and n_grades:
            graded = GradedCounts.of(pairs, sided, n_grades, halve_ties=halve_ties)
            return GradedProblem(graded, self.side, np.concatenate([own, side, np.zeros(graded.gaps.n_cuts)]))
        counts = PairCounts.of(pairs, sided, halve_ties=halve_ties)
        has_tie = self.ties == "davidson" and bool(counts.ties.sum() > 0)
        prior = np.concatenate([own, side, [self.tie_sd**-2] * has_tie])
        return DavidsonProblem(counts, self.side, has_tie, prior)


class _Run(ABC):
    """A running fit, at one prior scale after another."""

    def __init__(self, problem: Problem, x: Floats, tolerance: float, log: FitLog) -> None:
        self.problem, self.x, self.tolerance, self.log = problem, x, tolerance, log
        self.converged = True
        self.curvature = problem.at(x).curvature

    @property
    def steps_left(self) -> int:
        return max(0, self.log.total - len(self.log.objective))

    @abstractmethod
    def optimise_at_scale(self, prior_sd: float, within: float = 0.0) -> float:
        """Optimise x and curvature for this prior, to `within` if that is coarser than tolerance."""

    @abstractmethod
    def trace(self) -> float:
        """Return the sum of the uncentred utilities' variances."""

    def learn_scale(self, first: float) -> float:
        """Solve d log evidence / d log prior_sd = 0 by the secant rule from MacKay's first step."""
        position, before, step = np.log(first), (np.nan, np.nan), 1e-2
        for _ in range(SCALE_STEPS):
            sd = self.optimise_at_scale(float(np.exp(position)), within=min(1e-3, 1e-2 * abs(step)))
            slope, first_step = self._evidence_slope(sd)
            if abs(slope) < 1e-6 * self.problem.n_items:
                return self.optimise_at_scale(sd)
            secant = -slope * (position - before[0]) / (slope - before[1]) if slope != before[1] else np.nan
            step = float(np.clip(secant if np.isfinite(secant) else first_step, -0.7, 0.7))
            before, position = (position, slope), position + step
        self.converged = False
        return sd

    def mix_over_scales(self, sd: float) -> tuple[Floats, Floats] | None:
        """Return mean and covariance of x over scales, of which sd is the likeliest; see mix_over_scales. None where
        sd stands for all, where there are too many items for a matrix, or where some scale was not fitted to its end.

        The fit is at sd before and after.
        """
        if not self.converged or not self.curvature.is_dense:
            return None
        at_mode = self.x, self.curvature

        def fit(position: float) -> tuple[float, Floats, Callable[[], Floats]]:
            slope, _ = self._evidence_slope(self.optimise_at_scale(float(np.exp(position)), within=1e-4))
            curvature = self.curvature
            return slope, self.x, lambda: curvature.inverse

        mixed = mix_over_scales(float(np.log(sd)), fit)
        self.x, self.curvature = at_mode
        return mixed if self.converged else None

    def _evidence_slope(self, sd: float) -> tuple[float, float]:
        """Return E|f|^2/sd^2 - n plus the log-normal prior's gradient; and MacKay's step, the log of effective
        sd over sd.
        """
        f = self.problem.split(self.x)[0]
        pull = -np.log(sd / CENTRAL_SD)
        fitted, free = float(f @ f) / sd**2, self.problem.n_items - self.trace() / sd**2
        return fitted - free + pull, 0.5 * np.log(max(fitted + max(pull, 0), 1e-2) / max(free - min(pull, 0), 1e-2))


class _Mode(_Run):
    """Fit at the mode."""

    def optimise_at_scale(self, prior_sd: float, within: float = 0.0) -> float:
        problem = self.problem.with_prior_sd(prior_sd)
        tolerance = max(within, self.tolerance)
        state, found = maximise(
            problem, problem.at(self.x), tolerance=tolerance, limit=self.steps_left, step_done=self.log.step
        )
        self.x, self.curvature, self.converged = state.x, state.curvature, self.converged and found
        return prior_sd

    def trace(self) -> float:
        if self.curvature.is_dense:
            return float(np.trace(self.curvature.inverse[: self.problem.n_items, : self.problem.n_items]))
        return float(GraphCovariance.of(self.curvature.precision).marginals.sum())


class _Variational(_Run):
    """Fit of the nearest Gaussian, started from Laplace's or from the earlier posterior."""

    def __init__(self, problem: Problem, x: Floats, tolerance: float, log: FitLog, start: Posterior | None) -> None:
        super().__init__(problem, x, tolerance, log)
        if start is None:
            state, _ = maximise(problem, problem.at(x), tolerance=1e-2, limit=self.steps_left, step_done=log.step)
        else:
            state = problem.with_variance(_starting_variance(problem, start)).at(x)
        self.nearest = start_gaussian(problem, state.x, state.curvature.precision.weights)

    def optimise_at_scale(self, prior_sd: float, within: float = 0.0) -> float:
        problem = self.nearest.problem.with_prior_sd(prior_sd)
        begin = start_gaussian(problem, self.nearest.state.x, self.nearest.weights)
        tolerance = max(within, 100 * self.tolerance)
        self.nearest, found = find_nearest_gaussian(
            begin, tolerance=tolerance, limit=self.steps_left, step_done=self.log.step
        )
        self.x, self.curvature, self.converged = self.nearest.state.x, self.nearest.curvature, self.converged and found
        return prior_sd

    def trace(self) -> float:
        return float(np.trace(self.nearest.covariance))


def _keep_weighted(pairs: PairTable, settings: BradleyTerry) -> PairTable:
    """Leave out the pairs of weight 0, and ties if they are to be ignored."""
    weight = pairs.weight
    if settings.annotator_weights is not None:
        given = np.asarray(settings.annotator_weights, dtype=np.float64)
        if given.shape != (pairs.n_annotators,) or not (np.isfinite(given) & (given >= 0)).all():
            raise InvalidData(
                f"annotator_weights has {given.size} entries; give {pairs.n_annotators} finite numbers of 0 or more."
            )
        weight = weight * given[pairs.annotator]
    keep = (weight > 0) & ((pairs.outcome != 0.5) | (settings.ties != "ignore"))
    return replace(pairs, weight=weight).select(keep)


def _starting_point(problem: Problem, start: Posterior | None) -> Floats:
    x = np.zeros(len(problem.prior))
    if isinstance(problem, GradedProblem):
        known = start.likelihood.cuts if start is not None else None
        same = known is not None and len(known) == problem.gap_terms.n_grades and (known[0] > 0) == problem.has_tie
        cuts = np.array(known)[not problem.has_tie :] if known is not None and same else problem.gap_terms.starting()
        x[len(x) - problem.n_cuts :] = cuts
    if start is None:
        return x
    utilities = start.utilities()[: problem.n_items]
    x[: len(utilities)] = utilities
    if problem.has_side:
        x[problem.n_items] = start.likelihood.side
    if isinstance(problem, DavidsonProblem) and problem.has_tie and start.likelihood.tie:
        x[-1] = np.log(start.likelihood.tie)
    return x


def _starting_variance(problem: Problem, start: Posterior) -> Floats:
    """Return variances of the rows' margins under the earlier posterior; items it lacks have the prior's variance."""
    graph = problem.counts.graph
    known = graph.high < start.n_items  # low < high
    by_pair = np.full(graph.n_pairs, 2 / problem.prior[0])
    by_pair[known] = start.difference_variance(graph.low[known], graph.high[known])
    return by_pair[problem.counts.pair]


def _starting_sd(start: Posterior | None) -> float:
    known = start.prior_sd if isinstance(start, GaussianPosterior) else None
    return known or CENTRAL_SD


def _covariance(curvature: Curvature) -> tuple[Covariance, Floats]:
    """Return the covariance of the centred utilities, nuisances integrated out, and the nuisances' sds."""
    n = curvature.n_items
    if curvature.is_dense:
        return _dense_covariance(curvature.inverse, n)
    if not curvature.border.shape[1]:
        return GraphCovariance.of(curvature.precision), np.zeros(0)
    extra, spread = curvature.nuisance_spread()
    return GraphCovariance.of(curvature.precision, extra), np.sqrt(np.diagonal(spread))


def _dense_covariance(matrix: Floats, n: int) -> tuple[Covariance, Floats]:
    return DenseCovariance.of(matrix[:n, :n]), np.sqrt(np.diagonal(matrix)[n:])
