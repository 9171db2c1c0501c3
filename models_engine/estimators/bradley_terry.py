"""BradleyTerry: one utility per item, shared by all annotators; by the posterior's mode or the nearest Gaussian."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models_engine.covariance.forms import Covariance, DenseCovariance
from models_engine.covariance.graph import GraphCovariance
from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.estimators.missed_agreement import agree_more, with_missed_agreement
from models_engine.estimators.settings import check_settings
from models_engine.estimators.substitutes import add_clause, fit_in_place_of
from models_engine.graphs import PairGraph
from models_engine.implied_pairs import PairTable
from models_engine.inference.davidson.learned_scale import AGREED_SD, CENTRAL_SD, HIGHEST_SD, LOWEST_SD, VariationalFits
from models_engine.inference.davidson.mode import MAX_DENSE_ITEMS, Curvature, DavidsonProblem, PairCounts, maximise
from models_engine.inference.davidson.scale_mixture import Mixed
from models_engine.inference.davidson.variational import find_nearest_gaussian, start_gaussian
from models_engine.inference.graded.counts import GradedCounts
from models_engine.inference.graded.problem import GradedProblem
from models_engine.linalg import centre
from models_engine.messages import Message, gettext_noop
from models_engine.posterior import GaussianPosterior, Likelihood, Posterior
from models_engine.progress import FitLog, Progress

__all__ = ["QUICK", "BradleyTerry"]

Floats = NDArray[np.float64]
Problem = DavidsonProblem | GradedProblem
MAX_SCALE_ITEMS = 300  # from whose pairs a prior_sd is learned where the mode is found: its log to some .05
MAX_NEAREST_ITEMS = 500  # up to which "auto" is variational: .4 s of a warm fit, ten times the mode's
MAX_ROUGH_ITEMS = 1_000  # up to which it is so at one scale, in some five steps from the mode
ROUGH_TOLERANCE = 1e-2  # of these steps
UNSETTLED = gettext_noop('variational inference did not converge: inference="map" with prior_sd %(prior_sd)s was used')


@dataclass(frozen=True)
class BradleyTerry:
    """Model P(left preferred) = 1/(1+exp(-(f_left - f_right))), f_i ~ N(0, prior_sd^2) (Bradley & Terry 1952).

    prior_sd: prior standard deviation of a utility, in logits; None learns it by the evidence of variational inference
        (MacKay 1992), so that intervals cover whatever the scale of the data: where the mode of more than 300 items
        is found, from the pairs among 300 neighbours. Variational inference averages over what is open about it
        (along_scale), and the posterior's prior_sd is the likeliest, from .05 up, or from half of 1.5 up where answers
        to the same pairs agree more than a smaller one explains (agree_more); the mode is found at the root of its mean
        square, and along_scale adds by how much utilities move with it.
    inference: "map" is the mode with Laplace's covariance, at any size. "variational" is the Gaussian closest to the
        posterior (Opper & Archambeau 2009): below about 50 comparisons per item its means are less biased and its
        intervals cover better, up to 2,000 items; above, the mode is found in its place and the message says so. "auto"
        is variational up to 500 items, so at the one scale up to 1,000 (unless prior_sd is given), and the mode above;
        where either does not converge, the mode with a prior_sd that is not learned takes its place, and the message
        says so.
    ties: "davidson" adds P(tie) = nu/(2 cosh(margin/2)+nu) (Davidson 1970) as soon as a tie is seen, "half" counts a
        tie as half a win each way, "ignore" leaves ties out.   tie_sd: prior standard deviation of log nu around 0.
    grades: "ordered" takes how much better an item is as an ordered likelihood with learned cut points (see
        GradedProblem), as soon as a label says it; ties then lie within the first cut point of 0 (Rao & Kupper 1967)
        unless they are halved or ignored. "ignore" takes the winner alone.
    side: also infer a utility added to the item shown left, with prior N(0, side_sd^2); pairs of known order only.
    annotator_weights: (n_annotators,) multiplies the weights of each annotator's labels; None means all 1.
    Larger sets enter as their implied pairs (Comparisons.pairs).
    """

    prior_sd: float | None = None
    inference: Literal["map", "variational", "auto"] = "auto"
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
        found = self._fit(data, start, rng, progress, LOWEST_SD)
        if self.prior_sd is not None:
            return found
        answers = self._answers(data)
        side = np.where(answers.sided, found.likelihood.side, 0.0) if self.side else None
        if found.prior_sd is not None and found.prior_sd < AGREED_SD and agree_more(answers.pairs, found, side):
            found = self._fit(data, start, rng, progress, AGREED_SD)
        return with_missed_agreement(found, answers.pairs, side=side)

    def _fit(
        self,
        data: Comparisons,
        start: Posterior | None,
        rng: np.random.Generator | None,
        progress: Progress | None,
        lowest: float,
    ) -> GaussianPosterior:
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
        few = data.n_items <= MAX_NEAREST_ITEMS
        variational = self.inference == "variational" or (self.inference == "auto" and few)
        found = (self._find_nearest if variational else self._find_mode)(self._answers(data), start, log, lowest)
        problem, converged = found.problem, found.converged and bool(np.isfinite(found.x).all())
        if self.inference == "auto" and not converged:
            simple = replace(self, inference="map", prior_sd=self.prior_sd or CENTRAL_SD).fit(
                data, start, rng, progress
            )
            return add_clause(simple, Message.of(UNSETTLED, prior_sd=f"{simple.prior_sd:g}"))
        text = (
            gettext_noop("all steps below %(tolerance)s")
            if converged
            else gettext_noop("steps not below %(tolerance)s")
        )
        scale = Message.of(gettext_noop("prior_sd %(prior_sd)s"), prior_sd=f"{found.prior_sd:.6g}")
        message = Message.joined(Message.of(text, tolerance=f"{self.tolerance:g}"), scale)
        steps = found.earlier_steps + len(log.objective)
        diagnostics = log.finish(converged=converged, message=message, n_iterations=steps)
        (f, side, log_nu), sds = problem.split(found.x), found.nuisance_sds
        likelihood = Likelihood(side=side, side_sd=float(sds[0]) if self.side else None)
        likelihood = replace(likelihood, tie_rate=data.pairs().tie_rate() if self.ties == "half" else None)
        if isinstance(problem, GradedProblem):
            of_cuts = [0.0] * (not problem.has_tie) + sds[len(sds) - problem.n_cuts :].tolist()
            cuts = problem.split(found.x)[2]
            likelihood = replace(likelihood, cuts=tuple(cuts.tolist()), cut_sds=tuple(of_cuts))
        elif problem.has_tie:
            likelihood = replace(likelihood, tie=float(np.exp(log_nu)))
        own, sd = GaussianPosterior(f - f.mean(), found.covariance, diagnostics, likelihood), found.prior_sd
        return replace(own, prior_sd=sd, along_scale=found.along)

    def _answers(self, data: Comparisons) -> "_Answers":
        pairs = _keep_weighted(data.pairs(), self)
        sided = self.side & (data.sizes[pairs.label] == 2) & (data.positions[data.starts[pairs.label]] >= 0)
        return _Answers(pairs, sided, data.n_grades)

    def _find_nearest(self, answers: "_Answers", start: Posterior | None, log: FitLog, lowest: float) -> "_Found":
        fits = self._start_variational(answers, start, log, lowest)
        if self.prior_sd is None:
            prior_sd = fits.learn_scale(_starting_sd(start))
            nearest, mixed = fits.nearest, fits.mix_over_scales(prior_sd)
        else:
            prior_sd, mixed = self.prior_sd, None
            nearest = fits.fit(prior_sd)
        n, along = fits.problem.n_items, None if mixed is None else centre(mixed.along[: fits.problem.n_items])
        if mixed is None:  # the curvature of a fit that ended early is not the inverse of its covariance
            whole = nearest.whole_covariance if fits.converged else nearest.state.curvature.inverse
            mixed = Mixed(nearest.state.x, whole, np.zeros(n))
        found = _dense_covariance(mixed.covariance, n)
        return _Found(fits.problem, prior_sd, mixed.mean, *found, fits.converged, along=along)

    def _find_mode(self, answers: "_Answers", start: Posterior | None, log: FitLog, lowest: float) -> "_Found":
        prior_sd, deviation, settled, earlier = self.prior_sd, 0.0, True, FitLog(self.max_iterations, log.progress)
        if prior_sd is None:
            prior_sd, deviation, settled = self._learn_scale(answers, start, earlier, lowest)
        problem = self._build_problem(answers).with_prior_sd(prior_sd)
        state, found = maximise(
            problem,
            problem.at(_starting_point(problem, start)),
            tolerance=self.tolerance,
            limit=self.max_iterations,
            step_done=log.step,
        )
        curvature = state.curvature
        if self.prior_sd is None and self.inference == "auto" and problem.n_items <= MAX_ROUGH_ITEMS:
            begin = start_gaussian(problem, state.x, curvature.precision.weights)
            nearest, near = find_nearest_gaussian(
                begin, tolerance=ROUGH_TOLERANCE, limit=self.max_iterations, step_done=log.step
            )
            state, curvature, found = nearest.state, nearest.curvature, found and near
        along = deviation * _change_with_scale(problem, state.x, curvature)
        covariance, sds = _covariance(curvature, along)
        n, settled = problem.n_items, settled and found
        uncertain = centre(along[:n]) if deviation else None
        return _Found(problem, prior_sd, state.x, covariance, sds, settled, len(earlier.objective), uncertain)

    def _learn_scale(
        self, answers: "_Answers", start: Posterior | None, log: FitLog, lowest: float
    ) -> tuple[float, float, bool]:
        """Learn prior_sd by variational inference, whatever finds the utilities: the root of the mean of its square
        (what an item without answers has as its variance), the standard deviation of its log, and whether it converged.

        By Laplace's approximation it would be a third to nine tenths of what it is. Of more than MAX_SCALE_ITEMS
        items, from the pairs among as many that are next to each other, as the prior is the same for all.
        """
        pairs, first = answers.pairs, _starting_sd(start)
        if pairs.n_items > MAX_SCALE_ITEMS:
            graph, _ = PairGraph.of(pairs.left, pairs.right, pairs.n_items)
            near = graph.neighbourhood(MAX_SCALE_ITEMS)
            pairs, rows = pairs.among(near)
            answers = _Answers(pairs, answers.sided[rows], answers.n_grades)
            start = start.restrict(near) if start is not None and near.max() < start.n_items else None
        fits = self._start_variational(answers, start, log, lowest)
        mean, deviation = fits.log_scale(fits.learn_scale(first))
        return min(float(np.exp(mean + deviation**2)), HIGHEST_SD), deviation, fits.converged

    def _start_variational(
        self, answers: "_Answers", start: Posterior | None, log: FitLog, lowest: float = LOWEST_SD
    ) -> VariationalFits:
        """Start from Laplace's approximation or from the earlier posterior."""
        problem = self._build_problem(answers)
        x = _starting_point(problem, start)
        if start is None:
            state, _ = maximise(problem, problem.at(x), tolerance=1e-2, limit=self.max_iterations, step_done=log.step)
        else:
            state = problem.with_variance(_starting_variance(problem, start)).at(x)
        begin = start_gaussian(problem, state.x, state.curvature.precision.weights)
        return VariationalFits(problem, begin, self.tolerance, log, lowest)

    def _build_problem(self, answers: "_Answers") -> Problem:
        pairs, sided, n_grades = answers
        halve_ties, own = self.ties == "half", np.full(pairs.n_items, (self.prior_sd or CENTRAL_SD) ** -2)
        side = [self.side_sd**-2] * self.side
        if self.grades == "ordered" and n_grades:
            graded = GradedCounts.of(pairs, sided, n_grades, halve_ties=halve_ties)
            return GradedProblem(graded, self.side, np.concatenate([own, side, np.zeros(graded.gaps.n_cuts)]))
        counts = PairCounts.of(pairs, sided, halve_ties=halve_ties)
        has_tie = self.ties == "davidson" and bool(counts.ties.sum() > 0)
        prior = np.concatenate([own, side, [self.tie_sd**-2] * has_tie])
        return DavidsonProblem(counts, self.side, has_tie, prior)


