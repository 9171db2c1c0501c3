"""Sequences for the benchmarks: check-ins, submissions of a crowd, and tables of transitions that are drawn."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models_engine.benchmarks.crowd_data import found_file, read_columns, read_numbers
from models_engine.inference.sequences.data import Sequences

__all__ = ["Split", "read_check_ins", "read_submissions", "simulate_transitions"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CHECK_INS = {"A": "checkins_b.csv.gz", "B": "checkins_a.csv.gz"}
MIN_EVENTS = 10  # of each user and venue, dropped until nothing changes
ONE_PLACE = 0.9  # share of a user's events at one venue from which the user is left out
MAX_TAIL = 500
GAPS = (2 / 60, 10 / 60, 1.0, 24.0)  # hours; classes of the gap before a submission
END = 2 * (len(GAPS) + 1)
CENSORED = 48.0  # hours: who was last seen so shortly before the end has neither gone nor come back


@dataclass(frozen=True, eq=False)
class Split:
    """sequences: all of it. tails: (n_annotators,), the place where each one's test part begins. bound: the best mean
    loss that any model can have, where it is known."""

    name: str
    sequences: Sequences
    tails: Ints
    bound: float | None = None


def read_check_ins(folder: Path, name: str) -> Split:
    """Read users and venues with at least 10 events each and no user with 90% at one venue; the last tenth is test."""
    table = read_columns(found_file(folder, "activity", CHECK_INS[name]))
    users, venues = read_numbers(table["user"]), read_numbers(table["venue"])
    times = np.array([datetime.fromisoformat(text).timestamp() for text in table["utc"]])
    order = np.lexsort((times, users))
    users, venues = _thinned(users[order], venues[order])
    lists = [venues[users == user] for user in np.unique(users)]
    cuts = [len(one) - min(max(round(len(one) / 10), 3), MAX_TAIL) for one in lists]
    known = np.unique(np.concatenate([one[:cut] for one, cut in zip(lists, cuts, strict=True)]))
    kept = [np.r_[one[:cut], one[cut:][np.isin(one[cut:], known)]] for one, cut in zip(lists, cuts, strict=True)]
    numbered = [np.searchsorted(known, one) for one in kept]
    return Split(f"check-ins {name}", Sequences.from_lists(numbered, len(known)), np.array(cuts))


def _thinned(users: Ints, venues: Ints) -> tuple[Ints, Ints]:
    while True:
        kept = (np.bincount(users)[users] >= MIN_EVENTS) & (np.bincount(venues)[venues] >= MIN_EVENTS)
        if kept.all():
            break
        users, venues = users[kept], venues[kept]
    (who, _where), n = np.unique(np.stack([users, venues]), axis=1, return_counts=True)
    moves = ~np.isin(users, who[n >= ONE_PLACE * np.bincount(users)[who]])
    return users[moves], venues[moves]


@dataclass(frozen=True, eq=False)
class Endings:
    """Of every submission whose end is known: how many the worker had made with it, and whether it was the last.

    seen: fitted on (n, 2) (visits, is_last), as known at 60% of the time; test: (n, 2) those made after it.
    """

    seen: Ints
    test: Ints


def read_submissions(folder: Path) -> tuple[Split, Endings]:
    """Read one token per submission of the UKPConvArg1 crowd, its gap class and whether it has a tie, then END.

    Test is what comes after 60% of the time; an end comes two days after the last submission, when it is known.
    """
    table = read_columns(found_file(folder, "ukpconvarg1", "labels.csv.gz"))
    hours = np.array([datetime.fromisoformat(text).timestamp() / 3600 for text in table["submit_utc"]])
    workers = read_numbers(table["worker"])
    ties = np.array([label == "equal" for label in table["label"]])
    cut = hours.min() + 0.6 * (hours.max() - hours.min())
    lists, tails, seen, test = [], [], [], []
    for worker in np.unique(workers):
        own = workers == worker
        at, place = np.unique(hours[own], return_inverse=True)
        gaps = np.searchsorted(GAPS, np.diff(at, prepend=at[0] - 1e9), side="right")
        tokens = 2 * gaps + (np.bincount(place, ties[own]) > 0)
        ended = at[-1] + CENSORED
        lists.append(np.append(tokens, END) if ended < hours.max() else tokens)
        tails.append(int((at < cut).sum()) + int(ended < cut))
        seen.append(_known_ends(at[at < cut], cut))
        test.append(_known_ends(at, hours.max())[(at >= cut)[: _n_known(at, hours.max())]])
    sequences = Sequences.from_lists(lists, END + 1)
    return Split("submissions", sequences, np.array(tails)), Endings(np.concatenate(seen), np.concatenate(test))


def _n_known(at: Floats, now: float) -> int:
    """Return of how many of a worker's submissions it is known at `now` whether they were the last."""
    return max(0, len(at) - int(len(at) > 0 and at[-1] + CENSORED >= now))


def _known_ends(at: Floats, now: float) -> Ints:
    n = _n_known(at, now)
    visits = np.arange(1, n + 1)
    return np.stack([visits, visits == len(at)], axis=1).astype(np.int64)


def simulate_transitions(seed: int, n_users: int = 40, n_tokens: int = 8, length: int = 400) -> Split:
    """Draw users with a table of transitions each, its rows Dirichlet(.3); the last tenth is test."""
    rng = np.random.default_rng(seed)
    lists, losses = [], []
    tail = length - length // 10
    for _user in range(n_users):
        table = rng.dirichlet(np.full(n_tokens, 0.3), n_tokens)
        tokens = [int(rng.integers(n_tokens))]
        for _step in range(length - 1):
            tokens.append(int(rng.choice(n_tokens, p=table[tokens[-1]])))
        lists.append(tokens)
        losses.append(-np.mean(np.log(table[tokens[tail - 1 : -1], tokens[tail:]])))
    return Split("simulated", Sequences.from_lists(lists, n_tokens), np.full(n_users, tail), float(np.mean(losses)))
