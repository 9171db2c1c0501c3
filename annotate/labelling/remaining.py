"""How many answers one annotator can give at most, and which sets lack somebody, in a project small enough for that to
matter."""

from itertools import islice

from django.db.models import Q

from annotate.labelling import choosing, item_sets, special_tasks
from annotate.labelling.plan.queries import is_endless
from annotate.models import Annotator, Project

MAX_COUNTED_SETS = 500  # sets; with more, nobody is near the end


def max_remaining_answers(annotator: Annotator, n_done: int, *, n_open: int) -> int | None:
    """Return the answers given, those asked for now or next and those to sets that are still free; None where a cap
    says it already, the project has no end or asks several kinds of task, there are too many to count, or a number that
    did not fall would tell a check from an ordinary task."""
    project = annotator.project
    unsaid = project.cap is not None or is_endless(project) or bool(project.further_tasks)
    unsaid = unsaid or bool(special_tasks.frequencies(project))
    n_free = None if unsaid else n_free_sets(annotator)
    return None if n_free is None else n_done + n_open + n_free


def n_free_sets(annotator: Annotator) -> int | None:
    project = annotator.project
    if project.has_plan:
        planned = project.item_sets.filter(place__isnull=False, n_taken__lt=project.overlap)
        n = planned.filter(~item_sets.already_shown_to(annotator))[: MAX_COUNTED_SETS + 1].count()
        return n if n <= MAX_COUNTED_SETS else None
    keys = possible_keys(project)
    return None if keys is None else len(keys - choosing.blocked_keys(project, annotator))


def possible_keys(project: Project) -> set[str] | None:
    """Return every set of active items that a project without a plan may show; None where there are too many."""
    active = list(project.items.filter(retired_at=None).values_list("pk", "context_id")[: 2 * MAX_COUNTED_SETS + 1])
    keys = {
        item_sets.set_key(items) for items in islice(choosing.possible_sets(active, project.k), MAX_COUNTED_SETS + 1)
    }
    return None if len(keys) > MAX_COUNTED_SETS or len(active) > 2 * MAX_COUNTED_SETS else keys


def keys_with_room(project: Project) -> set[str] | None:
    """Return the sets that lack an annotator, whoever it may be; None where there are too many to look at, or where a
    project without a plan asks several kinds of task. A task that somebody has open counts as answered."""
    sets = project.item_sets
    if not project.has_plan:
        keys = None if project.further_tasks else possible_keys(project)
        unfit = Q(n_taken__gte=project.overlap) | Q(item_sets.is_check())
        return None if keys is None else keys - set(sets.filter(unfit).values_list("key", flat=True))
    free = sets.filter(~item_sets.is_check(), place__isnull=False, n_taken__lt=project.overlap)
    found = list(free.values_list("key", flat=True)[: MAX_COUNTED_SETS + 1])
    if len(found) > MAX_COUNTED_SETS:
        return None
    active = set(project.items.filter(retired_at=None).values_list("pk", flat=True))
    return {key for key in found if active.issuperset(item_sets.items_of_key(key))}
