"""A ranking as a table for notebooks: HTML with intervals, a plot, and pandas or Arrow where they are installed."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from models_engine.analysis.scores import compute_scores
from models_engine.data import Comparisons
from models_engine.errors import InvalidData, InvalidSetting
from models_engine.html_tables import html_table
from models_engine.posterior import BasePosterior

__all__ = ["Ranking", "rank_items"]

SHOWN = ("item", "part", "rank", "rank_low", "rank_high", "score", "score_low", "score_high", "n_comparisons")


@dataclass(frozen=True, eq=False)
class Ranking:
    """The items ranked within each connected part, the largest part first; what `rank_items` returns.

    columns: arrays (n_items,) by name: item (text or number), part (0 is the largest), rank, rank_low, rank_high,
    score, score_low, score_high (per cent, analysis.scores), utility, sd, low, high (units of the estimator's link),
    p_top_k, n_comparisons.   level: probability of all intervals.   notes: what a reader has to know.
    """

    columns: dict[str, NDArray[Any]]
    level: float
    k: int
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.columns["item"])

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def _repr_html_(self) -> str:
        many = bool(self.columns["part"].any())
        shown = {name: self.columns[name] for name in SHOWN if name != "part" or many}
        caption = f"Ranking of {len(self):,} items; score: per cent chance to be preferred to an average item"
        notes = (f"Intervals hold {100 * self.level:g}% of the posterior.", *self.notes)
        return html_table(shown, caption=caption, interval=("score_low", "score", "score_high"), notes=notes)

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame. Raises ImportError where pandas is not installed."""
        return import_module("pandas").DataFrame(self.columns)

    def to_arrow(self) -> Any:
        """Return a pyarrow.Table. Raises ImportError where pyarrow is not installed."""
        return import_module("pyarrow").table(self.columns)

    def plot(self, ax: Any = None, *, n: int = 30) -> Any:
        """Draw scores with their intervals, the best `n` items from the top. Returns matplotlib's axes.

        Raises ImportError where matplotlib is not installed, InvalidSetting for n under 1.
        """
        if n < 1:
            raise InvalidSetting(f"n is {n}; draw at least one item.")
        if ax is None:
            ax = import_module("matplotlib.pyplot").figure().gca()
        score, low, high = (self.columns[name][:n] for name in ("score", "score_low", "score_high"))
        places = np.arange(len(score))
        ax.errorbar(score, places, xerr=[score - low, high - score], fmt="o", color="black", capsize=2)
        ax.set_yticks(places, [str(item) for item in self.columns["item"][:n]])
        ax.invert_yaxis()
        ax.set_xlabel(f"Score (0 to 100), {100 * self.level:g}% intervals")
        return ax


def rank_items(
    posterior: BasePosterior,
    data: Comparisons,
    names: Sequence[str] | None = None,
    *,
    level: float = 0.9,
    k: int = 10,
    seed: int = 0,
) -> Ranking:
    """Rank the items of a fit; those of parts that no answers connect are ranked apart.

    data: what was fitted.   names (n_items,): of the items; their numbers where there are none.   level: probability of
    the intervals.   k: of p_top_k, P(the item is among the best k of its part).
    Raises InvalidData where numbers of items differ, InvalidSetting for a level outside 0 to 1 or k under 1.
    """
    n = posterior.n_items
    if data.n_items != n or (names is not None and len(names) != n):
        raise InvalidData(
            f"the posterior has {n} items, the data {data.n_items}, the names {n if names is None else len(names)}; "
            "give the data and names that were fitted."
        )
    parts, compared = data.connected_parts(), data.n_comparisons()
    named = np.arange(n) if names is None else np.array([str(name) for name in names], dtype=object)
    rng, found = np.random.default_rng(seed), []
    for part in range(int(parts.max(initial=-1)) + 1):
        items = np.flatnonzero(parts == part)
        own = posterior if len(items) == n else posterior.restrict(items)
        ranks, scores = own.rank_summary(level, k, rng=rng), compute_scores(own, level)
        mean, sd = own.utilities(), own.standard_deviations()
        reach = float(ndtri((1 + level) / 2)) * sd
        columns = {
            "item": named[items],
            "part": np.full(len(items), part),
            **{"rank": ranks.rank, "rank_low": ranks.low, "rank_high": ranks.high},
            **{"score": scores.score, "score_low": scores.low, "score_high": scores.high},
            **{"utility": mean, "sd": sd, "low": mean - reach, "high": mean + reach},
            **{"p_top_k": ranks.p_top_k, "n_comparisons": compared[items]},
        }
        order = np.argsort(ranks.rank, kind="stable")
        found.append({name: column[order] for name, column in columns.items()})
    whole = {name: np.concatenate([part[name] for part in found]) for name in found[0]}
    return Ranking(whole, level, k, tuple(_notes(posterior, len(found))))


def _notes(posterior: BasePosterior, n_parts: int) -> list[str]:
    notes = []
    if n_parts > 1:
        notes.append(f"The answers connect the items in {n_parts:,} parts; each is ranked apart.")
    if not posterior.diagnostics.converged:
        notes.append(f"The fit has not converged: {posterior.diagnostics.message}")
    return notes
