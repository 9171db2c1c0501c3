"""Reads which competitor made each item, and writes the leaderboard with its pairs and tags."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.estimators.competitor_posterior import CompetitorPosterior
from models_engine.estimators.competitor_table import CompetitorTable, Evidence
from models_engine.io.label_tables import read_table
from models_engine.io.reports import write_csv, write_json

__all__ = ["Named", "leaderboard_rows", "read_competitors", "write_leaderboard"]

COLUMNS = ("item", "competitor", "context", "tag")
LEADERBOARD = (
    *("competitor", "utility", "sd", "low", "high", "rank", "rank_low", "rank_high", "p_top_k"),
    *("n_contexts", "n_items", "n_labels", "n_annotators", "part"),
)
PAIRS = ("competitor", "other", "wins", "ties", "p_better", "p_better_on_new_context", "p_answer_on_new_context")
TAGS = ("tag", "competitor", "utility", "sd", "low", "high", "p_best", "effect", "effect_sd")


@dataclass(frozen=True)
class Named:
    """A table of competitors with the names behind its numbers."""

    table: CompetitorTable
    competitors: list[str]
    tags: list[str]


def read_competitors(path: Path, items: Sequence[str]) -> Named:
    """Read a file with the columns item, competitor and optionally context and tag, one row per item of `items`.

    Further items are allowed and count as never compared. Raises InvalidData naming the line.
    """
    lines = read_table(path)
    header = [name.strip().lower() for name in next(lines, (0, []))[1]]
    if not {"item", "competitor"} <= set(header):
        raise InvalidData(
            f"{path.name} has the columns {', '.join(header) or '(none)'}; item and competitor are needed."
        )
    found: dict[str, dict[str, str]] = {}
    for line, cells in lines:
        if len(cells) != len(header):
            raise InvalidData(
                f"{path.name}, line {line}: {len(cells)} columns, the header has {len(header)}.", row=line
            )
        row = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
        if not row["item"] or row["item"] in found:
            raise InvalidData(f"{path.name}, line {line}: item {row['item'][:50]!r} is empty or named twice.", row=line)
        for name in COLUMNS[1:3]:
            if name in row and not row[name]:
                raise InvalidData(
                    f"{path.name}, line {line}: item {row['item'][:50]!r} has no {name}; fill it in.", row=line
                )
        found[row["item"]] = row
    missing = [item for item in items if item not in found]
    if missing:
        raise InvalidData(
            f"item {missing[0][:50]!r} of the labels has no competitor; add a row for it to {path.name}"
            + (f" (and for {len(missing) - 1} others)." if len(missing) > 1 else "."),
            value=missing[0],
        )
    return _named([found[item] for item in items], header)


def _named(rows: list[dict[str, str]], header: list[str]) -> Named:
    competitors = sorted({row["competitor"] for row in rows})
    tags = sorted({row["tag"] for row in rows if row["tag"]}) if "tag" in header else []
    contexts = sorted({row["context"] for row in rows}) if "context" in header else None

    def numbers(column: str, names: list[str]) -> list[int]:
        place = {name: number for number, name in enumerate(names)} | ({} if column != "tag" else {"": -1})
        return [place[row[column]] for row in rows]

    table = CompetitorTable.of(
        numbers("competitor", competitors),
        n_competitors=len(competitors),
        context=None if contexts is None else numbers("context", contexts),
        tag=numbers("tag", tags) if tags else None,
        n_tags=len(tags) if tags else None,
    )
    return Named(table, competitors, tags)


def leaderboard_rows(
    posterior: CompetitorPosterior,
    evidence: Evidence,
    names: Sequence[str],
    *,
    level: float,
    k: int,
    rng: np.random.Generator,
) -> Iterator[tuple[Any, ...]]:
    """Yield rows of LEADERBOARD, best first within each connected part, the largest part first.

    Competitors of different parts are not comparable.
    """
    reach = float(ndtri((1 + level) / 2))
    for part in range(int(evidence.part.max()) + 1):
        members = np.flatnonzero(evidence.part == part)
        own = posterior if len(members) == posterior.n_items else posterior.restrict(members)
        mean, sd, ranks = own.utilities(), own.standard_deviations(), own.rank_summary(level, k, rng=rng)
        for at in np.argsort(ranks.rank):
            one = int(members[at])
            interval = (mean[at], sd[at], mean[at] - reach * sd[at], mean[at] + reach * sd[at])
            place = (int(ranks.rank[at]), int(ranks.low[at]), int(ranks.high[at]), float(ranks.p_top_k[at]))
            counts = (evidence.n_contexts, evidence.n_items, evidence.n_labels, evidence.n_annotators)
            yield (names[one], *interval, *place, *(int(count[one]) for count in counts), part + 1)


def _pair_rows(posterior: CompetitorPosterior, evidence: Evidence, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    every = np.arange(posterior.n_items)
    better = posterior.superiority(every[:, None], every[None, :])
    fresh, answers = posterior.better_on_new_context(every[:, None], every[None, :]), posterior.expected_wins()
    for a, b in itertools.permutations(range(posterior.n_items), 2):
        known = evidence.part[a] == evidence.part[b]
        chances = (better[a, b], fresh[a, b], answers[a, b]) if known else (np.nan,) * 3
        yield (names[a], names[b], int(evidence.wins[a, b]), int(evidence.ties[a, b]), *map(float, chances))


def _tag_rows(
    posterior: CompetitorPosterior, named: Named, *, level: float, rng: np.random.Generator
) -> Iterator[tuple[Any, ...]]:
    reach, effects = float(ndtri((1 + level) / 2)), posterior.effects
    for tag, name in enumerate(named.tags):
        own = posterior.for_tag(tag)
        mean, sd, ranks = own.utilities(), own.standard_deviations(), own.rank_summary(level, 1, rng=rng)
        for one in np.argsort(ranks.rank):
            interval = (mean[one], sd[one], mean[one] - reach * sd[one], mean[one] + reach * sd[one])
            effect = (float(effects.tag_effects[tag, one]), float(effects.tag_effect_sds[tag, one]))
            yield (name, named.competitors[one], *interval, float(ranks.p_top_k[one]), *effect)


def write_leaderboard(
    folder: Path,
    named: Named,
    posterior: CompetitorPosterior,
    evidence: Evidence,
    data: Comparisons,
    settings: dict[str, Any],
    *,
    level: float,
    k: int,
    seed: int,
) -> None:
    """Write leaderboard.csv, leaderboard_pairs.csv, leaderboard.json and, with tags, leaderboard_tags.csv."""
    rng = np.random.default_rng(seed)
    rows = leaderboard_rows(posterior, evidence, named.competitors, level=level, k=k, rng=rng)
    write_csv(folder / "leaderboard.csv", LEADERBOARD, rows)
    write_csv(folder / "leaderboard_pairs.csv", PAIRS, _pair_rows(posterior, evidence, named.competitors))
    if named.tags:
        write_csv(folder / "leaderboard_tags.csv", TAGS, _tag_rows(posterior, named, level=level, rng=rng))
    effects, (spread, spread_sd) = posterior.effects, posterior.effects.item_spread
    record = {
        "estimator": "Competitors",
        "settings": settings,
        "level": level,
        "top_k": k,
        "seed": seed,
        "data_hash": data.data_hash(),
        "item_spread": {"mean": spread, "sd": spread_sd},
        "taste_spread": {"mean": float(effects.taste[0]), "sd": float(effects.taste[1])},
        "features": [
            {"worth": float(worth), "sd": float(sd)}
            for worth, sd in zip(effects.features, effects.feature_sds, strict=True)
        ],
        "likelihood": asdict(posterior.likelihood),
        "diagnostics": asdict(posterior.diagnostics),
    }
    write_json(folder / "leaderboard.json", record)
