"""CrowdBT: Bradley-Terry where every annotator has a reliability, from always right to always reversed."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models_engine.covariance.forms import Covariance, LowRankCovariance, SumCovariance
from models_engine.data import Comparisons
from models_engine.errors import InvalidSetting
from models_engine.estimators.crowd_posterior import CrowdPosterior, beta_from_moments, summarise_reliabilities
from models_engine.estimators.missed_agreement import with_missed_agreement
from models_engine.estimators.settings import check_settings
from models_engine.implied_pairs import PairTable
from models_engine.inference.crowd_bt.fit import CrowdFitSpec, Solution, ascend_objective, solve_crowd
from models_engine.inference.crowd_bt.graded_mode import find_graded_mode
from models_engine.inference.crowd_bt.laplace import laplace
from models_engine.inference.crowd_bt.log_posterior import Point
from models_engine.inference.crowd_bt.pairs import NoisyPairs
from models_engine.inference.crowd_bt.reliability import BetaPrior
from models_engine.inference.crowd_bt.scales import DEFAULT_SCALES, ScaleLearner, Scales
from models_engine.inference.graded.cut_points import starting_log_gaps
from models_engine.linalg import centre, sum_by_group
from models_engine.messages import Message, gettext_noop
from models_engine.posterior import Diagnostics, Likelihood, Posterior
from models_engine.progress import FitLog, Progress

__all__ = ["CrowdBT"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CrowdBT:
    """P(left preferred) = eta_j s(z) + (1 - eta_j) s(-z), z = f_left - f_right, s the logistic (Chen et al. 2013).

    eta_j, the reliability of annotator j, has a Beta prior of mean above 1/2, which identifies the direction.

    prior_sd: prior standard deviation of a utility, in logits.   reliability: (alpha, beta) of the Beta prior. None
        learns them from the labels, so that intervals cover whatever the scale of the data and the crowd.
    inference: "ep" is expectation propagation, whose means and intervals are more accurate; "map" is the mode, found
        by Newton steps on EM's objective, with Laplace's covariance: quicker and reproducible by hand, but where labels
        are few its utilities are 10 to 30% too small and its 90% intervals cover only 75 to 85%; it does
        not learn, and None means prior_sd=1.5 and reliability=(8.5, 1.5).
    ties: "davidson" adds P(tie) = nu/(2 cosh(z/2)+nu) (Davidson 1970), the same for reversed answers, "half"
        counts a tie as half a win each way, "ignore" leaves ties out.   tie_sd: prior standard deviation of log nu.
    grades: "ordered" counts how much better an item is, where labels say it (Comparisons.grades), in place of
        Davidson's ties: P(grade g for left) = eta_j G(z) + (1 - eta_j) G(-z), G(z) = s(z - c_{g-1}) - s(z - c_g),
        P(tie) = s(z + c_0) - s(z - c_0): the cumulative logit with symmetric cut points (McCullagh 1980; Agresti 1992;
        as BradleyTerry has it), mixed with its reversed answer as a choice is; a reversed answer keeps its grade. Cut
        points are learned as the scales are. "ignore" takes the winners alone.
    side: also infer a utility added to the item shown left, with prior N(0, side_sd^2); pairs of known order only. It
        is part of what the annotator sees, so that a reversed answer reverses it as well.
    Weights multiply a label's log likelihood after reversed and unreversed are summed out. Larger sets enter as their
    implied pairs (Comparisons.pairs). A warm start saves time on more than 2,000 wins and is not used on fewer.

    Where the labels allow the ranking and its reverse, "ep" mixes both, if both are fixed points of EP.
    Two dozen labels or fewer under a weak prior (alpha + beta up to 2.5, U-shaped or not) may have only one, too spread
    out and overconfident: of 16 labels means came out up to .6 standard deviations off and intervals up to .4 too
    narrow, of 40 within .1 and .15. Use such a prior for more labels, and one as the default's for few. The same
    happens where one of few people reverses the answers of the others, whatever the prior.
    """

    prior_sd: float | None = None
    reliability: tuple[float, float] | None = None
    inference: Literal["ep", "map"] = "ep"
    ties: Literal["davidson", "half", "ignore"] = "davidson"
    tie_sd: float = 3.0
    grades: Literal["ordered", "ignore"] = "ordered"
    side: bool = False
    side_sd: float = 1.0
    max_iterations: int = 200
    tolerance: float = 1e-3

    def fit(
        self,
        data: Comparisons,
        start: Posterior | None = None,
        rng: np.random.Generator | None = None,
        progress: Progress | None = None,
    ) -> CrowdPosterior:
        """See Estimator.fit; rng is not used. diagnostics.objective: EP's log evidence plus the log prior of the
        learned scales, after each sweep, and at each fixed point where scales had to be searched one by one; or, for
        "map", the log posterior after each step."""
        self._check()
        log = FitLog(self.max_iterations, progress)
        spec, first = self._spec(data, start), FitLog(self.max_iterations, progress)
        x = _starting_point(spec, start)
        if self.inference == "map":
            fit_mode = self._fit_graded_mode if spec.scales.log_gaps else self._fit_mode
            return fit_mode(spec, x, log, data)
        log = FitLog(self.max_iterations, _continue_progress(first, progress))
        solution = solve_crowd(spec, x, _starting_margins(spec, start), first.step, log.step)
        total = len(first.objective) + len(log.objective)
        done = solution.converged
        diagnostics = log.finish(converged=done, message=_message(solution, self.tolerance), n_iterations=total)
        scales, side_sd = solution.state.scales, None
        if self.side:
            side_sd = float(np.sqrt(solution.state.belief.side_variance))
        side = float(solution.state.belief.mean[-1]) if self.side else 0.0
        likelihood = self._likelihood(data, scales, side, side_sd)
        if scales.cuts is not None:
            sds = tuple(solution.cut_deviations().tolist())
            likelihood = replace(likelihood, cuts=tuple(scales.cuts.tolist()), cut_sds=sds)
        reliabilities = solution.reliabilities()
        found = _posterior(solution.utilities(), solution.covariance(), diagnostics, likelihood, scales, reliabilities)
        pairs = data.pairs()
        added = np.where(self._sided(data, pairs), side, 0.0) if self.side else None
        return with_missed_agreement(found, pairs, reliabilities[0], added)

    def _fit_mode(self, spec: CrowdFitSpec, x: Floats, log: FitLog, data: Comparisons) -> CrowdPosterior:
        point, _, converged = ascend_objective(spec, x, log.step, self.tolerance / 100)
        text = gettext_noop("the last step moved the unknowns by less than %(tolerance)s")
        text = text if converged else gettext_noop("the last step moved the unknowns by more than %(tolerance)s")
        diagnostics = log.finish(converged=converged, message=Message.of(text, tolerance=f"{self.tolerance / 100:g}"))
        f, side, log_nu = point.target.split(point.x)
        covariance, own, side_sd = laplace(point)
        scales = replace(spec.scales, log_nu=log_nu)
        likelihood = self._likelihood(data, scales, side, side_sd)
        return _posterior(f, covariance, diagnostics, likelihood, scales, _mean_reliabilities(point, own))

    def _fit_graded_mode(self, spec: CrowdFitSpec, x: Floats, log: FitLog, data: Comparisons) -> CrowdPosterior:
        found = find_graded_mode(spec, x, log.step, self.tolerance / 100)
        text = gettext_noop("the last step moved the unknowns by less than %(tolerance)s")
        text = text if found.converged else gettext_noop("the last step moved the unknowns by more than %(tolerance)s")
        message = Message.of(text, tolerance=f"{self.tolerance / 100:g}")
        diagnostics = log.finish(converged=found.converged, message=message)
        f, side, _ = found.point.target.split(found.point.x)
        covariance, own, side_sd = laplace(found.point)
        if side_sd is not None:
            side_sd = float(np.sqrt(side_sd**2 + (found.moves[len(f)] ** 2).sum()))
        open_cuts = LowRankCovariance(centre(found.moves[: len(f)].T).T, np.zeros(len(f)))
        likelihood = self._likelihood(data, spec.scales, side, side_sd)
        likelihood = replace(likelihood, cuts=tuple(found.cuts.tolist()), cut_sds=found.cut_sds)
        wide = SumCovariance(covariance, open_cuts)
        return _posterior(f, wide, diagnostics, likelihood, spec.scales, _mean_reliabilities(found.point, own))

    def _check(self) -> None:
        check_settings(self)
        if self.reliability is not None:
            alpha, beta = self.reliability
            if not (0.1 <= beta < alpha < np.inf):
                raise InvalidSetting(
                    f"reliability={self.reliability} must be (alpha, beta) with alpha > beta >= 0.1: people must be "
                    "expected to be right more often than not, or the ranking could as well be the other way round."
                )

    def _spec(self, data: Comparisons, start: Posterior | None) -> CrowdFitSpec:
        """Sum the labels; take scales as set, else from an earlier fit of this model, else their prior medians."""
        table = data.pairs()
        if self.ties == "ignore":
            table = table.select(table.outcome != 0.5)
        if self.ties == "half":
            table = _halve_ties(table)
        sided = self._sided(data, table)
        graded = self.grades == "ordered" and data.n_grades > 0
        pairs = NoisyPairs.of(table, sided, graded=graded)
        has_tie = bool(pairs.ties.sum() > 0)
        scales = DEFAULT_SCALES
        if isinstance(start, CrowdPosterior) and start.prior_sd is not None and self.inference == "ep":
            log_nu = float(np.log(start.likelihood.tie)) if start.likelihood.tie else -np.inf
            scales = Scales(start.prior_sd, BetaPrior(*start.crowd), log_nu)
        scales = Scales(
            scales.prior_sd if self.prior_sd is None else self.prior_sd,
            scales.reliability if self.reliability is None else BetaPrior(*self.reliability),
            (scales.log_nu if np.isfinite(scales.log_nu) else 0.0) if has_tie and not graded else -np.inf,
            _starting_gaps(pairs, data.n_grades, start) if graded else (),
        )
        learner = ScaleLearner(
            self.prior_sd is None,
            self.reliability is None,
            has_tie and not graded,
            self.tie_sd,
            tuple(np.isfinite(scales.log_gaps).tolist()),
        )
        return CrowdFitSpec(
            pairs,
            scales,
            learner,
            self.side_sd if self.side else None,
            self.tolerance,
            self.max_iterations,
            scales.cuts,
        )

    def _sided(self, data: Comparisons, pairs: PairTable) -> NDArray[np.bool_]:
        """Return of which pairs it counts which item was shown left, (n_pairs,)."""
        return self.side & (data.sizes[pairs.label] == 2) & (data.positions[data.starts[pairs.label]] >= 0)

    def _likelihood(self, data: Comparisons, scales: Scales, side: float, side_sd: float | None) -> Likelihood:
        return Likelihood(
            side=side,
            lapse=1 - scales.reliability.mean,
            tie=float(np.exp(scales.log_nu)) if np.isfinite(scales.log_nu) else None,
            tie_rate=data.pairs().tie_rate() if self.ties == "half" else None,
            side_sd=side_sd,
        )


def _posterior(
    f: Floats,
    covariance: Covariance,
    diagnostics: Diagnostics,
    likelihood: Likelihood,
    scales: Scales,
    reliabilities: tuple[Floats, Floats],
) -> CrowdPosterior:
    """Build the posterior. reliabilities: mean and variance, (n_annotators,) each."""
    counts = beta_from_moments(*reliabilities)
    return CrowdPosterior(
        f - f.mean(),
        covariance,
        diagnostics,
        likelihood,
        lapses=1 - reliabilities[0],
        annotators=summarise_reliabilities(counts),
        prior_sd=scales.prior_sd,
        counts=counts,
        crowd=(scales.reliability.alpha, scales.reliability.beta),
    )


def _mean_reliabilities(point: Point, own: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of each annotator's reliability. own (n_annotators,): variance due to the utilities."""
    crowd = point.evaluation.crowd
    mean = (crowd.mass * crowd.eta).sum(axis=1)
    return mean, (crowd.mass * crowd.eta**2).sum(axis=1) - mean**2 + own


