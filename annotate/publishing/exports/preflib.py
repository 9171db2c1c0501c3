"""Writes the answers as a PrefLib file (Mattei & Walsh 2013; preflib.org/format): each label is one order of items.

The kind follows from the project: complete orders (c) where all items are shown at once, else incomplete ones (i);
with ties (to) where an answer can leave items apart untold, else strict (so).
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

import numpy as np

from annotate.criteria import Criterion
from annotate.files.counting import Counts, Rows, Tally
from annotate.labelling.asked_tasks import shows_pairs_only, tasks_of, with_task
from annotate.labelling.label_rows import is_informative, label_chunks, labels_by_criterion, ranked_groups
from annotate.labelling.outcomes import TIES
from annotate.models import MAX_ITEMS_SHOWN, Label
from annotate.publishing.exports import pairs

CHUNK = 1000  # votes written at a time


def kind(criterion: Criterion) -> str:
    """Return soc, soi, toc or toi."""
    project = criterion.project
    complete = {task.k for task in tasks_of(project)} == {project.items.count()}
    labels = Label.objects.filter(project=project, voided_at=None, presentation__purpose__in=project.counted_purposes)
    ties = labels_by_criterion(criterion, labels, outcomes=TIES)
    strict = all(task.type.tells_all_apart(with_task(project, task)) for task in tasks_of(project))
    strict = strict or (shows_pairs_only(project) and not ties.exists())
    return f"{'so' if strict else 'to'}{'c' if complete else 'i'}"


def preflib_chunks(criterion: Criterion, data_type: str, now: datetime) -> Iterator[bytes]:
    """Yield what is known beforehand at once; the rest when all votes are counted, for the format asks for their
    number.

    data_type: the project's kind, which the name of the file tells as well: finding it out looks at every label.
    """
    yield lines(
        f"# FILE NAME: crowdrank.{data_type}",
        f"# TITLE: {line(criterion.project.name)}",
        f"# DESCRIPTION: {line(criterion.question)}",
        f"# DATA TYPE: {data_type}",
        "# MODIFICATION TYPE: original",
        "# RELATES TO: ",
        "# RELATED FILES: ",
        f"# PUBLICATION DATE: {now:%Y-%m-%d}",
        f"# MODIFICATION DATE: {now:%Y-%m-%d}",
    )
    keys = pairs.keys_of(criterion.project)
    votes, n = count_orders(criterion, keys)
    yield lines(
        f"# NUMBER ALTERNATIVES: {len(keys)}",
        f"# NUMBER VOTERS: {n.sum()}",
        f"# NUMBER UNIQUE ORDERS: {len(votes)}",
        *(f"# ALTERNATIVE NAME {place}: {line(key)}" for place, key in enumerate(keys.values(), start=1)),
    )
    most_first = np.argsort(-n, kind="stable")
    for start in range(0, len(votes), CHUNK):
        part = most_first[start : start + CHUNK]
        orders = zip(n[part].tolist(), votes[part].tolist(), strict=True)
        yield lines(*(f"{times}: {format_items(vote)}" for times, vote in orders))


def count_orders(criterion: Criterion, keys: Mapping[int, str]) -> tuple[Rows, Counts]:
    """Votes and how often each was given: numbers of alternatives, best first, below zero where not told apart from
    the one before, zero after the last."""
    if pairs.is_by_pairs(criterion.project):
        rows, n = pairs.count_wins(criterion, keys)
        first, second, which = rows.T
        votes = np.stack([np.where(which == pairs.SECOND, second, first), first + second], axis=1) + 1
        votes[:, 1] -= votes[:, 0] - 1
        votes[which == pairs.TIED, 1] *= -1
        return votes, n
    number, tally = {pk: place for place, pk in enumerate(keys, start=1)}, Tally(MAX_ITEMS_SHOWN)
    for labels, shown, items in label_chunks(criterion):
        tally.add(
            [
                format_order([[number[item.pk] for item in group] for group in ranked_groups(label, places)])
                for label in labels
                for places in [[items[item] for item in shown[label["presentation"]]]]
                if is_informative(criterion.project, label) and all(item.pk in number for item in places)
            ]
        )
    return tally.result()


def format_order(groups: list[list[int]]) -> list[int]:
    found = [-one if place else one for group in groups for place, one in enumerate(sorted(group))]
    return found + [0] * (MAX_ITEMS_SHOWN - len(found))


def format_items(order: list[int]) -> str:
    """Alternatives divided by commas; in braces those that the vote does not tell apart."""
    groups: list[list[str]] = []
    for number in filter(None, order):
        if number < 0:
            groups[-1].append(str(-number))
        else:
            groups.append([str(number)])
    return ",".join(group[0] if len(group) == 1 else "{" + ",".join(group) + "}" for group in groups)


def lines(*texts: str) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


def line(text: str) -> str:
    return " ".join(text.split())
