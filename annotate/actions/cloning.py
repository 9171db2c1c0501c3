"""Making a new project like another one: its settings and rules, on wish its items, never its people or labels."""

import random
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Model

from annotate.actions.events import note
from annotate.actions.questionnaire import newest
from annotate.assigning import set_key
from annotate.locking import alone
from annotate.models import (
    Captions,
    ConsentText,
    Context,
    EngineState,
    Entry,
    FeatureNames,
    Field,
    Item,
    ItemFeatures,
    ItemSet,
    KnownSet,
    Membership,
    Project,
    Retention,
    Tag,
    User,
)
from annotate.writing import writing

BATCH = 1000
# Every column of these tables is copied but for those named here (tests/site/test_cloning.py holds them to the models).
NOT_COPIED: dict[type[Model], frozenset[str]] = {
    Project: frozenset(
        # Its own, and what tells of the source's course: its state, its hours, whose labels are simulated.
        ["id", "name", "join_token", "state", "created_at", "archived_at", "opens_at", "closes_at", "simulated"]
    )
    | {"fields_before", "fields_after"},
    Entry: frozenset({"project", "platform_token"}),
    Retention: frozenset({"project", "done_for"}),
    Field: frozenset({"id", "project"}),
    Tag: frozenset({"id", "project"}),
    Context: frozenset({"id", "project"}),
    Item: frozenset({"id", "project", "context", "n_taken", "shuffle", "created_at"}),
    Captions: frozenset({"id", "item"}),
    KnownSet: frozenset({"id", "project", "item_set", "named"}),
}


def copied(row: Model, **values: Any) -> dict[str, Any]:
    """The row's columns that a clone takes over, and these."""
    left = NOT_COPIED[type(row)]
    own = {field.name: getattr(row, field.name) for field in row._meta.concrete_fields if field.name not in left}
    return own | values


def clone_project(
    *, source: Project, actor: User, name: str, with_items: bool, now: datetime, rng: random.Random
) -> Project:
    """A draft with the source's settings, owned by the actor; known sets come with the items.

    Files are shared: they are deleted with the last item that has them.
    """
    with writing():
        source = alone(source.pk)
        clone = Project.objects.create(**copied(source, name=name, created_at=now))
        Membership.objects.create(project=clone, user=actor, role=Membership.Role.OWNER)
        EngineState.objects.create(project=clone)
        copy_rules(source, clone)
        n_items = copy_items(source, clone, now, rng) if with_items else 0
        note(source, actor, "project cloned", now, clone=name, clone_id=str(clone.pk), items=n_items)
        note(clone, actor, "project made as a clone", now, source=source.name, source_id=str(source.pk), items=n_items)
    return clone


def copy_rules(source: Project, clone: Project) -> None:
    """Who may take part, what is promised to them, the consent text in force, the questionnaire as it is asked now."""
    entry = Entry.objects.filter(project=source).first()
    if entry:
        Entry.objects.create(**copied(entry, project=clone))
    retention = Retention.objects.filter(project=source).first()
    if retention:
        Retention.objects.create(**copied(retention, project=clone))
    text = ConsentText.objects.filter(project=source, version=source.consent_version).first()
    if text:
        ConsentText.objects.create(project=clone, version=text.version, text=text.text, at=text.at)
    fields = source.fields.filter(retired_at=None).order_by("pk")
    for field in fields:
        Field.objects.create(**copied(field, project=clone))
    clone.fields_before, clone.fields_after = newest(clone, at_end=False), newest(clone, at_end=True)
    clone.save(update_fields=["fields_before", "fields_after"])


def copy_items(source: Project, clone: Project, now: datetime, rng: random.Random) -> int:
    """Items with their contexts, tags and known sets; retired ones stay retired. The number of items."""
    tags = twins(source.tags.order_by("pk"), project=clone)
    contexts = twins(source.contexts.order_by("pk"), project=clone)
    items: dict[int, int] = {}
    for rows in batches(source.items.order_by("pk")):
        made = Item.objects.bulk_create(
            Item(
                **copied(
                    item,
                    project=clone,
                    context_id=contexts.get(item.context_id),
                    shuffle=rng.random(),
                    created_at=now,
                )
            )
            for item in rows
        )
        items |= {old.pk: new.pk for old, new in zip(rows, made, strict=True)}
    links = Item.tags.through
    for rows in batches(links.objects.filter(item__project=source).order_by("pk")):
        links.objects.bulk_create(links(item_id=items[one.item_id], tag_id=tags[one.tag_id]) for one in rows)
    for captions in batches(Captions.objects.filter(item__project=source).order_by("pk")):
        Captions.objects.bulk_create(Captions(**copied(one, item_id=items[one.item_id])) for one in captions)
    copy_known_sets(source, clone, items)
    copy_features(source, clone, items)
    return len(items)


def copy_features(source: Project, clone: Project, items: dict[int, int]) -> None:
    names = FeatureNames.objects.filter(project=source).first()
    if names:
        FeatureNames.objects.create(project=clone, names=names.names)
        for rows in batches(ItemFeatures.objects.filter(item__project=source).order_by("pk")):
            ItemFeatures.objects.bulk_create(ItemFeatures(item_id=items[one.pk], values=one.values) for one in rows)


def twins(rows: Any, **values: Any) -> dict[int, int]:
    """Copies these rows with these values; from each primary key to that of its copy."""
    known: dict[int, int] = {}
    for batch in batches(rows):
        made = rows.model.objects.bulk_create(rows.model(**copied(row, **values)) for row in batch)
        known |= {old.pk: new.pk for old, new in zip(batch, made, strict=True)}
    return known


def batches(rows: Any) -> Iterable[list[Any]]:
    """The rows of a query in order of their primary keys, a thousand at a time: however many, memory stays flat."""
    last = 0
    while batch := list(rows.filter(pk__gt=last)[:BATCH]):
        yield batch
        last = batch[-1].pk


def copy_known_sets(source: Project, clone: Project, items: dict[int, int]) -> None:
    """Those in use, with their right answers in terms of the clone's items."""
    for known in source.known_sets.filter(retired_at=None).order_by("pk").prefetch_related("items"):
        members = [items[item.pk] for item in known.items.all()]
        item_set = ItemSet.objects.get_or_create(project=clone, key=set_key(members))[0]
        named = [items[pk] for pk in known.named]
        twin = KnownSet.objects.create(**copied(known, project=clone, item_set=item_set, named=named))
        twin.items.set(members)
