"""Making a new project like another one: its settings and rules, on wish its items, never its people or labels."""

import random
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Model

from annotate.audit import record_event
from annotate.core.transactions import write_transaction
from annotate.labelling.item_sets import items_of_key, set_key
from annotate.labelling.plan.given import NewQuestion, write_questions
from annotate.locks import lock_project
from annotate.models import (
    Captions,
    ConsentText,
    Context,
    ContextTranslation,
    EventVerb,
    FeatureNames,
    FitState,
    GoldSet,
    Item,
    ItemFeatures,
    ItemPage,
    ItemSet,
    ItemTranslation,
    Membership,
    ParticipationRules,
    Project,
    ProjectTranslation,
    QuestionField,
    Retention,
    Tag,
    User,
)
from annotate.participation.joining.short_addresses import new_code
from annotate.participation.questionnaire.actions import note_newest_questions

RNG = random.SystemRandom()

BATCH = 1000
# Every column of these tables is copied but for those named here; tests/site/projects/test_cloning.py holds them to
# the models.
NOT_COPIED: dict[type[Model], frozenset[str]] = {
    Project: frozenset(
        # Its own, and what tells of the source's course: its state, its hours and deadline, whose labels are simulated.
        ["id", "name", "join_token", "state", "created_at", "archived_at", "opens_at", "closes_at", "simulated"]
    )
    | {
        "join_code",
        "fields_before",
        "fields_after",
        "fields_imported",
        "has_idea_items",
        "embed_origins",
        "has_competitors",
        "evidence",
        "notes_answers",
        "given_order",
        "count_machines",
        "goal_deadline",
    },
    ParticipationRules: frozenset({"project", "platform_token"}),
    Retention: frozenset({"project", "done_for"}),
    QuestionField: frozenset({"id", "project"}),
    Tag: frozenset({"id", "project"}),
    Context: frozenset({"id", "project"}),
    Item: frozenset(
        {"id", "project", "context", "n_taken", "n_control", "asked_by_prediction", "shuffle", "created_at"}
    ),
    Captions: frozenset({"id", "item"}),
    ItemPage: frozenset({"id", "item"}),
    ProjectTranslation: frozenset({"id", "project"}),
    ItemTranslation: frozenset({"id", "item"}),
    ContextTranslation: frozenset({"id", "context"}),
    GoldSet: frozenset({"id", "project", "item_set", "named"}),
}


def copy_values(row: Model, **values: Any) -> dict[str, Any]:
    """Return the row's columns that a clone takes over, and these."""
    left = NOT_COPIED[type(row)]
    own = {field.name: getattr(row, field.name) for field in row._meta.concrete_fields if field.name not in left}
    return own | values


def clone_project(
    *, source: Project, actor: User, name: str, with_items: bool, now: datetime, rng: random.Random
) -> Project:
    """Return a draft with the source's settings, owned by the actor; known sets come with the items.

    Files are shared: they are deleted with the last item that has them.
    """
    with write_transaction():
        source = lock_project(source.pk)
        clone = Project.objects.create(
            **copy_values(source, name=name, created_at=now, join_code=new_code() if source.join_code else None)
        )
        Membership.objects.create(project=clone, user=actor, role=Membership.Role.OWNER)
        FitState.objects.create(project=clone)
        copy_rules(source, clone)
        clone_rows(source.translations.order_by("pk"), project=clone)
        n_items = copy_items(source, clone, now, rng) if with_items else 0
        Project.objects.filter(pk=clone.pk).update(has_competitors=with_items and source.has_competitors)
        record_event(source, actor, EventVerb.PROJECT_CLONED, now, clone=name, clone_id=str(clone.pk), items=n_items)
        record_event(
            clone,
            actor,
            EventVerb.PROJECT_MADE_AS_A_CLONE,
            now,
            source=source.name,
            source_id=str(source.pk),
            items=n_items,
        )
    return clone


def copy_rules(source: Project, clone: Project) -> None:
    """Copy who may take part, what they are promised, the consent text in force and the current questionnaire."""
    entry = ParticipationRules.objects.filter(project=source).first()
    if entry:
        ParticipationRules.objects.create(**copy_values(entry, project=clone))
    retention = Retention.objects.filter(project=source).first()
    if retention:
        Retention.objects.create(**copy_values(retention, project=clone))
    text = ConsentText.objects.filter(project=source, version=source.consent_version).first()
    if text:
        ConsentText.objects.create(project=clone, version=text.version, text=text.text, at=text.at)
    asked = source.fields.filter(retired_at=None).exclude(kind=QuestionField.Kind.IMPORTED)  # which say nothing here
    fields = asked.order_by("pk")
    for field in fields:
        QuestionField.objects.create(**copy_values(field, project=clone))
    note_newest_questions(clone)


