"""Sets of items and orders of them in one cell of a file: lists in JSON, as exported, or divided by semicolons."""

import json
from collections.abc import Sequence

from annotate.labelling.task_types.base import shared_in as ranks_shared
from annotate.labelling.task_types.registry import BY_OUTCOME


def shown_in(cell: str) -> tuple[str, ...]:
    """Return the keys of the items, in the order shown."""
    return tuple(key for group in groups_in(cell) for key in group)


def order_in(cell: str, outcome: str) -> tuple[str, ...]:
    """Return the keys that the answer names, best first (see Comparison.order); none where it names none."""
    groups = groups_in(cell)
    if not groups:
        return ()
    task_type = BY_OUTCOME.get(outcome)
    return task_type.order_in_groups(groups, with_rest=is_grouped(cell)) if task_type else ()


def shared_in(cell: str, outcome: str) -> tuple[int, ...]:
    """Return which of the keys of order_in, from 0, share the place of the one before, in an answer that can say so."""
    task_type = BY_OUTCOME.get(outcome)
    return shared_of(groups_in(cell)) if task_type and task_type.may_share else ()


def shared_of(groups: Sequence[Sequence[str]]) -> tuple[int, ...]:
    """Return which of the keys, one group after the other, from 0, are in the same group as the one before."""
    return ranks_shared([place for place, group in enumerate(groups) for _key in group])


def is_grouped(cell: str) -> bool:
    """Return whether the items that the answer left behind are in the list too, together at its end."""
    return cell.lstrip().startswith("[[")


def groups_in(cell: str) -> list[list[str]]:
    """Return a list of lists of keys; in a plain list each key is a list of its own."""
    text = cell.strip()
    try:
        found = json.loads(text) if text.startswith("[") else [key.strip() for key in text.split(";") if key.strip()]
    except ValueError:
        return []
    return [list(map(str, group)) if isinstance(group, list) else [str(group)] for group in found if group != []]


def list_text(keys: Sequence[str]) -> str:
    """Return a list of keys as one cell that keeps them apart, whatever they hold."""
    return json.dumps(keys, ensure_ascii=False)
