"""How many answers one annotator can give at most, in a project small enough for that to matter."""

from itertools import islice

from annotate import assigning, checks
from annotate.models import Annotator

MOST_COUNTED = 500  # sets; with more, nobody is near the end


def most_answers(annotator: Annotator, n_done: int, *, is_open: bool) -> int | None:
    """The answers given, the one asked for now and those to sets that are still free; None where a cap says it already,
    there are too many to count, or a number that did not fall would tell a check from an ordinary task."""
    unsaid = annotator.project.cap is not None or checks.rhythms_of(annotator.project)
    n_free = None if unsaid else free_sets(annotator)
    return None if n_free is None else n_done + is_open + n_free


def free_sets(annotator: Annotator) -> int | None:
    project = annotator.project
    if project.n_sets is not None:
        planned = project.item_sets.filter(place__isnull=False, n_taken__lt=project.overlap)
        n = planned.filter(~assigning.seen_by(annotator))[: MOST_COUNTED + 1].count()
        return n if n <= MOST_COUNTED else None
    active = list(project.items.filter(retired_at=None).values_list("pk", "context_id")[: 2 * MOST_COUNTED + 1])
    keys = {assigning.set_key(items) for items in islice(assigning.sets_of(active, project.k), MOST_COUNTED + 1)}
    if len(keys) > MOST_COUNTED or len(active) > 2 * MOST_COUNTED:
        return None
    return len(keys - assigning.blocked_keys(project, annotator))