def _message(solution: Solution, tolerance: float) -> Message:
    scales = solution.state.scales
    text = gettext_noop("the last sweep moved every margin and scale by less than %(tolerance)s")
    if not solution.converged:
        text = gettext_noop("the last sweep moved a margin or scale by more than %(tolerance)s; raise max_iterations")
    found = gettext_noop("prior_sd %(prior_sd)s, mean reliability %(reliability)s")
    clauses = [
        Message.of(text, tolerance=f"{tolerance:g}"),
        Message.of(found, prior_sd=f"{scales.prior_sd:.3g}", reliability=f"{scales.reliability.mean:.3g}"),
    ]
    if solution.reversed_probability > 0.01:
        reversed_ = gettext_noop("probability %(chance)s that the whole ranking is the wrong way round")
        clauses.append(Message.of(reversed_, chance=f"{solution.reversed_probability:.2f}"))
    return Message.joined(*clauses)


def _continue_progress(first: FitLog, progress: Progress | None) -> Progress | None:
    """Return the caller's progress callback, counting from the steps of an earlier stage."""
    if progress is None:
        return None
    return lambda step, total, objective: progress(len(first.objective) + step, 2 * total, objective)


def _halve_ties(table: PairTable) -> PairTable:
    """Replace every tie by half a win each way."""
    tied = np.flatnonzero(table.outcome == 0.5)
    rows = np.concatenate([np.arange(len(table)), tied])
    outcome, weight = table.outcome[rows], table.weight[rows]
    outcome[tied], outcome[len(table) :] = 1.0, 0.0
    weight[tied] /= 2
    weight[len(table) :] /= 2
    return replace(table.select(rows), outcome=outcome, weight=weight)


