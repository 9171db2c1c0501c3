"""Defines the export table of pairs, with who won how often, and the square matrix of wins."""

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
from django.db.models import Count
from django.utils.translation import gettext_lazy as _

from annotate.criteria import Criterion
from annotate.files.columns import Column, Kind, Row
from annotate.files.counting import Counts, Rows, Tally
from annotate.labelling.asked_tasks import tasks_of
from annotate.labelling.label_rows import is_informative, label_chunks, labels_by_criterion, ranked_groups, tied_within
from annotate.labelling.outcomes import INFORMATIVE
from annotate.models import Item, Label, Project

CHUNK = 5_000  # pairs made into rows at a time
MAX_ITEMS = 2_000  # of a matrix: 4 million cells, which spreadsheets still open

COLUMNS = [
    Column("first", _("Key of the first item: the one of the pair that was added earlier.")),
    Column("second", _("Key of the second item.")),
    Column("first_wins", _("Answers that put the first above the second."), Kind.INTEGER),
    Column("second_wins", _("Answers that put the second above the first."), Kind.INTEGER),
    Column("ties", _("Ties, both good and both bad."), Kind.INTEGER),
    Column("n", _("Answers that compare the two: the sum of the three columns before."), Kind.INTEGER),
]

FIRST, SECOND, TIED = range(3)  # what an answer says of a pair


def rows(criterion: Criterion) -> Iterator[Row]:
    keys = keys_of(criterion.project)
    names = list(keys.values())
    pairs, table = counts_by_pair(*count_wins(criterion, keys))
    for start in range(0, len(pairs), CHUNK):
        part = zip(pairs[start : start + CHUNK].tolist(), table[start : start + CHUNK].tolist(), strict=True)
        for (first, second), figures in part:
            yield [names[first], names[second], *figures, sum(figures)]


def pairs_counted(criterion: Criterion) -> tuple[list[int], Rows, Counts]:
    """Return primary keys of items, pairs (n, 2) of places among them, and (n, 3): first above, second above, ties."""
    keys = keys_of(criterion.project)
    return list(keys), *counts_by_pair(*count_wins(criterion, keys))


def counts_by_pair(wins: Rows, n: Counts) -> tuple[Rows, Counts]:
    """Return pairs (n_pairs, 2), each once, and the numbers (n_pairs, 3) of what was answered to each."""
    is_new = np.ones(len(wins), bool)
    is_new[1:] = (wins[1:, :2] != wins[:-1, :2]).any(axis=1)  # sorted: the outcomes of a pair stand together
    pairs = wins[is_new, :2]
    table = np.zeros((len(pairs), 3), np.int64)
    table[np.cumsum(is_new) - 1, wins[:, 2]] = n
    return pairs, table


def matrix(criterion: Criterion) -> tuple[list[str], Iterator[Row]]:
    """Return (header, rows): cell (i, j) says how often item i was put above item j. A tie counts for neither."""
    keys = keys_of(criterion.project)

    def lines() -> Iterator[Row]:
        outcomes, n = count_wins(criterion, keys)
        wins = np.zeros((len(keys), len(keys)), np.int64)
        for which, above, below in ((FIRST, 0, 1), (SECOND, 1, 0)):
            those = outcomes[:, 2] == which
            wins[outcomes[those, above], outcomes[those, below]] = n[those]
        for key, line in zip(keys.values(), wins, strict=True):
            yield [key, *line.tolist()]

    return ["item", *keys.values()], lines()


def keys_of(project: Project) -> dict[int, str]:
    return dict(Item.objects.filter(project=project).order_by("pk").values_list("pk", "key"))


def is_by_pairs(project: Project) -> bool:
    """Return whether an answer is about two items, of which it chooses one or none."""
    return all(task.k == 2 and not task.type.is_ordered for task in tasks_of(project))


def count_wins(criterion: Criterion, keys: Mapping[int, str]) -> tuple[Rows, Counts]:
    """Return rows (place of the first item among the keys, of the second, outcome), and how many labels say so.

    A label on several items says something of each two that it tells apart; of items that came after the keys were
    read, nothing.
    """
    place = {pk: n for n, pk in enumerate(keys)}
    if is_by_pairs(criterion.project):
        return count_wins_in_database(criterion, place)
    tally = Tally(3)
    for labels, shown, items in label_chunks(criterion):
        found: list[tuple[int, int, int]] = []
        for label in labels:
            if is_informative(criterion.project, label) and place.keys() >= set(shown[label["presentation"]]):
                groups = ranked_groups(label, [items[item] for item in shown[label["presentation"]]])
                tied = tied_within(label)
                found += pairs_of([[place[item.pk] for item in group] for group in groups], tied)
        tally.add(found)
    return tally.result()


def pairs_of(groups: list[list[int]], tied: bool) -> Iterator[tuple[int, int, int]]:
    """tied: whether items of one group are tied."""
    for group in groups if tied else ():
        yield from ((min(pair), max(pair), TIED) for pair in combinations(group, 2))
    for above, below in combinations(groups, 2):
        for better in above:
            for worse in below:
                yield (better, worse, FIRST) if better < worse else (worse, better, SECOND)


def count_wins_in_database(criterion: Criterion, place: Mapping[int, int]) -> tuple[Rows, Counts]:
    """Return the same of pairs with one chosen: the database adds up, some sets at a time, so that memory stays flat.

    The sets alone say which project's labels they are: asked by the project as well, SQLite would go through all its
    labels for each part of the sets.
    """
    labels = Label.objects.filter(
        voided_at=None, presentation__purpose__in=criterion.project.counted_purposes
    ).order_by()
    answer = "further__chosen" if criterion.number > 1 else "chosen"
    counted = labels_by_criterion(criterion, labels, outcomes=INFORMATIVE)
    tally, last = Tally(3), 0
    while sets := dict(criterion.project.item_sets.filter(pk__gt=last).order_by("pk").values_list("pk", "key")[:CHUNK]):
        first, last = min(sets), max(sets)
        some = counted.filter(presentation__item_set__gte=first, presentation__item_set__lte=last)
        groups = some.values_list("presentation__item_set", answer).annotate(n=Count("pk"))
        found = [(*map(int, sets[pk].split("-")), chosen, n) for pk, chosen, n in groups if pk in sets]
        known = [one for one in found if one[0] in place and one[1] in place]
        outcomes = [
            (place[first], place[second], TIED if chosen is None else FIRST if chosen == first else SECOND)
            for first, second, chosen, _n in known
        ]
        tally.add(outcomes, [n for *_, n in known])
    return tally.result()