def copy_items(source: Project, clone: Project, now: datetime, rng: random.Random) -> int:
    """Return items with their contexts, tags and known sets; retired ones stay retired. The number of items."""
    tags = clone_rows(source.tags.order_by("pk"), project=clone)
    contexts = clone_rows(source.contexts.order_by("pk"), project=clone)
    for batch in in_batches(ContextTranslation.objects.filter(context__project=source).order_by("pk")):
        ContextTranslation.objects.bulk_create(
            ContextTranslation(**copy_values(one, context_id=contexts[one.context_id])) for one in batch
        )
    items: dict[int, int] = {}
    for rows in in_batches(source.items.order_by("pk")):
        made = Item.objects.bulk_create(
            Item(
                **copy_values(
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
    for rows in in_batches(links.objects.filter(item__project=source).order_by("pk")):
        links.objects.bulk_create(links(item_id=items[one.item_id], tag_id=tags[one.tag_id]) for one in rows)
    for captions in in_batches(Captions.objects.filter(item__project=source).order_by("pk")):
        Captions.objects.bulk_create(Captions(**copy_values(one, item_id=items[one.item_id])) for one in captions)
    for pages in in_batches(ItemPage.objects.filter(item__project=source).order_by("pk")):
        ItemPage.objects.bulk_create(ItemPage(**copy_values(one, item_id=items[one.item_id])) for one in pages)
    for texts in in_batches(ItemTranslation.objects.filter(item__project=source).order_by("pk")):
        ItemTranslation.objects.bulk_create(
            ItemTranslation(**copy_values(one, item_id=items[one.item_id])) for one in texts
        )
    copy_gold_sets(source, clone, items)
    copy_questions(source, clone, items)
    copy_features(source, clone, items)
    return len(items)


def copy_questions(source: Project, clone: Project, items: dict[int, int]) -> None:
    """Copy the given questions in the terms of the clone's items; those withdrawn are left out."""
    given = source.item_sets.filter(number__isnull=False, withdrawn_at=None)
    last = 0
    while rows := list(given.filter(number__gt=last).order_by("number")[:BATCH]):
        questions = [NewQuestion(tuple(items[pk] for pk in items_of_key(row.key)), row.priority) for row in rows]
        write_questions(clone, questions, source.given_order)
        last = rows[-1].number or 0


def copy_features(source: Project, clone: Project, items: dict[int, int]) -> None:
    names = FeatureNames.objects.filter(project=source).first()
    if names:
        FeatureNames.objects.create(project=clone, names=names.names)
        for rows in in_batches(ItemFeatures.objects.filter(item__project=source).order_by("pk")):
            ItemFeatures.objects.bulk_create(ItemFeatures(item_id=items[one.pk], values=one.values) for one in rows)


def clone_rows(rows: Any, **values: Any) -> dict[int, int]:
    """Copy these rows with these values; from each primary key to that of its copy."""
    known: dict[int, int] = {}
    for batch in in_batches(rows):
        made = rows.model.objects.bulk_create(rows.model(**copy_values(row, **values)) for row in batch)
        known |= {old.pk: new.pk for old, new in zip(batch, made, strict=True)}
    return known


def in_batches(rows: Any) -> Iterable[list[Any]]:
    """Return the rows of a query in order of their primary keys, a thousand at a time: however many, memory
    stays flat."""
    last = 0
    while batch := list(rows.filter(pk__gt=last)[:BATCH]):
        yield batch
        last = batch[-1].pk


def copy_gold_sets(source: Project, clone: Project, items: dict[int, int]) -> None:
    """Copy the gold sets in use, with their right answers in terms of the clone's items."""
    for known in source.known_sets.filter(retired_at=None).order_by("pk").prefetch_related("items"):
        members = [items[item.pk] for item in known.items.all()]
        item_set = ItemSet.objects.get_or_create(project=clone, key=set_key(members))[0]
        named = [items[pk] for pk in known.named]
        twin = GoldSet.objects.create(**copy_values(known, project=clone, item_set=item_set, named=named))
        twin.items.set(members)
