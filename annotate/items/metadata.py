"""What the owner's own columns say of an item: read, bounded, and which of it there is in a project."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.transactions import write_transaction
from annotate.files.cells import check_characters, shortened, text_in
from annotate.files.limits import MAX_METADATA, MAX_METADATA_NAME, MAX_METADATA_VALUE, Unusable
from annotate.files.sheets import SheetRow
from annotate.locks import lock_item
from annotate.models import EventVerb, Item, Project, User

MAX_ITEMS_READ = 2000  # of a project, to find the names of their metadata

Metadata = tuple[tuple[str, str], ...]


def metadata_in(row: SheetRow, columns: Sequence[tuple[int, str]]) -> Metadata:
    """Return what the row's columns say, by name; of a column without a name, the names of its JSON object.

    Empty cells say nothing. Raises Unusable.
    """
    found: dict[str, str] = {}
    for place, name in columns:
        cell = row.cells[place]
        text = text_in(cell if isinstance(cell, str) else "; ".join(cell))
        if text:
            found |= {name: text} if name else object_in(text)
    return checked_metadata(found)


def object_in(text: str) -> dict[str, str]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(one, str | int | float) for one in found.values()):
        raise Unusable(
            _('The metadata “%(value)s” are no JSON object of single values such as {"author": "Ada"}.')
            % {"value": shortened(text)}
        )
    return {name: str(value) for name, value in found.items()}


def checked_metadata(given: Mapping[str, str]) -> Metadata:
    """Return metadata in one line each, without what is empty. Raises Unusable."""
    found = {" ".join(name.split()): " ".join(value.split()) for name, value in given.items()}
    found = {name: value for name, value in found.items() if value}
    if len(found) > MAX_METADATA:
        raise Unusable(
            _("The item has %(n)d metadata; the limit is %(limit)d. Leave some out.")
            % {"n": len(found), "limit": MAX_METADATA}
        )
    for name, value in found.items():
        check_characters(name + value)
        for text, limit in ((name or " " * 1000, MAX_METADATA_NAME), (value, MAX_METADATA_VALUE)):
            if len(text) > limit:
                raise Unusable(
                    _("The metadata “%(name)s” have %(n)d characters; the limit is %(limit)d. Shorten them.")
                    % {"name": shortened(name), "n": len(text), "limit": limit}
                )
    return tuple(found.items())


def metadata_names(project: Project) -> list[str]:
    """Return the names of the metadata of the project's items, in the order in which they come first."""
    found = project.items.exclude(metadata={}).order_by("pk").values_list("metadata", flat=True)[:MAX_ITEMS_READ]
    return list(dict.fromkeys(name for one in found for name in one))


def set_metadata(*, item: Item, actor: User, metadata: Mapping[str, Any], now: datetime) -> None:
    """Give the item these metadata and no others. Raises Unusable. The log keeps none: they may name people."""
    after = dict(checked_metadata({name: str(value) for name, value in metadata.items()}))
    with write_transaction():
        lock_item(item)
        if after != item.metadata:
            item.metadata = after
            item.save(update_fields=["metadata"])
            record_event(item.project, actor, EventVerb.ITEM_METADATA_CHANGED, now, key=item.key)
