"""AngleBased: rankings by their angle to a consensus vector; exact up to eight items, any kind of label."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from models_engine.data import Comparisons
from models_engine.errors import InsufficientData
from models_engine.estimators.angle_posterior import AnglePosterior
from models_engine.estimators.plackett_luce import split_rhat
from models_engine.estimators.settings import check_settings
from models_engine.inference.angle.completions import Completions, draw_rankings
from models_engine.inference.angle.likelihood import (
    AngleLabels,
    AngleTarget,
    Mode,
    Variational,
    fit_variational,
    match_gamma,
)
from models_engine.inference.angle.order_target import OrderTarget
from models_engine.inference.angle.orders import DrawnRankings, Orders
from models_engine.inference.angle.permutations import EXACT_LIMIT, log_constant, place_scores
from models_engine.inference.angle.von_mises_fisher import log_sphere_mean, sample_directions
from models_engine.messages import SPLIT_RHAT, Message, gettext_noop
from models_engine.posterior import Likelihood, Posterior
from models_engine.progress import FitLog, Progress

__all__ = ["AngleBased"]

Floats = NDArray[np.float64]
NO_PRIOR_SD = 1e6  # prior_sd that has the effect of no prior
MIN_VAGUE_VARIANCE = 1e6  # a variance of eta above this multiple of 1 / n means that eta is not identified
PROPOSAL_SHARE = 0.5  # of shape and rate of the variational Gamma, for the proposals
DEGREES_OF_FREEDOM = 6.0  # of the Student proposals around the mode


@dataclass(frozen=True)
class AngleBased:
    """Model P(ranking) ~ exp(kappa theta'y), y the standardised ranks (Xu, Alvo & Yu, Angle-Based Models for Ranking
    Data).

    A utility is -kappa theta_i, so that larger is better: given the two places that a and b have, the odds that a
    has the better one are exp((f_a - f_b) * distance of the places), the distance of first and last being about
    sqrt(12/n_items). Utilities here are therefore larger than logits; they are not those of Plackett-Luce.
    prior_sd: prior standard deviation of a utility, independent normals; by "vi" the Gamma on kappa with the same mean
        and variance. "mle" has no prior.
    inference: "auto", "laplace" where labels are incomplete rankings of more than eight items, else "sir";
        "sir", sampling importance resampling from the posterior: up to eight items with the exact constant and
        proposals at the mode, above with the von Mises-Fisher constant and proposals from the variational form;
        "vi", the variational form (Algorithm 1) with the approximate constant, whose error the message gives;
        "laplace", the normal around the likelihood's mode; "mle", the same without a prior.
    The likelihood of incomplete labels (pairs, choices, tops, rankings of some items) sums over all compatible complete
    rankings: exactly up to eight items by "sir", "laplace" and "mle". Above, by Metropolis swaps inside a Gibbs sampler
    of kappa and theta ("sir": exact for the approximate constant; "vi": drawing from the variational form), or
    averaged over rankings drawn from the model ("laplace", "mle"; see Orders).
    The sampler mixes slowly when most items are missing from most labels: check its R-hat, or use "laplace", which does
    not slow down.
    In simulated crowds of this model 90% intervals covered 90% by "sir" and 80% by "laplace" (30 labels over five
    items). Coverage is not claimed for crowds of other models, whose utilities have another meaning.
    """

    prior_sd: float = 3.0
    inference: Literal["auto", "sir", "vi", "laplace", "mle"] = "auto"
    n_draws: int = 1_000
    n_burn_in: int = 500
    thin: int = 4

    def fit(
        self,
        data: Comparisons,
        start: Posterior | None = None,
        rng: np.random.Generator | None = None,
        progress: Progress | None = None,
    ) -> AnglePosterior:
        """See Estimator.fit. "mle" raises InsufficientData where the likelihood has no maximum; `start` is not used."""
        check_settings(self)
        rng = np.random.default_rng(0) if rng is None else rng
        labels = AngleLabels.of(data)
        settings = self._resolved(labels)
        exact = data.n_items <= EXACT_LIMIT and settings.inference != "vi"
        if data.n_items == 1:
            fit = _Run(settings, labels, rng, FitLog(1, progress)).single_item()
        elif labels.n_incomplete and not exact and settings.inference in ("sir", "vi"):
            total = self.n_burn_in + self.n_draws * self.thin
            fit = _Run(settings, labels, rng, FitLog(total, progress)).gibbs(data)
        else:
            fit = _Run(settings, labels, rng, FitLog(3, progress)).direct()
        eta, log, converged, message = fit
        scores = place_scores(data.n_items)[draw_rankings(eta, rng)]
        diagnostics = log.finish(converged=converged, message=message)
        utilities = -eta + eta.mean(axis=1, keepdims=True)
        likelihood = Likelihood(tie_rate=data.pairs().tie_rate())
        prior_sd = None if self.inference == "mle" else self.prior_sd
        return AnglePosterior(utilities, diagnostics, likelihood, prior_sd=prior_sd, scores=scores)

    def _resolved(self, labels: AngleLabels) -> "AngleBased":
        """Return these settings with the method that "auto" stands for here."""
        if self.inference != "auto":
            return self
        return replace(self, inference="laplace" if labels.t > EXACT_LIMIT and labels.n_incomplete else "sir")


DrawsResult = tuple[Floats, FitLog, bool, Message]


@dataclass(frozen=True, eq=False)
class _Run:
    """One fit: each method returns draws of eta = kappa theta (n_draws, t), the log, whether it converged, and
    a message.
    """

    settings: AngleBased
    labels: AngleLabels
    rng: np.random.Generator
    log: FitLog

    def single_item(self) -> DrawsResult:
        self.log.step(0.0)
        message = Message.of(gettext_noop("there is only one item, so nothing to compare"))
        return np.zeros((self.settings.n_draws, 1)), self.log, True, message

    def direct(self) -> DrawsResult:
        """Fit without sampling completions of incomplete rankings."""
        inference, exact = self.settings.inference, self.labels.t <= EXACT_LIMIT
        empty = not (self.labels.total or len(self.labels.weight))
        if inference == "mle":
            return self._mle()
        if inference == "laplace" or (inference == "sir" and exact) or empty:
            return self._around_mode(resample=inference == "sir" and not empty)
        form = self._variational(self.labels.resultant, self.labels.total)
        for bound in (form.bounds[0], form.bounds[-1]):
            self.log.step(bound)
        if inference == "vi":
            eta = self._from(form, self.settings.n_draws)
            return eta, self.log, form.converged, Message.joined(_described(form), self._error_of_constant(eta))
        eta = self._from(form, 10 * self.settings.n_draws, wider=True)
        weight = self._log_weight(eta, form, self.labels.total, log_constant(eta))
        return self._resampled(eta, weight)

    def gibbs(self, data: Comparisons) -> DrawsResult:
        """Sample completions given (kappa, theta) by swaps; (kappa, theta) given completions by an
        independence step.
        """
        settings, rng = self.settings, self.rng
        completions = Completions(data, rng)
        eta, draws = np.zeros(self.labels.t), np.empty((settings.n_draws, self.labels.t))
        constant = log_constant(eta[None])[0]
        for sweep in range(-settings.n_burn_in, settings.n_draws * settings.thin):
            completions.move(eta, self.labels.t, rng)
            resultant, total = completions.resultant(), completions.total
            form = self._variational(resultant, total, tolerance=1e-4)
            proposed = self._from(form, 1, wider=settings.inference == "sir")[0]
            constants = np.array([constant, log_constant(proposed[None])[0]])
            weights = self._log_weight(np.stack([eta, proposed]), form, total, constants)
            discard_weights = sweep < -settings.n_burn_in // 2  # weights mean nothing far from where labels put eta
            if discard_weights or settings.inference == "vi" or np.log(rng.random()) < weights[1] - weights[0]:
                eta, constant = proposed, constants[1]
            if sweep >= 0 and sweep % settings.thin == 0:
                draws[sweep // settings.thin] = eta
            self.log.step(float(eta @ resultant - total * constant))
        spread = split_rhat(draws)
        message = Message.of(SPLIT_RHAT, spread=f"{spread:.3f}")
        return draws, self.log, spread <= 1.05, message

    def _mle(self) -> DrawsResult:
        mode = self._mode(NO_PRIOR_SD)
        n = self.labels.total + self.labels.weight.sum()
        if n == 0 or not mode.converged or n * (mode.root**2).sum(axis=0).max() > MIN_VAGUE_VARIANCE:
            text = gettext_noop(
                "the likelihood has no maximum: too few rankings, or all agree on something; "
                'add rankings, or use inference="sir", which has a prior.'
            )
            raise InsufficientData(Message.of(text))
        return self._around_mode(resample=False, prior_sd=NO_PRIOR_SD)

    def _around_mode(self, *, resample: bool, prior_sd: float | None = None) -> DrawsResult:
        """Draw from the normal at the mode; or Student draws around it, resampled by their weights."""
        prior_sd = self.settings.prior_sd if prior_sd is None else prior_sd
        target, mode = AngleTarget(self.labels, prior_sd), self._mode(prior_sd)
        self.log.step(mode.value)
        n, p = self.settings.n_draws * (2 if resample else 1), len(mode.mean)
        normal = self.rng.standard_normal((n, p))
        if not resample:
            text = gettext_noop("mode of the log posterior, %(value)s, and the normal around it")
            message = Message.of(text, value=f"{mode.value:.6g}")
            return (mode.mean + normal @ mode.root.T) @ target.basis.T, self.log, mode.converged, message
        scale = np.sqrt(DEGREES_OF_FREEDOM / self.rng.chisquare(DEGREES_OF_FREEDOM, size=n))[:, None]
        unit = normal * scale
        log_proposal = -(DEGREES_OF_FREEDOM + p) / 2 * np.log1p((unit**2).sum(axis=1) / DEGREES_OF_FREEDOM)
        z = mode.mean + unit @ mode.root.T
        return self._resampled(z @ target.basis.T, target.log_density(z) - log_proposal, mode.converged)

    def _mode(self, prior_sd: float) -> Mode:
        """Find the mode; over rankings from the model where incomplete ones of more than eight items are among them."""
        labels = self.labels
        if labels.t <= EXACT_LIMIT or not labels.n_incomplete:
            return AngleTarget(labels, prior_sd).mode(on_iteration=self.log.check)
        target = OrderTarget(labels, Orders.of(labels.before), prior_sd)
        drawn = DrawnRankings.at(np.zeros(labels.t), self.rng)
        return target.with_exact_root(*target.mode(drawn, self.rng, on_iteration=self.log.check))

    def _variational(self, resultant: Floats, total: float, tolerance: float = 1e-8) -> Variational:
        return fit_variational(
            resultant, total, match_gamma(self.settings.prior_sd, self.labels.t - 1), tolerance=tolerance
        )

    def _from(self, form: Variational, n: int, *, wider: bool = False) -> Floats:
        """Draw eta (n, t) from the variational form, or from a wider one for kappa."""
        share, t = (PROPOSAL_SHARE if wider else 1.0), len(form.direction)
        kappa = self.rng.gamma(share * form.a, size=n) / (share * form.b)
        basis = AngleTarget(self.labels, 1.0).basis
        along = basis.T @ form.direction if form.beta else np.eye(t - 1)[0]
        return kappa[:, None] * sample_directions(along, kappa * form.beta, self.rng) @ basis.T

    def _log_weight(self, eta: Floats, form: Variational, total: float, constant: Floats) -> Floats:
        """Return the log of posterior over proposal at eta (n, t), with its constant (n,); the terms in theta cancel
        except for the constant.
        """
        kappa, p = np.maximum(np.linalg.norm(eta, axis=1), 1e-12), eta.shape[1] - 1
        prior = (p - 1) * np.log(kappa) - kappa**2 / (2 * self.settings.prior_sd**2)
        proposal = (PROPOSAL_SHARE * form.a - 1) * np.log(kappa) - PROPOSAL_SHARE * form.b * kappa
        return prior - total * constant + log_sphere_mean(form.beta * kappa, p) - proposal

    def _resampled(self, eta: Floats, log_weight: Floats, converged: bool = True) -> DrawsResult:
        """Resample systematically; converged if the effective sample size is 100 or more."""
        weight = softmax(log_weight)
        worth = float(1 / (weight**2).sum())
        points = (np.arange(self.settings.n_draws) + self.rng.random()) / self.settings.n_draws
        rows = np.minimum(np.searchsorted(np.cumsum(weight), points), len(eta) - 1)
        self.log.step(float(np.log(np.exp(log_weight - log_weight.max()).mean()) + log_weight.max()))
        text = gettext_noop("effective sample size %(worth)s of %(n)d weighted proposals; 100 is enough")
        message = Message.of(text, worth=f"{worth:.0f}", n=len(eta))
        return eta[self.rng.permutation(rows)], self.log, converged and worth >= 100, message

    def _error_of_constant(self, eta: Floats) -> Message:
        """Describe the error of the approximate log constant at the posterior mean."""
        if self.labels.t > EXACT_LIMIT:
            return Message.of(gettext_noop("constant approximated"))
        mean = eta.mean(axis=0, keepdims=True)
        t = self.labels.t
        exact = log_constant(mean)[0] - log_constant(np.zeros((1, t)))[0]
        error = float(log_sphere_mean(np.linalg.norm(mean), t - 1)) - exact
        text = gettext_noop("the approximate log constant errs by %(error)s per ranking at the posterior mean")
        return Message.of(text, error=f"{error:+.4f}")


def _described(form: Variational) -> Message:
    text = gettext_noop("posterior: kappa ~ Gamma(%(a)s, %(b)s), beta %(beta)s")
    return Message.of(text, a=f"{form.a:.6g}", b=f"{form.b:.6g}", beta=f"{form.beta:.6g}")
