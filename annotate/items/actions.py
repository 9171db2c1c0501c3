"""Writing items: a whole import or nothing of it; retiring, bringing back, deleting what nobody has seen."""

import random
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.audit import record_event
from annotate.core.chat import turns_in
from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.files.cells import shortened
from annotate.items.features import add_features
from annotate.items.media.deletion import delete_media
from annotate.items.rows import NewItem
from annotate.items.translations import add_translations
from annotate.jobs.fit_requests import request_fit
from annotate.labelling.assignment import release_held_with
from annotate.labelling.plan.actions import draw_plan
from annotate.labelling.plan.given import n_questions_with
from annotate.locks import lock_item, lock_project
from annotate.models import Captions, Context, Event, EventVerb, Item, ItemPage, Project, Tag, User

IMPORTED = EventVerb.ITEMS_IMPORTED
BATCH = 1000


class ImportedBefore(UserError):
    """The same upload again: a double click, a resend."""

    def __init__(self, n: int) -> None:
        self.n = n
        super().__init__(_("These %(n)d items have been imported already.") % {"n": n})


class KeyTaken(UserError):
    def __init__(self) -> None:
        super().__init__(
            _(
                "Somebody else has added items with the same keys in the meantime, so nothing was imported. Check "
                "the rows again."
            )
        )


class WasShown(UserError):
    def __init__(self, key: str) -> None:
        super().__init__(
            _("“%(key)s” has been shown to annotators, so it can't be deleted. Retire it instead.") % {"key": key}
        )


def import_items(
    *,
    project: Project,
    actor: User,
    rows: Sequence[NewItem],
    upload: str,
    source: str,
    now: datetime,
    rng: random.Random,
    features: Sequence[str] = (),
) -> int:
    """Add all rows or none. upload: an id that can be imported once; source: what the history calls it.

    features: the names of the rows' features. Raises ImportedBefore, KeyTaken and TooManyFeatures.
    """
    check_is_new(project, upload)
    try:
        with write_transaction():
            lock_project(project.pk)  # before tags and keys that an owner who holds it may write, too
            add_items(project, rows, now, rng, features)
            record_import(project, actor, now, upload=upload, n=len(rows), source=source)
    except IntegrityError as error:
        check_is_new(project, upload)  # a double click: the other one was first
        raise KeyTaken from error
    return len(rows)


def add_items(
    project: Project, rows: Sequence[NewItem], now: datetime, rng: random.Random, features: Sequence[str] = ()
) -> list[Item]:
    """Add items inside the caller's transaction; raises IntegrityError where a key is taken."""
    items = [new_item(project, row, now, rng) for row in rows]
    add_contexts(project, items, rows)
    Item.objects.bulk_create(items, batch_size=BATCH)
    add_tags(project, items, rows)
    if any(row.competitor for row in rows):
        Project.objects.filter(pk=project.pk).update(has_competitors=True)
    add_captions(items, rows)
    add_pages(items, rows)
    add_translations(project, items, rows)
    add_features(
        project, features, [(item.pk, row.features) for item, row in zip(items, rows, strict=True) if row.features]
    )
    return items


def add_pages(items: Sequence[Item], rows: Sequence[NewItem]) -> None:
    ItemPage.objects.bulk_create(
        (
            ItemPage(item=item, number=number, media=name)
            for item, row in zip(items, rows, strict=True)
            for number, name in enumerate(row.pages, 1)
        ),
        batch_size=BATCH,
    )


def record_import(project: Project, actor: User | None, now: datetime, *, upload: str, n: int, source: str) -> None:
    """Do what follows from n new items."""
    draw_plan(project)
    record_event(project, actor, IMPORTED, now, upload=upload, items=n, source=source)
    request_fit_if_labelled(project)


def new_item(project: Project, row: NewItem, now: datetime, rng: random.Random) -> Item:
    return Item(
        project=project,
        key=row.key,
        name=row.title,
        competitor=row.competitor,
        metadata=dict(row.metadata),
        kind=row.kind,
        body=row.body,
        media=row.media,
        n_pages=len(row.pages),
        link=row.link,
        shuffle=rng.random(),
        created_at=now,
    )


