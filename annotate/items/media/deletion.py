"""Deleting the files of items: a project and its clones share them, so the last item that has one takes it along."""

from collections.abc import Sequence

from annotate.core.chunks import chunks
from annotate.models import Item, ItemPage


def delete_media(names: Sequence[str]) -> None:
    """Delete those of these files that no item has any more; to be called when the items' end is committed.

    Of two projects that share a file and end at once, the later commit finds no item left, whichever it is.
    """
    storage = Item._meta.get_field("media").storage
    for chunk in chunks(list(dict.fromkeys(names))):
        still_used = set(Item.objects.filter(media__in=chunk).values_list("media", flat=True))
        still_used |= set(ItemPage.objects.filter(media__in=chunk).values_list("media", flat=True))
        for name in chunk:
            if name not in still_used:
                storage.delete(name)
