"""Hides and releases comments on items; makes and revokes the links that show them to whoever made an item."""

from datetime import datetime

from annotate.audit import record_event
from annotate.core.transactions import write_transaction
from annotate.locks import lock_project
from annotate.models import EntryLink, EventVerb, Item, ItemComment, Project, User
from annotate.publishing.entries.queries import comments_of, items_of


def set_hidden(*, comment: ItemComment, actor: User, hidden: bool, now: datetime) -> bool:
    """Hide the comment from entrants, or no longer; returns False if nothing changed."""
    with write_transaction():
        found = ItemComment.objects.filter(pk=comment.pk, hidden_at__isnull=hidden)
        if not found.update(hidden_at=now if hidden else None):
            return False
        verb = EventVerb.COMMENT_HIDDEN if hidden else EventVerb.COMMENT_SHOWN
        record_event(comment.item.project, actor, verb, now, key=comment.item.key)
    return True


def set_released(*, project: Project, actor: User, tag: str, released: bool, now: datetime) -> int:
    """Release the comments there are now on the items with this tag, or all, or withdraw them; the number changed.

    Hidden ones are not released. Comments that come later wait for the next release.
    """
    with write_transaction():
        lock_project(project.pk)
        found = comments_of(project, tag).filter(released_at__isnull=released)
        if released:
            found = found.filter(hidden_at=None)
        keys = list(found.values_list("pk", flat=True))
        n = ItemComment.objects.filter(pk__in=keys).update(released_at=now if released else None)
        if n:
            verb = EventVerb.COMMENTS_RELEASED if released else EventVerb.COMMENTS_WITHDRAWN
            record_event(project, actor, verb, now, comments=n, tag=tag or "–")
    return n


def make_entry_links(*, project: Project, actor: User, tag: str, now: datetime, item: Item | None = None) -> int:
    """Make a link for each active item with this tag, or all, or this one item, that has none; the number made."""
    with write_transaction():
        lock_project(project.pk)
        wanted = project.items.filter(pk=item.pk) if item else items_of(project, tag).filter(retired_at=None)
        missing = wanted.exclude(pk__in=project.entry_links.filter(revoked_at=None).values("item"))
        links = [EntryLink(project=project, item=one, made_at=now) for one in missing.order_by("pk")]
        EntryLink.objects.bulk_create(links, batch_size=500)
        if links:
            record_event(project, actor, EventVerb.ENTRY_LINKS_MADE, now, links=len(links))
    return len(links)


def revoke_entry_link(*, link: EntryLink, actor: User, now: datetime) -> bool:
    """Return False if it was revoked already."""
    with write_transaction():
        if not EntryLink.objects.filter(pk=link.pk, revoked_at=None).update(revoked_at=now):
            return False
        record_event(link.project, actor, EventVerb.ENTRY_LINK_REVOKED, now, key=link.item.key)
    return True
