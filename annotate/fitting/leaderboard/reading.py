"""Reads who made each item, its context, category and chosen features, in the order of a fit's items."""

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from annotate.criteria import Criterion
from annotate.fitting.leaderboard.style import style_matrix
from annotate.fitting.reading import Labels
from annotate.models import Item, Project
from models_engine.data import Comparisons
from models_engine.estimators.competitor_table import CompetitorTable
from models_engine.io.names import encode_name

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
VERSION = 4  # raised whenever equal data give another board, or its posterior is stored otherwise
MAX_CATEGORIES = 30


@dataclass(frozen=True, eq=False)
class BoardData:
    """What the leaderboard is fitted to: answers whose items all name a competitor, of one context each.

    data: without item features.   features (n_items, d): what is held equal, by feature_names.   names, tags: of the
    table's numbers.   uncompared: competitors without a comparison.   n_left_out: answers left out.
    """

    data: Comparisons
    table: CompetitorTable
    names: list[str]
    tags: list[str]
    features: Floats
    feature_names: list[str]
    uncompared: list[str]
    n_left_out: int
    has_contexts: bool
    n_people: int  # of the annotators, who come before machines

    def digest(self, top_k: int, tie_margin: float) -> str:
        """Return a hash of all that the board depends on."""
        table = self.table
        arrays = [table.competitor, table.context, table.tag, self.features]
        parts = [self.data.data_hash(), repr((VERSION, self.names, self.tags, self.feature_names, self.uncompared))]
        parts += [
            "" if array is None else sha256(np.ascontiguousarray(array).tobytes()).hexdigest() for array in arrays
        ]
        return sha256("|".join([*parts, repr((top_k, tie_margin, self.n_left_out))]).encode()).hexdigest()


def read_board_data(criterion: Criterion, labels: Labels) -> BoardData | None:
    """Return the data of the leaderboard, None where under two competitors are named."""
    project = criterion.project
    rows = Item.objects.filter(project=project).values_list("pk", "competitor", "context_id")
    found = {pk: (competitor, context) for pk, competitor, context in rows.iterator(5000)}
    makers = [found.get(pk, ("", None))[0] for pk in labels.item_ids.tolist()]
    if len(set(makers) - {""}) < 2:
        return None
    contexts = np.array([found.get(pk, ("", None))[1] or 0 for pk in labels.item_ids.tolist()], dtype=np.int64)
    has_contexts = bool(contexts.any())
    kept = usable_labels(labels.data, np.array([bool(name) for name in makers]), contexts if has_contexts else None)
    data = replace(labels.data.subset(kept), item_features=None)
    compared = data.n_comparisons() > 0
    names = sorted({name for name, seen in zip(makers, compared.tolist(), strict=True) if seen})
    number = {name: place for place, name in enumerate(names)}
    context = np.unique(contexts, return_inverse=True)[1].astype(np.int64) if has_contexts else None
    tag, tags = categories(project, labels.item_ids[compared], context, compared)
    feature_names, features = style_matrix(project, labels.item_ids)
    table = CompetitorTable.of(
        [number.get(name, 0) for name in makers],
        n_competitors=max(1, len(names)),
        context=context,
        tag=tag,
        n_tags=len(tags) or None,
    )
    uncompared = sorted(set(makers) - {""} - set(names))
    n_left_out = int(labels.data.n_labels - data.n_labels)
    return BoardData(
        data, table, names, tags, features, feature_names, uncompared, n_left_out, has_contexts, labels.n_people
    )


def usable_labels(data: Comparisons, named: NDArray[np.bool_], contexts: Ints | None) -> NDArray[np.bool_]:
    """Return (n_labels,): whether all items of a label name a competitor and are of one context."""
    good = np.ones(data.n_labels, dtype=bool)
    rows = data.rows
    good[rows[~named[data.items]]] = False
    if contexts is not None and data.n_labels:
        own = contexts[data.items]
        good[rows[own != own[data.starts[:-1]][rows]]] = False
    return good


def categories(
    project: Project, item_ids: Ints, context: Ints | None, compared: NDArray[np.bool_]
) -> tuple[Ints | None, list[str]]:
    """Return (the category of each item's context, -1 for none; the names), None where contexts have none.

    A category is a tag that all compared items of a context carry, and some context does not; of several that a
    context carries, the one that most contexts do.
    """
    if context is None:
        return None, []
    of_item = dict(zip(item_ids.tolist(), context[compared].tolist(), strict=True))
    n_items, carried = Counter(of_item.values()), defaultdict[int, Counter[str]](Counter)
    for pk, name in Item.tags.through.objects.filter(item__project=project).values_list("item_id", "tag__name"):
        if pk in of_item:
            carried[of_item[pk]][name] += 1
    whole = {one: {tag for tag, n in tags.items() if n == n_items[one]} for one, tags in carried.items()}
    spread = Counter(tag for tags in whole.values() for tag in tags)
    spread = Counter({tag: n for tag, n in spread.items() if n < len(n_items)})
    chosen = {
        one: max(tags & set(spread), key=lambda tag: (spread[tag], tag), default="") for one, tags in whole.items()
    }
    used = Counter(filter(None, chosen.values()))
    names = sorted(tag for tag, _n in used.most_common(MAX_CATEGORIES))
    number = {name: place for place, name in enumerate(names)}
    if not names:
        return None, []
    return np.array([number.get(chosen.get(one, ""), -1) for one in context.tolist()], dtype=np.int64), names


def competitor_rows(criterion: Criterion, labels: Labels) -> list[tuple[str, str, str, str]]:
    """Return (item, competitor, context, tag) of every item, by name; none where an item names no competitor, or
    answers go across contexts: the engine's command line takes no such file."""
    found = read_board_data(criterion, labels)
    if found is None or found.n_left_out:
        return []
    rows = Item.objects.filter(pk__in=labels.item_ids.tolist()).order_by("pk").values_list("key", "competitor")
    items = list(rows)
    if not all(competitor for _key, competitor in items):
        return []
    contexts = found.table.contexts_of(found.data).tolist()
    tags = [-1] * len(items) if found.table.tag is None else found.table.tag.tolist()
    return [
        (encode_name(key), encode_name(competitor), str(context), encode_name(found.tags[tag]) if tag >= 0 else "")
        for (key, competitor), context, tag in zip(items, contexts, tags, strict=True)
    ]
