"""Which rule chooses the next question where a policy is adaptive, and the best free set that the engine suggested.

The engine's process writes the suggestions after each fit (annotate.fitting.suggestions); here they are only read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from django.db import connection
from django.db.models import QuerySet

from annotate.labelling.item_sets import HIDDEN_CHECKS, TAKEN_STATES, ChosenSet, items_of_key
from annotate.labelling.special_tasks import conflicting_items
from annotate.models import (
    MIN_APPEARANCES,
    Annotator,
    AskedBy,
    FitState,
    GoldSet,
    Item,
    ItemSet,
    Presentation,
    Project,
    SuggestedSet,
)

# Who asks takes the first that suits among so many suggestions, from one of so many starts: two seldom want the same.
N_CANDIDATES, N_STARTS = 32, 16
# Suggestions of a fit that has not seen more changes of the data than this are left aside.
MAX_CHANGES_SINCE = 1000
# Every answer under a policy runs these statements; put together by Django each takes more CPU than all else of them.
SUGGESTED, ITEM = SuggestedSet._meta.db_table, Item._meta.db_table
FREE_SUGGESTIONS = f"""
    SELECT s.id, s.key, s.fit,
        (SELECT i.id FROM {ITEM} i
         WHERE i.project_id = %s AND i.retired_at IS NULL
             AND i.n_taken < {MIN_APPEARANCES} AND NOT i.asked_by_prediction
         ORDER BY i.n_taken, i.shuffle, i.id LIMIT 1)
    FROM {SUGGESTED} s
    WHERE s.project_id = %s AND s.criterion = %s
        AND EXISTS (SELECT 1 FROM {FitState._meta.db_table} f WHERE f.project_id = %s AND f.wanted <= s.version + %s)
        AND NOT EXISTS (
            SELECT 1 FROM {ItemSet._meta.db_table} t
            WHERE t.project_id = %s AND t.key = s.key AND (
                t.n_taken >= %s
                OR EXISTS (SELECT 1 FROM {Presentation._meta.db_table} p
                           WHERE p.annotator_id = %s AND p.item_set_id = t.id AND p.state IN (%s, %s))
                OR EXISTS (SELECT 1 FROM {GoldSet._meta.db_table} g
                           WHERE g.item_set_id = t.id AND g.purpose IN (%s, %s) AND g.retired_at IS NULL)))
    ORDER BY s.place LIMIT %s
"""  # noqa: S608 (tables' names and a limit alone are put in)
TAKE = f"DELETE FROM {SUGGESTED} WHERE id = %s"  # noqa: S608
LEAVE = f"UPDATE {SUGGESTED} SET place = place WHERE id = %s"  # noqa: S608
IF_ACTIVE = f" AND (SELECT COUNT(*) FROM {ITEM} WHERE id IN (%s) AND retired_at IS NULL) = %%s"  # noqa: S608


@dataclass(frozen=True)
class Suggestions:
    """rows: free ones for the annotator as (primary key, key, fit), in the order to try them.

    behind: an item that must be shown first, if there is one.
    """

    rows: list[tuple[int, str, int]]
    behind: int | None


def in_control_arm(project: Project, token: str) -> bool:
    """Tell whether the presentation with this token falls to the balanced rule: at random, and for each by itself."""
    return random_number(token, "arm") < project.control_share


def random_number(token: str, what: str) -> float:
    """Return a number from 0 to 1, below 1: the same for the same token and purpose, else as good as random."""
    return int.from_bytes(sha256(f"{what}:{token}".encode()).digest()[:6]) / 2**48


def read_suggestions(project: Project, annotator: Annotator, token: str) -> Suggestions:
    """Read them in one query. With several criteria each has its own; the token says whose are read."""
    criterion = 1 + int(random_number(token, "criterion") * max(len(project.criteria), 1))
    pk = Project._meta.pk.get_db_prep_value(project.pk, connection)
    values = [
        *(pk, pk, criterion, pk, MAX_CHANGES_SINCE, pk, project.overlap, annotator.pk),
        *(*TAKEN_STATES, *HIDDEN_CHECKS, N_CANDIDATES + N_STARTS),
    ]
    with connection.cursor() as cursor:
        cursor.execute(FREE_SUGGESTIONS, values)
        read = cursor.fetchall()
    start = int(random_number(token, "start") * min(N_STARTS, len(read)))
    tried = [row[:3] for row in (*read[start:], *read[:start])]
    return Suggestions(tried[:N_CANDIDATES], read[0][3] if read else None)


def of_task(suggestions: Suggestions, project: Project) -> Suggestions:
    """Return those with as many items as the project shows: where several kinds of task are asked, the others are for
    another kind."""
    rows = [row for row in suggestions.rows if row[1].count("-") == project.k - 1]
    return Suggestions(rows, suggestions.behind)


def rarely_shown(project: Project, annotator: Annotator) -> QuerySet[Item]:
    """Return the items that this annotator may be shown and that have been shown too rarely for a policy."""
    items = project.items.filter(retired_at=None, n_taken__lt=MIN_APPEARANCES, asked_by_prediction=False)
    return items.exclude(pk__in=conflicting_items(annotator)) if annotator.has_never_shown else items


def first_suitable(suggestions: Suggestions, annotator: Annotator) -> ChosenSet | None:
    """Return the first set that holds nothing the annotator is never shown; None where there is none."""
    hidden = conflicting_items(annotator)
    sets = ((pk, items_of_key(key), fit) for pk, key, fit in suggestions.rows)
    free = ((pk, items, fit) for pk, items, fit in sets if not hidden.intersection(items))
    choices = (ChosenSet(items, asked_by=AskedBy.ADAPTIVE, suggestion=pk, fit=fit) for pk, items, fit in free)
    return next(choices, None)


def take_suggestion(suggestion: int, items: Sequence[int], *, take: bool) -> bool:
    """Take the suggestion of these items, so that nobody else does; False where somebody did, or an item is retired.

    Without `take` it stays, for the same one statement.
    """
    of_these = ", ".join(["%s"] * len(items))
    with connection.cursor() as cursor:
        cursor.execute((TAKE if take else LEAVE) + IF_ACTIVE % of_these, [suggestion, *items, len(items)])
        if cursor.rowcount:
            return True
        cursor.execute(TAKE, [suggestion])  # nobody tries it again
    return False
