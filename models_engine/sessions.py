"""Sessions of annotators: runs of labels without a long pause, when they begin, and how they go on.

Labels come in bursts, arrivals nearly at random: a rate is fitted to sessions begun, and each simulated session copies
the labels of a finished one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.arrays import read_integers, read_number, read_values
from models_engine.validation import check_rows

__all__ = ["PAUSE", "Sessions", "find_sessions"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PAUSE = 0.5  # hours without a label after which an annotator's next one begins a session
MAX_SESSION_BINS = 24  # labels of a longer session are counted in its last bin
MAX_SIMULATED = 2_000_000  # sessions; beyond them one stands for several


@dataclass(frozen=True, eq=False)
class Sessions:
    """Labels in sessions, sorted by session and time.

    times: (n_labels,), hours, those of one session together. first: (n_sessions,), the place of its first label in
    `times`; size: (n_sessions,), its number of labels. now: hours; a session whose last label is within the pause
    before it is open.
    """

    times: Floats
    first: Ints
    size: Ints
    now: float

    @property
    def begun(self) -> Floats:
        """Times of the first labels, (n_sessions,)."""
        return self.times[self.first]

    @property
    def ended(self) -> Floats:
        """Times of the last labels so far, (n_sessions,)."""
        return self.times[self.first + self.size - 1]

    @property
    def is_open(self) -> NDArray[np.bool_]:
        return self.ended > self.now - PAUSE

    def finished_since(self, hours: float) -> Ints:
        """Return the finished sessions that ended at or after this time; all finished ones where none did."""
        finished = np.flatnonzero(~self.is_open)
        recent = finished[self.ended[finished] >= hours]
        return recent if len(recent) else finished

    def patterns(self, chosen: Ints, bin_hours: float) -> Floats:
        """Return labels by bin since the bin in which each session began, (n_chosen, n_bins); bins end at `now`."""
        rows, places = self._labels_of(chosen)
        bins = np.floor((self.times - self.now) / bin_hours)
        after = np.minimum(bins[places] - bins[self.first[chosen]][rows], MAX_SESSION_BINS - 1).astype(np.int64)
        width = int(after.max()) + 1 if len(after) else 1
        flat = np.bincount(rows * width + after, minlength=len(chosen) * width)
        return flat.reshape(len(chosen), width).astype(np.float64)

    def continuations(self, one: int, chosen: Ints, n_bins: int, bin_hours: float) -> Floats:
        """Return labels (n_like, n_bins) still to come in each finished session like the open one.

        Like it: at least as long, and after the label at that age as silent as the open one is now. None: it ends.
        """
        age, silence = self.ended[one] - self.begun[one], self.now - self.ended[one]
        rows, places = self._labels_of(chosen)
        since = self.times[places] - self.begun[chosen][rows]
        late = since >= age - 1e-9
        first_late = np.full(len(chosen), -1)
        first_late[rows[late][::-1]] = np.flatnonzero(late)[::-1]
        like = np.flatnonzero(first_late >= 0)
        at = first_late[like]
        is_last = np.append(rows[1:] != rows[:-1], True)[at] if len(rows) else np.zeros(0, dtype=bool)
        following = np.minimum(at + 1, len(since) - 1)
        like = like[is_last | (since[following] - since[at] > silence)]
        if not len(like):
            return np.zeros((1, n_bins))
        number = np.full(len(chosen), -1)
        number[like] = np.arange(len(like))
        start = np.zeros(len(chosen))
        start[like] = since[first_late[like]] + silence
        ahead = (since - start[rows]) / bin_hours
        kept = (number[rows] >= 0) & (ahead > 0) & (ahead < n_bins)
        flat = number[rows[kept]] * n_bins + ahead[kept].astype(np.int64)
        return np.bincount(flat, minlength=len(like) * n_bins).reshape(len(like), n_bins).astype(np.float64)

    def simulate(self, begun: Floats, since: float, bin_hours: float, rng: np.random.Generator) -> Floats:
        """Return labels (n_draws, n_bins) to come: of sessions begun (n_draws, n_bins) from now on, and of open ones.

        since: hours; finished sessions copied are those that ended after it. No finished session: no labels.
        """
        n_draws, n_bins = begun.shape
        chosen = self.finished_since(since)
        labels = np.zeros((n_draws, n_bins))
        if not len(chosen):
            return labels
        for one in np.flatnonzero(self.is_open):
            ways = self.continuations(int(one), chosen, n_bins, bin_hours)
            labels += ways[rng.integers(0, len(ways), n_draws)]
        patterns = self.patterns(chosen, bin_hours)
        share = max(1.0, float(begun.sum()) / MAX_SIMULATED)
        copies = np.ceil(begun / share).astype(np.int64).ravel()
        weight = np.divide(begun.ravel(), copies, out=np.zeros(copies.shape), where=copies > 0)
        cell = np.repeat(np.arange(copies.size), copies)
        picked = rng.integers(0, len(chosen), len(cell))
        for k in range(min(patterns.shape[1], n_bins)):
            inside = cell % n_bins + k < n_bins
            values = (patterns[picked, k] * weight[cell])[inside]
            labels += np.bincount(cell[inside] + k, values, minlength=labels.size).reshape(labels.shape)
        return labels

    def _labels_of(self, chosen: Ints) -> tuple[Ints, Ints]:
        """Return the labels of the chosen sessions: place within `chosen` and place in `times`, (n_labels,) each."""
        size = self.size[chosen]
        rows = np.repeat(np.arange(len(chosen)), size)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(size) - size, size)
        return rows, self.first[chosen][rows] + within


def find_sessions(times: ArrayLike, annotators: ArrayLike, now: float) -> Sessions:
    """Split labels into sessions: a pause of half an hour or more in one annotator's labels begins a new one.

    times: (n_labels,), hours, in any order; annotators: (n_labels,), whole numbers. Labels after `now` are left out, as
    a clock that jumped makes them. Raises InvalidData, naming row and value of a time that is not finite.
    """
    at, who = read_values(times, "times"), read_integers(annotators, "annotators")
    check_rows({"times": at, "annotators": who}, "label")
    now = read_number(now, "now")
    known = at <= now
    at, who = at[known], who[known]
    order = np.lexsort((at, who))
    at, who = at[order], who[order]
    begins = np.ones(len(at), dtype=bool)
    begins[1:] = (who[1:] != who[:-1]) | (np.diff(at) >= PAUSE)
    first = np.flatnonzero(begins)
    return Sessions(at, first, np.diff(np.append(first, len(at))), float(now))