def n_imported(project: Project, upload: str) -> int | None:
    """Return how many items this upload brought; None if it has not been imported."""
    event = Event.objects.filter(project=project, verb=IMPORTED, details__upload=upload).first()
    return event.details["items"] if event else None


def check_is_new(project: Project, upload: str) -> None:
    n = n_imported(project, upload)
    if n is not None:
        raise ImportedBefore(n)


def add_contexts(project: Project, items: Sequence[Item], rows: Sequence[NewItem]) -> None:
    """Give each item the context of its row; a text that several name is one context, written as the first says."""
    first: dict[str, NewItem] = {}
    for row in rows:
        if row.context:
            first.setdefault(digest_of(row.context), row)
    if not first:
        return
    Context.objects.bulk_create(
        (
            Context(project=project, body=row.context, kind=context_kind(row), digest=digest)
            for digest, row in first.items()
        ),
        batch_size=BATCH,
        ignore_conflicts=True,
    )
    ids = dict(project.contexts.filter(digest__in=first).values_list("digest", "pk"))
    for item, row in zip(items, rows, strict=True):
        item.context_id = ids[digest_of(row.context)] if row.context else None


def context_kind(row: NewItem) -> str:
    """Return the kind of the row's context: a chat where it is one, else that of the item's text."""
    if turns_in(row.context):
        return Context.Kind.CHAT
    own = {Item.Kind.MARKDOWN: Context.Kind.MARKDOWN, Item.Kind.HTML: Context.Kind.HTML}
    return own.get(Item.Kind(row.kind), Context.Kind.TEXT)


def digest_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def add_tags(project: Project, items: Sequence[Item], rows: Sequence[NewItem]) -> None:
    names = sorted({tag for row in rows for tag in row.tags})
    Tag.objects.bulk_create((Tag(project=project, name=name) for name in names), ignore_conflicts=True)
    ids = dict(project.tags.filter(name__in=names).values_list("name", "pk"))
    links = Item.tags.through
    links.objects.bulk_create(
        (links(item_id=item.pk, tag_id=ids[tag]) for item, row in zip(items, rows, strict=True) for tag in row.tags),
        batch_size=BATCH,
    )


def add_captions(items: Sequence[Item], rows: Sequence[NewItem]) -> None:
    Captions.objects.bulk_create(
        Captions(item=item, language=row.captions_language, text=row.captions)
        for item, row in zip(items, rows, strict=True)
        if row.captions
    )


def set_captions(*, item: Item, actor: User, text: str, language: str, now: datetime) -> None:
    """Give the recording these captions and no others; with an empty text, none."""
    with write_transaction():
        lock_item(item)
        if text:
            Captions.objects.update_or_create(item=item, defaults={"text": text, "language": language})
        else:
            Captions.objects.filter(item=item).delete()
        record_event(item.project, actor, EventVerb.CAPTIONS_CHANGED, now, key=item.key, language=language)


class HasRightAnswer(UserError):
    def __init__(self, key: str) -> None:
        super().__init__(
            _("The item “%(key)s” is in a set with a known right answer, so it can't be deleted. Retire it instead.")
            % {"key": shortened(key)}
        )


class WasCounted(UserError):
    def __init__(self, key: str) -> None:
        super().__init__(
            _("The item “%(key)s” has imported counts, so it can't be deleted. Retire it instead.")
            % {"key": shortened(key)}
        )


class InQuestions(UserError):
    def __init__(self, key: str, n: int) -> None:
        super().__init__(
            ngettext(
                "The item “%(key)s” is in %(n)d given question, so it can't be deleted. Withdraw it first, or retire "
                "the item instead.",
                "The item “%(key)s” is in %(n)d given questions, so it can't be deleted. Withdraw them first, or "
                "retire the item instead.",
                n,
            )
            % {"key": shortened(key), "n": n}
        )


