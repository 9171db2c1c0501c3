"""Who comes back: beta-geometric visits with gaps of any length between them, from people whose end nobody has seen."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import betaln

from models_engine.arrays import raise_first, read_floats, read_integers
from models_engine.errors import InvalidData
from models_engine.messages import Message, gettext_noop
from models_engine.progress import FitLog, Progress
from models_engine.summaries import Diagnostics

__all__ = ["BetaGeometric", "GapDistribution", "ReturnPosterior", "fit_beta_geometric", "fit_returns"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PRIOR_SD = 3.0  # of log a and log b: next to nothing with data, an answer without
SHORTEST, LONGEST, N_BINS = 0.5, 24.0 * 90, 72  # hours of the gaps told apart, in equal steps of their logarithm
PRIOR_LONGEST = 24.0 * 28
PRIOR_GAPS = 10.0  # gaps that the prior is worth, spread over the logarithm from half an hour to four weeks
TOLERANCE = 1e-5  # of the objective from one step to the next, per person


@dataclass(frozen=True)
class BetaGeometric:
    """P(no visit after the k-th | k visits) = a / (a + b + k - 1): the chance to stop differs by person, as Beta(a, b).

    No mean of the visits to come is given: with a <= 1 there is none.
    """

    a: float
    b: float

    def stop(self, visits: ArrayLike) -> Floats:
        """Return P(the last visit was the last), shape of `visits`, which are 1 or more."""
        k = np.asarray(visits, dtype=np.float64)
        return np.asarray(self.a / (self.a + self.b + k - 1))

    def more(self, visits: ArrayLike, n: int = 1) -> Floats:
        """Return P(at least n further visits), shape of `visits`."""
        k = np.asarray(visits, dtype=np.float64)
        return np.asarray(np.exp(betaln(self.a, self.b + k - 1 + n) - betaln(self.a, self.b + k - 1)))


def fit_beta_geometric(stopped: ArrayLike, continued: ArrayLike, start: BetaGeometric | None = None) -> BetaGeometric:
    """Fit a and b to how many people stopped, and how many went on, after their first, second, ... visit, (n,) each.

    The mode with a prior of sd 3 on both logarithms. Counts may be fractions. Raises InvalidData.
    """
    ends, goes = read_floats(stopped, "stopped"), read_floats(continued, "continued")
    if ends.shape != goes.shape or ends.ndim != 1:
        raise InvalidData(f"stopped has shape {ends.shape}, continued {goes.shape}; give one of each per visit.")
    for name, values in (("stopped", ends), ("continued", goes)):
        raise_first(~np.isfinite(values) | (values < 0), values, f"{name} must be finite and 0 or more", None)
    used = np.flatnonzero(ends + goes)
    ends, goes, later = ends[used], goes[used], used.astype(np.float64)

    def loss(logs: Floats) -> tuple[float, Floats]:
        a, b = np.exp(logs)
        total, going = a + b + later, b + later
        value = ends.sum() * logs[0] + goes @ np.log(going) - (ends + goes) @ np.log(total)
        of_total = ((ends + goes) / total).sum()
        slopes = np.array([ends.sum() - a * of_total, b * ((goes / going).sum() - of_total)])
        prior = -0.5 * (logs @ logs) / PRIOR_SD**2
        return -(value + prior), -(slopes - logs / PRIOR_SD**2)

    first = np.log([start.a, start.b]) if start else np.zeros(2)
    found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=[(-15, 15)] * 2)
    a, b = np.exp(found.x if found.fun <= loss(first)[0] else first)
    return BetaGeometric(float(a), float(b))


@dataclass(frozen=True, eq=False)
class GapDistribution:
    """Hours between visits: chances of bins of equal width in the logarithm, (N_BINS,), uniform within each."""

    chances: Floats

    @property
    def edges(self) -> Floats:
        return np.geomspace(SHORTEST, LONGEST, N_BINS + 1)

    def longer(self, hours: ArrayLike) -> Floats:
        """Return P(a gap is longer), shape of `hours`; 1 up to half an hour, 0 from 90 days on."""
        return longer_share(hours) @ self.chances

    def quantile(self, level: float) -> float:
        """Return the hours within which a share `level` of gaps is over."""
        total = np.append(0.0, np.cumsum(self.chances))
        return float(np.exp(np.interp(level * total[-1], total, np.log(self.edges))))


def longer_share(hours: ArrayLike) -> Floats:
    """Return (n, N_BINS) what share of each bin is longer than each silence."""
    at = np.log(np.maximum(np.asarray(hours, dtype=np.float64), SHORTEST) / SHORTEST)
    width = np.log(LONGEST / SHORTEST) / N_BINS
    return np.asarray(np.clip(np.arange(1, N_BINS + 1) - at[..., None] / width, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class ReturnPosterior:
    """How likely people are to come back, given their visits and their silence since the last."""

    visits: BetaGeometric
    gaps: GapDistribution
    diagnostics: Diagnostics

    def returns(self, n_visits: ArrayLike, silence: ArrayLike) -> Floats:
        """Return P(another visit), (n,): a silence longer than most gaps makes it small."""
        goes = self.visits.more(n_visits) * self.gaps.longer(silence)
        return np.asarray(goes / (goes + self.visits.stop(n_visits)))

    def returns_within(self, n_visits: ArrayLike, silence: ArrayLike, hours: float) -> Floats:
        """Return P(another visit begins within so many hours from now), (n,)."""
        now, then = self.gaps.longer(silence), self.gaps.longer(np.asarray(silence) + hours)
        share = np.divide(now - then, now, out=np.zeros_like(now), where=now > 0)
        return np.asarray(self.returns(n_visits, silence) * share)


def fit_returns(
    n_visits: ArrayLike, silence: ArrayLike, gaps: ArrayLike, *, max_steps: int = 500, progress: Progress | None = None
) -> ReturnPosterior:
    """Fit visits and gaps together by expectation maximisation, whose objective, the log posterior, never falls.

    n_visits: (n_people,), 1 or more, of each person so far. silence: (n_people,), hours since their last. gaps:
    (n_gaps,), hours between visits that were seen. Whether the silent come back is not known, so each counts as both,
    by the chance of either. That gaps are longer than any that was seen, and that people have left, explain silences
    equally well: of such gaps there are as many as the prior has (the tail of Taylor 1995 is 0). Nobody at all gives
    the prior. Raises InvalidData, Cancelled.
    """
    counts = read_integers(n_visits, "n_visits", least=1)
    silent, seen = _hours(silence, "silence"), _hours(gaps, "gaps")
    if counts.shape != silent.shape:
        raise InvalidData(f"n_visits has shape {counts.shape}, silence {silent.shape}; give one of each per person.")
    places = _bins(seen)
    known = np.bincount(places, minlength=N_BINS) + _prior_gaps()
    beyond = np.arange(N_BINS) > (places.max() if len(places) else N_BINS)
    visits, chances, log = BetaGeometric(1.0, 1.0), known / known.sum(), FitLog(max_steps, progress)
    shares, change = longer_share(silent), np.inf
    went_on = _went_on(counts)
    while len(log.objective) < max_steps and change > TOLERANCE * max(1, len(counts)):
        longer = shares @ chances
        goes, stops = visits.more(counts) * longer, visits.stop(counts)
        log.step(_log_posterior(visits, chances, known, np.log(goes + stops).sum(), went_on))
        change = log.objective[-1] - log.objective[-2] if len(log.objective) > 1 else np.inf
        weight = goes / (goes + stops)
        of_bins = np.divide(weight, longer, out=np.zeros_like(weight), where=longer > 0) @ shares * chances
        counts_within = np.where(beyond, 0.0, known + of_bins)
        kept = 1 - chances[beyond].sum()
        chances = np.where(beyond, chances, kept * counts_within / counts_within.sum())
        again = np.bincount(counts - 1, weight, len(went_on))
        visits = fit_beta_geometric(np.bincount(counts - 1, 1 - weight, len(went_on)), went_on + again, visits)
    converged = change <= TOLERANCE * max(1, len(counts))
    message = Message.of(
        gettext_noop("the objective rose by %(change)s in the last of %(n)d steps"),
        change=f"{change:.2g}",
        n=len(log.objective),
    )
    return ReturnPosterior(visits, GapDistribution(chances), log.finish(converged=converged, message=message))


def _hours(values: ArrayLike, name: str) -> Floats:
    hours = read_floats(values, name)
    raise_first(~np.isfinite(hours) | (hours < 0), hours, f"{name} must be finite and 0 or more", None)
    return hours


def _bins(gaps: Floats) -> Ints:
    width = np.log(LONGEST / SHORTEST) / N_BINS
    at = np.log(np.clip(gaps, SHORTEST, LONGEST) / SHORTEST) / width
    return np.minimum(at.astype(np.int64), N_BINS - 1)


def _prior_gaps() -> Floats:
    middles = np.sqrt(
        np.geomspace(SHORTEST, LONGEST, N_BINS + 1)[:-1] * np.geomspace(SHORTEST, LONGEST, N_BINS + 1)[1:]
    )
    flat = np.where(middles <= PRIOR_LONGEST, 1.0, 0.01)  # no gap is impossible
    return np.asarray(PRIOR_GAPS * flat / flat.sum())


def _went_on(counts: Ints) -> Floats:
    """Return how many people are known to have gone on after their first, second, ... visit."""
    n = int(counts.max()) if len(counts) else 1
    exactly = np.bincount(counts, minlength=n + 1)[1:].astype(np.float64)
    return len(counts) - np.cumsum(exactly)


def _log_posterior(visits: BetaGeometric, chances: Floats, known: Floats, of_ends: float, went_on: Floats) -> float:
    goes = went_on @ np.log(visits.more(np.arange(1, len(went_on) + 1)))
    logs = np.log([visits.a, visits.b])
    return float(of_ends + goes + known @ np.log(chances) - 0.5 * (logs @ logs) / PRIOR_SD**2)
