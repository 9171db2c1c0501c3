"""The plan of sets of a project that asks about a fixed number of them: drawn, and drawn on when items change."""

import random

from django.db.models import Exists, OuterRef

from annotate.labelling.item_sets import is_check, items_of_key, set_key
from annotate.labelling.plan.drawing import draw_balanced_sets
from annotate.labelling.plan.given import settle_questions
from annotate.locks import lock_project
from annotate.models import GoldSet, ItemSet, Presentation, Project

BATCH_SIZE = 1000


def draw_plan(project: Project) -> None:
    """Draws the sets that the plan lacks; those that somebody has stay in it, the others are drawn anew.

    Sets of checks are kept out. Does nothing before the project opens or where it has neither a plan nor the number of
    its sets. Where the owner gave the questions, nothing is drawn: those that can be asked are. The caller's
    transaction holds it; the project is held alone (annotate.locks).
    """
    project = lock_project(project.pk)
    if project.given_order:
        settle_questions(project)
        return
    planned = project.item_sets.filter(place__isnull=False)
    if project.state != Project.State.OPEN or (project.n_sets is None and not planned.exists()):
        return
    shown = Presentation.objects.filter(item_set=OuterRef("pk"))
    known = GoldSet.objects.filter(item_set=OuterRef("pk"))
    planned.filter(~Exists(shown), ~Exists(known)).delete()
    planned.update(place=None)
    if project.n_sets is None:
        return
    contexts = dict(project.items.filter(retired_at=None).order_by("pk").values_list("pk", "context"))
    kept = active_planned_sets(project, set(contexts))[: project.n_sets]
    for place, (item_set, _) in enumerate(kept):
        item_set.place = place
    ItemSet.objects.bulk_update([item_set for item_set, _ in kept], ["place"], batch_size=200)
    rng = random.SystemRandom()
    groups: dict[int | None, list[int]] = {}
    for item, context in contexts.items():
        groups.setdefault(context, []).append(item)
    existing = [members for _, members in kept]
    of_checks = project.item_sets.filter(is_check()).values_list("key", flat=True)
    kept_out = {frozenset(items_of_key(key)) for key in of_checks}
    drawn = draw_balanced_sets([*groups.values()], project.k, project.n_sets - len(kept), rng, existing, kept_out)
    places = {set_key(list(members)): place for place, members in enumerate(drawn, start=len(kept))}
    stored = [row for row in project.item_sets.filter(n_taken=0) if row.key in places]  # given back, say
    for row in stored:
        row.place = places.pop(row.key)
    ItemSet.objects.bulk_update(stored, ["place"], batch_size=200)
    new = [ItemSet(project=project, key=key, shuffle=rng.random(), place=place) for key, place in places.items()]
    ItemSet.objects.bulk_create(new, batch_size=BATCH_SIZE)


def active_planned_sets(project: Project, items: set[int]) -> list[tuple[ItemSet, list[int]]]:
    """Return the sets that somebody has, of as many items as are shown now and none of them retired, the
    fullest first."""
    found = []
    for item_set in project.item_sets.filter(~is_check(), n_taken__gt=0).order_by("-n_taken", "pk"):
        members = items_of_key(item_set.key)
        if len(members) == project.k and items.issuperset(members):
            found.append((item_set, members))
    return found
