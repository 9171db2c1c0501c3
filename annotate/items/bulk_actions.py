"""Writing many items at once: adding and removing tags, naming their competitor, retiring, bringing back."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from annotate.audit import record_event
from annotate.core.chunks import chunks
from annotate.core.transactions import write_transaction
from annotate.items.actions import note_competitors, request_fit_if_labelled
from annotate.labelling.assignment import release_held_with
from annotate.labelling.plan.actions import draw_plan
from annotate.locks import lock_project
from annotate.models import EventVerb, Item, Project, Tag, User

TOLD = 100  # items that the history names by their keys


def tag_items(*, project: Project, actor: User, items: Sequence[int], names: Sequence[str], now: datetime) -> int:
    """Put these tags to these items (primary keys); how many items got one."""
    links = Item.tags.through
    with write_transaction():
        lock_project(project.pk)
        Tag.objects.bulk_create((Tag(project=project, name=name) for name in names), ignore_conflicts=True)
        tags = list(project.tags.filter(name__in=names).values_list("pk", flat=True))
        changed: list[int] = []
        for chunk in chunks(own(project, items)):
            there = set(links.objects.filter(item__in=chunk, tag__in=tags).values_list("item_id", "tag_id"))
            new = [(item, tag) for item in chunk for tag in tags if (item, tag) not in there]
            links.objects.bulk_create(links(item_id=item, tag_id=tag) for item, tag in new)
            changed += sorted({item for item, _tag in new})
        note_items(project, actor, EventVerb.ITEMS_TAGGED, changed, now, tags=", ".join(names))
        if changed:
            request_fit_if_labelled(project)
    return len(changed)


def untag_items(*, project: Project, actor: User, items: Sequence[int], names: Sequence[str], now: datetime) -> int:
    """Take these tags from these items; how many items had one."""
    links = Item.tags.through
    with write_transaction():
        lock_project(project.pk)
        changed: list[int] = []
        for chunk in chunks(own(project, items)):
            gone = links.objects.filter(item__in=chunk, tag__name__in=names)
            changed += sorted(set(gone.values_list("item_id", flat=True)))
            gone.delete()
        note_items(project, actor, EventVerb.ITEMS_UNTAGGED, changed, now, tags=", ".join(names))
        if changed:
            request_fit_if_labelled(project)
    return len(changed)


def retire_items(*, project: Project, actor: User, items: Sequence[int], retire: bool, now: datetime) -> int:
    """Show these items to nobody any more, or (retire=False) again; how many changed. Labels stay."""
    with write_transaction():
        lock_project(project.pk)
        changed: list[int] = []
        for chunk in chunks(own(project, items)):
            other = Item.objects.filter(pk__in=chunk, retired_at__isnull=retire)
            changed += other.values_list("pk", flat=True)
            other.update(retired_at=now if retire else None)
            if retire:
                release_held_with(project, chunk)
        if changed:
            draw_plan(project)
            request_fit_if_labelled(project)
        verb = EventVerb.ITEMS_RETIRED if retire else EventVerb.ITEMS_BROUGHT_BACK
        note_items(project, actor, verb, changed, now, retired=[not retire, retire])
    return len(changed)


def name_competitor(*, project: Project, actor: User, items: Sequence[int], name: str, now: datetime) -> int:
    """Names who made these items, or with "" nobody; how many changed."""
    with write_transaction():
        lock_project(project.pk)
        changed: list[int] = []
        for chunk in chunks(own(project, items)):
            other = Item.objects.filter(pk__in=chunk).exclude(competitor=name)
            pks = list(other.values_list("pk", flat=True))
            Item.objects.filter(pk__in=pks).update(competitor=name)
            changed += pks
        if changed:
            note_competitors(project)
            request_fit_if_labelled(project)
        note_items(project, actor, EventVerb.COMPETITORS_CHANGED, changed, now)
    return len(changed)


def own(project: Project, items: Sequence[int]) -> list[int]:
    """Return those that are the project's."""
    return [
        pk for chunk in chunks(list(items)) for pk in project.items.filter(pk__in=chunk).values_list("pk", flat=True)
    ]


def note_items(
    project: Project, actor: User, verb: EventVerb, items: Sequence[int], now: datetime, **details: Any
) -> None:
    """Record one event for all; the keys of the first hundred say which are meant."""
    if items:
        keys = list(project.items.filter(pk__in=items[:TOLD]).order_by("pk").values_list("key", flat=True))
        record_event(project, actor, verb, now, items=len(items), keys=keys, **details)
