"""Which rule chooses the next question where a policy is adaptive, and the best free set that the engine suggested.

The engine's process writes the suggestions after each fit (annotate.fitting.suggestions); here they are only read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery

from annotate.labelling.item_sets import ChosenSet, already_shown_to, is_check, items_of_key
from annotate.labelling.special_tasks import conflicting_items
from annotate.models import Annotator, AskedBy, FitState, Item, ItemSet, Project, SuggestedSet

# An item that was shown less often goes first, by the balanced rule.
MIN_APPEARANCES = 4
# Who asks takes the first that suits among so many suggestions, from one of so many starts: two seldom want the same.
N_CANDIDATES, N_STARTS = 32, 16
# Suggestions of a fit that has not seen more changes of the data than this are left aside.
MAX_CHANGES_SINCE = 1000


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
    taken = ItemSet.objects.filter(project=project, key=OuterRef("key")).filter(
        Q(n_taken__gte=project.overlap) | Q(already_shown_to(annotator)) | Q(is_check())
    )
    current = FitState.objects.filter(project=project, wanted__lte=OuterRef("version") + MAX_CHANGES_SINCE)
    behind = rarely_shown(project, annotator).order_by("n_taken", "shuffle", "pk")
    found = SuggestedSet.objects.filter(~Exists(taken), Exists(current), project=project, criterion=criterion)
    rows = found.annotate(behind=Subquery(behind.values("pk")[:1])).order_by("place")
    read = list(rows.values_list("pk", "key", "fit", "behind")[: N_CANDIDATES + N_STARTS])
    start = int(random_number(token, "start") * min(N_STARTS, len(read)))
    tried = [row[:3] for row in (*read[start:], *read[:start])]
    return Suggestions(tried[:N_CANDIDATES], read[0][3] if read else None)


def rarely_shown(project: Project, annotator: Annotator) -> QuerySet[Item]:
    """Return the items that this annotator may be shown and that have been shown too rarely for a policy."""
    items = project.items.filter(retired_at=None, n_taken__lt=MIN_APPEARANCES)
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
    row = SuggestedSet.objects.filter(pk=suggestion)
    active = (Exists(Item.objects.filter(pk=item, retired_at=None)) for item in items)
    askable = row.filter(*active)
    if askable._raw_delete(row.db) if take else askable.update(place=F("place")):
        return True
    row._raw_delete(row.db)  # nobody tries it again
    return False
