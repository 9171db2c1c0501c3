"""Who is likely to come back, who has probably left, how many are expected: from the times of labels."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.arrays import read_integers, read_values
from models_engine.inference.returns import ReturnPosterior, fit_returns
from models_engine.progress import Progress
from models_engine.sessions import Sessions, find_sessions

__all__ = ["Returning", "Visits", "find_visits", "forecast_returns"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
DAY = 24.0  # hours
OVER = 0.95  # share of the gaps that are over by the silence after which somebody has dropped out


@dataclass(frozen=True, eq=False)
class Visits:
    """Visits (sessions) of each annotator with a label: (n_annotators,) each, and (n_gaps,) hours between visits."""

    annotators: Ints
    n_visits: Ints
    silence: Floats
    gaps: Floats


@dataclass(frozen=True, eq=False)
class Returning:
    """P(another visit), and P(one begins within the next 24 hours), (n_annotators,).

    limit: hours of silence by which 95% of gaps are over; dropped_out: who has been silent for longer and is more
    likely than not gone.
    """

    visits: Visits
    probability: Floats
    within_a_day: Floats
    limit: float
    posterior: ReturnPosterior

    @property
    def dropped_out(self) -> NDArray[np.bool_]:
        return np.asarray((self.visits.silence > self.limit) & (self.probability < 0.5))

    @property
    def expected_within_a_day(self) -> float:
        """The number of these annotators expected to come within the next 24 hours."""
        return float(self.within_a_day.sum())


def find_visits(times: ArrayLike, annotators: ArrayLike, now: float) -> Visits:
    """Return the visits behind labels at times in hours, (n_labels,); labels after `now` are left out.

    Arguments and errors as for sessions.find_sessions: InvalidData naming row and value.
    """
    sessions: Sessions = find_sessions(times, annotators, now)
    at, people, now = read_values(times, "times"), read_integers(annotators, "annotators"), sessions.now
    order = np.lexsort((at, people))
    who = people[order[at[order] <= now]][sessions.first]
    same = who[1:] == who[:-1]
    gaps = (sessions.begun[1:] - sessions.ended[:-1])[same]
    is_last = np.append(~same, True)[: len(who)]
    keys, n_visits = np.unique(who, return_counts=True)
    return Visits(keys, n_visits, now - sessions.ended[is_last], gaps)


def forecast_returns(
    times: ArrayLike, annotators: ArrayLike, now: float, *, progress: Progress | None = None
) -> Returning:
    """Forecast who comes back from labels at times in hours, (n_labels,), known at `now`.

    No label: nobody, and the prior's limit. Raises InvalidData, Cancelled.
    """
    visits = find_visits(times, annotators, now)
    found = fit_returns(visits.n_visits, visits.silence, visits.gaps, progress=progress)
    return Returning(
        visits,
        found.returns(visits.n_visits, visits.silence),
        found.returns_within(visits.n_visits, visits.silence, DAY),
        found.gaps.quantile(OVER),
        found,
    )