def retire_item(*, item: Item, actor: User, now: datetime) -> None:
    """Show the item to nobody any more; its labels stay. Retired already, nothing changes."""
    with write_transaction():
        lock_item(item)
        if Item.objects.filter(pk=item.pk, retired_at=None).update(retired_at=now):
            release_held_with(item.project, [item.pk])
            draw_plan(item.project)
            record_event(item.project, actor, EventVerb.ITEM_RETIRED, now, key=item.key, retired=[False, True])
            request_fit_if_labelled(item.project)


def bring_back_item(*, item: Item, actor: User, now: datetime) -> None:
    with write_transaction():
        lock_item(item)
        if Item.objects.filter(pk=item.pk, retired_at__isnull=False).update(retired_at=None):
            draw_plan(item.project)
            record_event(item.project, actor, EventVerb.ITEM_BROUGHT_BACK, now, key=item.key, retired=[True, False])
            request_fit_if_labelled(item.project)


def delete_item(*, item: Item, actor: User, now: datetime) -> None:
    """Delete an item that has never been presented; raise WasShown for others."""
    with write_transaction():
        lock_item(item)
        if item.presented.exists():
            raise WasShown(item.key)
        if item.known_sets.exists():
            raise HasRightAnswer(item.key)
        if item.counts.exists():
            raise WasCounted(item.key)
        if n := n_questions_with(item.project, item.pk):
            raise InQuestions(item.key, n)
        media, context = item.media.name, item.context
        files = [*item.pages.values_list("media", flat=True), *([media] if media else [])]
        item.machine_sets.all().delete()  # with what machines answered about it
        item.delete()
        record_event(item.project, actor, EventVerb.ITEM_DELETED, now, key=item.key)
        if item.competitor:
            note_competitors(item.project)
        draw_plan(item.project)
        if context and not context.items.exists():
            context.delete()
        if files:
            transaction.on_commit(lambda: delete_media(files))


def request_fit_if_labelled(project: Project) -> None:
    if project.ranks_counts or project.labels.exists():
        request_fit(project)


def set_tags(*, item: Item, actor: User, names: Sequence[str], now: datetime) -> None:
    """Give the item these tags and no others."""
    with write_transaction():
        lock_item(item)
        before = sorted(item.tags.values_list("name", flat=True))
        after = sorted(set(names))
        if before == after:
            return
        Tag.objects.bulk_create((Tag(project=item.project, name=name) for name in after), ignore_conflicts=True)
        item.tags.set(Tag.objects.filter(project=item.project, name__in=after))
        record_event(
            item.project,
            actor,
            EventVerb.ITEM_TAGS_CHANGED,
            now,
            key=item.key,
            tags=[", ".join(before), ", ".join(after)],
        )
        request_fit_if_labelled(item.project)  # the fit ranks each tag's items among themselves


def set_title(*, item: Item, actor: User, title: str, now: datetime) -> None:
    """Give the item this title; with an empty one, none. The log keeps neither: titles are often people's names."""
    title = " ".join(title.split())
    with write_transaction():
        lock_item(item)
        if title != item.name:
            item.name = title
            item.save(update_fields=["name"])
            record_event(item.project, actor, EventVerb.ITEM_TITLE_CHANGED, now, key=item.key)


def set_competitor(*, item: Item, actor: User, name: str, now: datetime) -> None:
    """Names who made the item; "" names nobody. The log keeps no name: it is often a person's."""
    name = " ".join(name.split())
    with write_transaction():
        lock_item(item)
        if name != item.competitor:
            item.competitor = name
            item.save(update_fields=["competitor"])
            note_competitors(item.project)
            record_event(item.project, actor, EventVerb.COMPETITOR_CHANGED, now, key=item.key)
            request_fit_if_labelled(item.project)


def note_competitors(project: Project) -> None:
    """Note whether an item of the project names its competitor."""
    Project.objects.filter(pk=project.pk).update(has_competitors=project.items.exclude(competitor="").exists())
