"""GPPL: one consensus of all annotators as a Gaussian process over item features, or one utility per item."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models_engine.covariance.forms import Covariance, DenseCovariance, LowRankCovariance
from models_engine.data import Comparisons
from models_engine.estimators.gppl_posterior import FORMS, FittedProcess, GPPLPosterior, mix_posteriors
from models_engine.estimators.missed_agreement import with_missed_agreement
from models_engine.estimators.settings import check_settings
from models_engine.estimators.substitutes import fit_in_place_of
from models_engine.inference.pairwise_gp.ep import PairwiseEP, pool_sites
from models_engine.inference.pairwise_gp.graded import CutPoints, GradedFactors
from models_engine.inference.pairwise_gp.graded_ep import GradedEP
from models_engine.inference.pairwise_gp.graph import LEAST_TOLERANCE, fit_on_graph
from models_engine.inference.pairwise_gp.inducing import ItemPrior, build_item_prior
from models_engine.inference.pairwise_gp.kernel_choice import (
    MAX_EXACT_ITEMS,
    choose_kernel,
    kernel_candidates,
    weigh_kernels,
)
from models_engine.inference.pairwise_gp.model import GammaPrior, GaussianMargins, GPState, PairFactors, PairwiseGP
from models_engine.inference.pairwise_gp.variational import fit_stochastic, maximise_bound, solve_linearised
from models_engine.kernels import Form, ItemKernel
from models_engine.linalg import centre, cholesky
from models_engine.messages import RAISE_ITERATIONS, Message, gettext_noop, propagation_message
from models_engine.posterior import Diagnostics, Likelihood, Posterior
from models_engine.progress import FitLog, Progress

__all__ = ["GPPL"]

Floats = NDArray[np.float64]
MAX_ITEMS = 2_000  # without features, up to which there is a matrix over all items
MAX_SCALES = 120  # tried by EP
TOO_MANY_FOR_GRADES = gettext_noop("with so many items grades did not count, the winners alone did")
GRADES_IGNORED = gettext_noop('grades did not count, the winners alone did: inference="vg" counts them')


@dataclass(frozen=True)
class GPPL:
    """Model P(a preferred to b) = Phi(f_a - f_b), f ~ GP(0, K / s), s ~ Gamma(prior_shape, rate prior_rate).

    All annotators share f. After Chu & Ghahramani (2005) and Simpson & Gurevych (2020, crowd_gppl sections 3.1 and
    4.2).

    inference: "vg", the Gaussian nearest to the posterior; "ep", expectation propagation with s at its mode, up to
        n_inducing items, without features up to 2,000; "linearised", crowd_gppl's own scheme, for comparison: its sites
        depend on the posterior mean only, without features up to 2,000 items. Of more "vg" is used in their place, and
        the message says so.
    prior_shape, prior_rate: E[s] = shape / rate; a utility's prior variance is 1 / s in units of the answer's noise.
    kernel: over item features where given, "identity" else; see ItemKernel for the forms and the median heuristic.
    share, length_scale: how much of the variance the features explain, and the length scale as a multiple of the
        median heuristic's; None averages over those tried, weighted by their bounds (weigh_kernels); past 300 items, or
        by minibatches, it chooses by the bound over the most compared items (300, or 2,000 through inducing points).
    n_inducing: with more items the process is approximated by this number of inducing points, from k-means++; then the
    part of a utility that features do not explain is not learned and stays uncertain.
    batch_size: distinct pairs in a step of stochastic variational inference (vg only), None for all; epochs passes
        over all with rho_i = (i + delay)^-forget.
    grades: "ordered" takes how much better an item is, where labels say it, as an ordered likelihood with learned cut
        points: P(grade g for a) = Phi(z - c_{g-1}) - Phi(z - c_g), z = f_a - f_b, the ordered probit (McCullagh 1980)
        with symmetric cut points (Agresti 1992). A tie then lies within c_0 of 0. What is open about cut points, by
        Laplace's approximation for them and the utilities together, is part of the intervals. "ignore" takes the
        winners alone, as "linearised" does, whose message says so.
    Equal pairs of all annotators are summed; ties are half a win each way where no label has a grade; larger sets enter
    as their implied pairs.
    """

    inference: Literal["vg", "ep", "linearised"] = "vg"
    prior_shape: float = 2.0
    prior_rate: float = 2.0
    kernel: Literal["matern32", "matern32-product", "rbf", "identity"] = "matern32"
    share: float | None = None
    length_scale: float | None = None
    n_inducing: int = 1_000
    batch_size: int | None = None
    epochs: int = 20
    delay: float = 1.0
    forget: float = 0.9
    grades: Literal["ordered", "ignore"] = "ordered"
    max_iterations: int = 300
    tolerance: float = 1e-6

    def fit(
        self,
        data: Comparisons,
        start: Posterior | None = None,
        rng: np.random.Generator | None = None,
        progress: Progress | None = None,
    ) -> GPPLPosterior:
        """See Estimator.fit. start: vg starts from its utilities and scale; not used with inducing points.

        diagnostics.objective: the bound on log p(labels) (vg, linearised), a batch's expected log likelihood (with
        batch_size), or EP's log evidence and log prior at each s tried.
        """
        check_settings(self)
        limit = self._most_items(data)
        if limit is not None and data.n_items > limit:
            by_bound = replace(self, inference="vg")
            return fit_in_place_of(
                self.inference,
                by_bound.inference,
                data.n_items,
                limit,
                lambda: by_bound.fit(data, start, rng, progress),
            )
        generator = np.random.default_rng(0) if rng is None else rng
        scale = GammaPrior(self.prior_shape, self.prior_rate)
        if self._is_large(data):
            return with_missed_agreement(self._on_graph(data, scale, start, progress), data.pairs())
        factors = self._factors(data, scale, start)
        first = FitLog(self._n_steps(factors), progress)
        kernels, shares = self._kernels(data, factors, scale, first)
        fits, logs = [], [first]
        for kernel in kernels:
            logs.append(FitLog(self._n_steps(factors), _continue_progress(logs, progress)))
            fits.append(self._by_kernel(data, kernel, factors, scale, start, generator, logs[-1]))
        return with_missed_agreement(mix_posteriors(shares, fits), data.pairs())

    def _by_kernel(
        self,
        data: Comparisons,
        kernel: ItemKernel,
        factors: PairFactors,
        scale: GammaPrior,
        start: Posterior | None,
        rng: np.random.Generator,
        log: FitLog,
    ) -> GPPLPosterior:
        n_points = max(self.n_inducing, 1) if not kernel.is_identity else data.n_items
        prior = build_item_prior(kernel, n_points, rng)
        if self.inference == "ep":
            return self._by_ep(data, kernel, prior, scale, log)
        problem = PairwiseGP(factors, prior, scale)
        ignored = self.inference == "linearised" and self._counts_grades(data)
        state, diagnostics = self._run(problem, start, rng, log, ignores_grades=ignored)
        cuts = CutPoints.of_state(state)
        covariance = state.covariance if cuts is None else state.covariance + cuts.widening
        moments = (state.mean, covariance)
        return self._posterior(data, kernel, prior, moments, state.expected_scale, diagnostics, cuts)

    def _counts_grades(self, data: Comparisons) -> bool:
        return self.grades == "ordered" and data.n_grades > 0

    def _factors(self, data: Comparisons, scale: GammaPrior, start: Posterior | None) -> PairFactors:
        """Return the factors of all pairs: of winners alone, or of grades where these count."""
        if not self._counts_grades(data) or self.inference == "linearised":
            return PairFactors.of(data.pairs())
        known = None if start is None or start.likelihood.link != "probit" else start.likelihood.cuts
        return GradedFactors.of_grades(data.pairs(), data.n_grades, 2 / scale.mean, known)

    def _run(
        self,
        problem: PairwiseGP,
        start: Posterior | None,
        rng: np.random.Generator,
        log: FitLog,
        *,
        ignores_grades: bool,
    ) -> tuple[GPState, Diagnostics]:
        state = (
            problem.start()
            if start is None or problem.prior.reach is not None
            else _state_from_posterior(problem, start)
        )
        if self.batch_size is not None and self.inference == "vg" and self.batch_size < len(problem.factors):
            found = fit_stochastic(
                problem.start(),
                rng,
                batch_size=self.batch_size,
                epochs=self.epochs,
                delay=self.delay,
                forget=self.forget,
                on_step=log.step,
            )
            text = gettext_noop("the last step over all pairs changed a margin by %(change)s of its standard deviation")
            clauses = [Message.of(text, change=f"{found.change:.2g}")]
            if not found.converged:
                clauses.append(Message.of(gettext_noop("this is not below 0.2: raise epochs")))
        else:
            solve = maximise_bound if self.inference == "vg" else solve_linearised
            found = solve(state, tolerance=self.tolerance, limit=self.max_iterations, on_step=log.step)
            text = gettext_noop("the last step changed margins and log scale by %(change)s")
            clauses = [Message.of(text, change=f"{found.change:.1g}")]
            if not found.converged:
                clauses.append(Message.of(RAISE_ITERATIONS, tolerance=f"{self.tolerance:g}"))
        if ignores_grades:
            clauses.append(Message.of(GRADES_IGNORED))
        clauses.append(_scale_message(found.state.expected_scale))
        return found.state, log.finish(converged=found.converged, message=Message.joined(*clauses))

    def _by_ep(
        self, data: Comparisons, kernel: ItemKernel, prior: ItemPrior, scale: GammaPrior, log: FitLog
    ) -> GPPLPosterior:
        graded = self._counts_grades(data)
        sites = pool_sites(data.pairs(), data.weights, graded=graded)
        settings = (sites, prior.kernel, prior.precision, scale, self.tolerance)
        if graded:
            solution = GradedEP(*settings, data.n_grades).solve(self.max_iterations, log.step)
            inverse_scale, found, cuts = solution.inverse_scale, solution.found, solution.cuts
            moments = solution.mean, solution.covariance + cuts.widening
        else:
            propagation, cuts = PairwiseEP(*settings), None
            inverse_scale, found = propagation.run(self.max_iterations, log.step)
            moments = propagation.moments(inverse_scale, found)
        message = propagation_message(found.converged, found.change, found.n_iterations, self.tolerance)
        message = Message.joined(message, _scale_message(inverse_scale))
        diagnostics = log.finish(converged=found.converged, message=message)
        return self._posterior(data, kernel, prior, moments, inverse_scale, diagnostics, cuts)

    def _most_items(self, data: Comparisons) -> int | None:
        """Return of how many items this inference can make a matrix; None where it needs none."""
        if self.inference == "vg":
            return None
        if self._features(data) is None:
            return MAX_ITEMS
        return self.n_inducing if self.inference == "ep" else None

    def _is_large(self, data: Comparisons) -> bool:
        return data.n_items > MAX_ITEMS and self._features(data) is None

    def _on_graph(
        self, data: Comparisons, scale: GammaPrior, start: Posterior | None, progress: Progress | None
    ) -> GPPLPosterior:
        """Fit without a matrix over all items, by winners alone."""
        log = FitLog(self.max_iterations, progress)
        sd = getattr(start, "prior_sd", None)
        inverse_scale = scale.mean if sd is None else float(sd**-2)
        mean, variance = np.zeros(data.n_items), np.full(data.n_items, 1 / inverse_scale)
        if start is not None:
            known = start.utilities()[: data.n_items]
            mean[: len(known)], variance[: len(known)] = known, start.standard_deviations()[: len(known)] ** 2
        found = fit_on_graph(
            PairFactors.of(data.pairs()),
            scale,
            (mean, variance),
            inverse_scale,
            tolerance=self.tolerance,
            limit=self.max_iterations,
            on_step=log.step,
        )
        text = gettext_noop("the last step changed margins and log scale by %(change)s")
        clauses = [Message.of(text, change=f"{found.change:.1g}")]
        if not found.converged:
            clauses.append(Message.of(RAISE_ITERATIONS, tolerance=f"{max(self.tolerance, LEAST_TOLERANCE):g}"))
        if self._counts_grades(data):
            clauses.append(Message.of(TOO_MANY_FOR_GRADES))
        clauses.append(_scale_message(found.expected_scale))
        return GPPLPosterior(
            centre(found.mean),
            found.covariance,
            log.finish(converged=found.converged, message=Message.joined(*clauses)),
            Likelihood("probit", tie_rate=data.pairs().tie_rate()),
            prior_sd=found.expected_scale**-0.5,
        )

    def _features(self, data: Comparisons) -> Floats | None:
        """Return item features if they are to be used and differ between items."""
        features = data.item_features
        used = self.kernel != "identity" and self.share != 0 and features is not None and features.size
        return features if used and features is not None and np.ptp(features, axis=0).any() else None

    def _kernels(
        self, data: Comparisons, factors: PairFactors, scale: GammaPrior, log: FitLog
    ) -> tuple[list[ItemKernel], Floats]:
        """Return the kernels to average over and their weights: the chosen one alone past MAX_EXACT_ITEMS, and by
        minibatches, whose steps need not settle by every kernel."""
        features = self._features(data)
        if features is None or self.kernel == "identity":
            return [ItemKernel(None, data.n_items)], np.ones(1)
        tried, exact = kernel_candidates(self.share, self.length_scale), data.n_items <= self.n_inducing
        form: Form = self.kernel
        kernel = ItemKernel(features, data.n_items, form=form)
        if exact and data.n_items <= MAX_EXACT_ITEMS and self.batch_size is None:
            return weigh_kernels(factors, kernel, tried, scale, log.step)
        if not exact:
            tried = [one for one in tried if one[0] > 0]
        return [choose_kernel(factors, kernel, tried, scale, log.step, exact=exact)], np.ones(1)

    def _n_steps(self, factors: PairFactors) -> int:
        choice = len(kernel_candidates(self.share, self.length_scale))
        if self.inference == "ep":
            return choice + MAX_SCALES
        batches = 1 if self.batch_size is None else max(1, len(factors) // self.batch_size)
        return choice + (self.max_iterations if batches == 1 else batches * self.epochs + 1)

    def _posterior(
        self,
        data: Comparisons,
        kernel: ItemKernel,
        prior: ItemPrior,
        moments: tuple[Floats, Floats],
        inverse_scale: float,
        diagnostics: Diagnostics,
        cuts: CutPoints | None = None,
    ) -> GPPLPosterior:
        mean, covariance = moments
        likelihood = Likelihood("probit", tie_rate=data.pairs().tie_rate())
        if cuts is not None:
            likelihood = Likelihood("probit", cuts=cuts.values, cut_sds=cuts.deviations)
        spread: Covariance = DenseCovariance.of(covariance)
        utilities = mean
        if prior.reach is not None:
            utilities = prior.reach @ mean
            spread = LowRankCovariance(prior.reach @ cholesky(covariance), prior.rest / inverse_scale)
        sources: tuple[FittedProcess, ...] = ()
        if kernel.features is not None:
            settings = np.array([kernel.share, kernel.length, FORMS.index(kernel.form)])
            points = np.zeros((0, 0)) if prior.points is None else prior.points
            sources = (FittedProcess(kernel.features, settings, points, mean, covariance, np.array(inverse_scale)),)
        return GPPLPosterior(
            centre(utilities),
            spread,
            diagnostics,
            likelihood,
            prior_sd=inverse_scale**-0.5,
            sources=sources,
            shares=np.ones(len(sources)),
        )


def _state_from_posterior(problem: PairwiseGP, start: Posterior) -> GPState:
    """Build the state of sites at an earlier fit's utilities; items it lacks start at the prior."""
    factors, n = problem.factors, min(start.n_items, problem.prior.n_points)
    mean = np.zeros(problem.prior.n_points)
    mean[:n] = start.utilities()[:n]
    sd = getattr(start, "prior_sd", None)
    inverse_scale = problem.scale.mean if sd is None else sd**-2
    variance = np.full(len(factors), 2 / inverse_scale)
    known = (factors.low < n) & (factors.high < n)
    variance[known] = np.maximum(start.difference_variance(factors.low[known], factors.high[known]), 1e-12)
    margin = mean[factors.low] - mean[factors.high]
    terms = factors.terms(GaussianMargins(margin, variance))
    return problem.at(factors.expected_by(terms)[2], inverse_scale, mean)


def _continue_progress(
    before: list[FitLog], progress: Progress | None
) -> Callable[[int, int, float], bool | None] | None:
    """Return the caller's progress callback, counting on from the steps of these logs, up to the total."""
    if progress is None:
        return None
    done = sum(len(log.objective) for log in before)
    return lambda step, total, objective: progress(min(done + step, total), total, objective)


def _scale_message(inverse_scale: float) -> Message:
    return Message.of(gettext_noop("prior_sd %(prior_sd)s"), prior_sd=f"{inverse_scale**-0.5:.3g}")
