"""Forecasts of labels: how many come within so many hours, and when so many have come."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.arrays import raising, read_count, read_floats, read_number
from models_engine.errors import InsufficientData, InvalidData, InvalidSetting, TooLarge
from models_engine.progress import Progress
from models_engine.rates import RateModel, RatePosterior
from models_engine.sessions import Sessions, find_sessions

__all__ = ["Forecast", "Forecaster", "draw_needed"]

Floats = NDArray[np.float64]
HOUR, MINUTE = 1.0, 1 / 60
MAX_MINUTES_HISTORY = 3.0  # hours; a shorter history is counted by the minute
DAY, HOURS_AFTER_A_DAY = 24.0, 6.0  # a history of at most a day says nothing of more than six hours
PATTERN_HOURS = 28 * DAY
MIN_FINISHED = 10  # finished sessions below which labels themselves are counted
LEVELS = (0.05, 0.5, 0.95)
MAX_DRAWS = 10**7


@dataclass(frozen=True, eq=False)
class Forecast:
    """Draws of the labels to come.

    labels: (n_draws, n_bins), by bin of bin_hours from now on. rate: the fitted rate of sessions begun or of labels
    (basis). history_hours: how long the project has had labels. n_later: labels left out, as they are from after now.
    """

    labels: Floats
    bin_hours: float
    basis: str
    rate: RatePosterior
    history_hours: float
    n_later: int

    @property
    def horizon(self) -> float:
        """Hours ahead that the forecast reaches."""
        return self.labels.shape[1] * self.bin_hours

    def within(self, hours: ArrayLike, most: float = np.inf) -> Floats:
        """Return draws (n_draws, n) of the labels within each number of hours, at most `most`: the tasks left.

        Within a bin labels come evenly. Raises InvalidSetting beyond the horizon.
        """
        at = np.atleast_1d(read_floats(hours, "hours"))
        if at.ndim != 1 or not ((at >= 0) & (at <= self.horizon + 1e-9)).all():
            raise InvalidSetting(f"hours must lie from 0 to the forecast's horizon of {self.horizon:g} hours.")
        total = self._total()
        place = np.minimum(at / self.bin_hours, self.labels.shape[1])
        low = np.floor(place).astype(np.int64)
        high = np.minimum(low + 1, self.labels.shape[1])
        return np.minimum(total[:, low] + (place - low) * (total[:, high] - total[:, low]), most)

    def hours_to(self, needed: Floats, most: float = np.inf) -> Floats:
        """Return for each draw the hours until the needed labels (n_draws,) have come; inf beyond the horizon.

        most: the tasks left; a draw that needs more never comes there.
        """
        if needed.shape != (len(self.labels),):
            raise InvalidData(f"needed has shape {needed.shape}; give one number per draw, ({len(self.labels)},).")
        total = self._total()
        reached = total >= needed[:, None]
        at = reached.argmax(axis=1)
        rows = np.arange(len(total))
        before = np.maximum(at - 1, 0)
        rise = np.maximum(total[rows, at] - total[rows, before], 1e-12)
        inside = np.where(at > 0, before + (needed - total[rows, before]) / rise, 0.0)
        return np.where(reached.any(axis=1) & (needed <= most), inside * self.bin_hours, np.inf)

    def _total(self) -> Floats:
        """Return labels by the end of each bin, (n_draws, n_bins + 1), 0 first."""
        return np.concatenate([np.zeros((len(self.labels), 1)), np.cumsum(self.labels, axis=1)], axis=1)


@dataclass(frozen=True)
class Forecaster:
    """Forecasts labels from the times of those that came.

    history: hours looked back on. horizon: hours ahead; at most 6 after a day's history or less. n_draws, n_hyper: of
    the labels, and of the rate's hyper-parameters. by_session: False counts labels themselves, which is worse.
    """

    history: float = 9 * DAY
    horizon: float = 7 * DAY
    n_draws: int = 600
    n_hyper: int = 8
    by_session: bool = True

    def forecast(
        self,
        times: ArrayLike,
        annotators: ArrayLike,
        now: float,
        *,
        start: RatePosterior | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Forecast:
        """Forecast from labels (n_labels,) at times in hours, by annotator, known at `now` in hours.

        start: the rate of an earlier forecast. Raises InvalidData, InsufficientData (no label yet), Cancelled.
        """
        sessions = find_sessions(times, annotators, now)
        if not len(sessions.times):
            raise InsufficientData("there is no label yet; a forecast needs at least one.")
        opened = float(sessions.times.min())
        past = max(now - opened, MINUTE)
        bin_hours = MINUTE if past <= MAX_MINUTES_HISTORY else HOUR
        horizon = min(self.horizon, HOURS_AFTER_A_DAY) if past <= DAY else self.horizon
        by_session = self.by_session and len(sessions.finished_since(-np.inf)) >= MIN_FINISHED
        events = sessions.begun if by_session else sessions.times
        counts, exposure = _count(events, now, min(past, self.history), bin_hours)
        cold = start is None or start.bin_hours != bin_hours
        model = RateModel(bin_hours=bin_hours, n_hyper=self.n_hyper, max_evaluations=25 if cold else 6)
        rate = model.fit(counts, exposure, start=None if cold else start, seed=seed, progress=progress)
        ahead = (np.arange(round(horizon / bin_hours)) + 0.5) * bin_hours
        drawn = rate.draws(len(counts) * bin_hours + ahead, np.full(len(ahead), bin_hours), self.n_draws, seed=seed)
        labels = self._labels(sessions, drawn, bin_hours, seed) if by_session else drawn
        basis = "sessions" if by_session else "labels"
        return Forecast(labels, bin_hours, basis, rate, past, int(np.size(times) - len(sessions.times)))

    def _labels(self, sessions: Sessions, begun: Floats, bin_hours: float, seed: int) -> Floats:
        rng = np.random.default_rng([seed, 1])
        return sessions.simulate(begun, sessions.now - PATTERN_HOURS, bin_hours, rng)


def draw_needed(low: float, middle: float, high: float | None, n_draws: int, seed: int = 0) -> Floats:
    """Draw labels needed (n_draws,) from a split log-normal with these quantiles of .05, .5 and .95.

    high None: nobody knows how many; the upper half is then infinite. Raises InvalidSetting unless they rise.
    """
    with raising(InvalidSetting):
        low, middle = read_number(low, "low"), read_number(middle, "middle")
        high, n_draws = None if high is None else read_number(high, "high"), read_count(n_draws, "n_draws")
    if n_draws > MAX_DRAWS:
        raise TooLarge(f"n_draws is {n_draws:,}; the limit is {MAX_DRAWS:,}.")
    if not (0 <= low <= middle and middle > 0 and (high is None or high >= middle)):
        raise InvalidSetting(f"low {low}, middle {middle} and high {high} must rise, the middle being above 0.")
    z = np.random.default_rng([seed, 2]).standard_normal(n_draws)
    below = np.log(middle / max(low, 0.5)) / 1.6448536269514722
    above = np.inf if high is None else np.log(high / middle) / 1.6448536269514722
    with np.errstate(invalid="ignore"):
        return np.asarray(middle * np.exp(np.where(z > 0, above, max(below, 0.0)) * z))


def _count(events: Floats, now: float, hours: float, bin_hours: float) -> tuple[Floats, Floats]:
    """Return counts and hours open of whole bins that end at now, oldest first; one bin where there was less time.

    What is older than the first whole bin is left out: a history begins with a label, which would make it look busy.
    """
    n_bins = max(1, int((hours + 1e-9) / bin_hours))
    back = np.floor((now - events) / bin_hours)
    counts = np.bincount((n_bins - 1 - back[back < n_bins]).astype(np.int64), minlength=n_bins).astype(np.float64)
    return counts, np.full(n_bins, min(bin_hours, hours))