def _starting_gaps(pairs: NoisyPairs, n_grades: int, start: Posterior | None) -> tuple[float, ...]:
    """Return log gaps of cut points: an earlier fit's where it has them and ties alike, else by the answers' shares."""
    by_grade = sum_by_group(pairs.grade, pairs.weight, n_grades + 1)
    by_grade[0] = pairs.ties.sum()
    known = None if start is None else start.likelihood.cuts
    if known is not None and len(known) == n_grades and (known[0] > 0) == (by_grade[0] > 0):
        with np.errstate(divide="ignore"):
            return tuple(np.log(np.diff(known, prepend=0.0)).tolist())
    return tuple(starting_log_gaps(by_grade).tolist())


def _starting_point(spec: CrowdFitSpec, start: Posterior | None) -> Floats:
    """Return the start of the search for the mode: zeros, or an earlier fit's utilities for the items it has."""
    f = np.zeros(spec.pairs.graph.n_items)
    if start is None:
        return spec.x(f, 0.0)
    known = start.utilities()[: len(f)]
    f[: len(known)] = known
    return spec.x(f, start.likelihood.side)


def _starting_margins(spec: CrowdFitSpec, start: Posterior | None) -> tuple[Floats, Floats] | None:
    """Return means and variances of the margins, (n_rows,), under an earlier fit; items it lacks have their prior."""
    if not isinstance(start, CrowdPosterior):
        return None
    pairs, n = spec.pairs, start.n_items
    low, high = pairs.graph.low, pairs.graph.high
    inside = (low < n) & (high < n)
    variance = np.full(len(low), 2 * spec.scales.prior_sd**2)
    variance[inside] = start.difference_variance(low[inside], high[inside])
    mean = pairs.margins(_starting_point(spec, start)[: pairs.graph.n_items + (spec.side_sd is not None)])
    return mean, np.maximum(variance, 1e-12)[pairs.pair]