# Where a fit is a means to another end, or made very often.
QUICK = BradleyTerry(prior_sd=CENTRAL_SD, inference="map")


class _Answers(NamedTuple):
    """Pairs; whether the side on which each was shown counts, (n_pairs,); and the number of grades."""

    pairs: PairTable
    sided: NDArray[np.bool_]
    n_grades: int


class _Found(NamedTuple):
    """The centred utilities' covariance at x, the nuisances' standard deviations, and steps that are not in the log."""

    problem: Problem
    prior_sd: float
    x: Floats
    covariance: Covariance
    nuisance_sds: Floats
    converged: bool
    earlier_steps: int = 0
    along: Floats | None = None


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


def _change_with_scale(problem: Problem, x: Floats, curvature: Curvature) -> Floats:
    """Return the derivative of x in log prior_sd, (n_x,): the gradient's is 2 f / prior_sd^2."""
    pull = np.zeros(len(x))
    pull[: problem.n_items] = 2 * problem.prior[: problem.n_items] * x[: problem.n_items]
    return curvature.solve(pull)


def _covariance(curvature: Curvature, along: Floats) -> tuple[Covariance, Floats]:
    """Return the covariance of the centred utilities, nuisances integrated out, and the nuisances' sds; both with what
    is open in the direction along, (n_x,).
    """
    n = curvature.n_items
    if curvature.is_dense:
        return _dense_covariance(curvature.inverse + np.outer(along, along), n)
    extra, spread = along[:n, None], along[n:] ** 2
    if curvature.border.shape[1]:
        reach, of_nuisances = curvature.nuisance_spread()
        extra, spread = np.column_stack([reach, extra]), spread + np.diagonal(of_nuisances)
    return GraphCovariance.of(curvature.precision, extra if along.any() else extra[:, :-1]), np.sqrt(spread)


def _dense_covariance(matrix: Floats, n: int) -> tuple[Covariance, Floats]:
    return DenseCovariance.of(matrix[:n, :n]), np.sqrt(np.diagonal(matrix)[n:])
