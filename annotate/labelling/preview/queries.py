"""The task as an annotator would see it, made of the project's own items: it is only looked at, never stored."""

import random
from collections.abc import Mapping
from datetime import datetime

from annotate.core.errors import CapReached, NothingToCompare
from annotate.labelling.last_answers import LastAnswer
from annotate.labelling.queries import Task, build_task
from annotate.labelling.shown_items import ITEM_COLUMNS
from annotate.labelling.stop_pages import stop_page
from annotate.labelling.wording import Wording
from annotate.models import Item, Project

MAX_PREVIEW_ANSWERS = 100_000

MAX_ITEMS_READ = 1000  # items that samples are drawn from
TOKEN = "preview"  # noqa: S105  (of no presentation)


def sample_task(
    wording: Wording, n: int, *, now: datetime, given: Mapping[str, str] | None = None, last: LastAnswer | None = None
) -> Task:
    """Return the task after n answers; always the same for the same n.

    `given` is a form to show again, `last` what was just answered.
    """
    project = wording.project
    if project.cap is not None and n >= project.cap:
        stop = stop_page(CapReached(project.cap), n)
        return build_task(wording, token="", rows=[], n_done=n, last=last, stop=stop, now=now)
    items = sample_items(project, n)
    if not items:
        refusal = NothingToCompare(project.items.filter(retired_at=None).count(), project.k)
        return build_task(wording, token="", rows=[], n_done=n, last=last, stop=stop_page(refusal, 0), now=now)
    rows = {row[0]: row for row in Item.objects.filter(pk__in=items).values_list(*ITEM_COLUMNS)}
    shown = [rows[item] for item in items]
    wait_ms = 0 if given else 1000 * project.min_seconds
    return build_task(
        wording, token=TOKEN, rows=shown, n_done=n, last=last, stop=None, now=now, given=given, wait_ms=wait_ms
    )


def sample_items(project: Project, n: int) -> list[int]:
    """Return as many items as are shown at a time, in the order shown; none if there are too few."""
    active = project.items.filter(retired_at=None).order_by("context", "pk")
    groups: dict[int | None, list[int]] = {}
    for item, context in active.values_list("pk", "context")[:MAX_ITEMS_READ]:
        groups.setdefault(context, []).append(item)
    large_enough = [group for group in groups.values() if len(group) >= project.k]
    if not large_enough:
        return []
    rng = random.Random(f"{project.pk} {n}")  # noqa: S311  (no secret depends on it)
    return rng.sample(large_enough[n % len(large_enough)], project.k)
