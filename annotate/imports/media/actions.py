"""Adds media as items: the files are stored where items keep theirs, then the items, all or none."""

import random
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from django.core.files.base import File
from django.core.files.storage import default_storage

from annotate.items.actions import import_items
from annotate.items.rows import NewItem
from annotate.models import Project, User


def import_media(
    *,
    project: Project,
    actor: User,
    rows: Sequence[NewItem],
    files: Iterable[tuple[str, File]],
    upload: str,
    source: str,
    now: datetime,
) -> int:
    """Add all rows with their files or none. files: the suffix and content of each; the rest is as for import_items,
    which says what it raises."""
    with stored(files) as names:
        return import_items(
            project=project,
            actor=actor,
            rows=[row._replace(media=name) for row, name in zip(rows, names, strict=True)],
            upload=upload,
            source=source,
            now=now,
            rng=random.SystemRandom(),
        )


@contextmanager
def stored(files: Iterable[tuple[str, File]]) -> Iterator[list[str]]:
    """Store files under random names; take them away on any error."""
    names: list[str] = []
    try:
        for suffix, content in files:
            names.append(default_storage.save(f"items/{secrets.token_hex(16)}.{suffix}", content))
        yield names
    except BaseException:
        for name in names:
            default_storage.delete(name)
        raise
