"""Takes uploaded files over as items' files."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.core.files.storage import default_storage

from annotate.imports.uploads import Upload


@contextmanager
def adopted(upload: Upload, files: Sequence[str]) -> Iterator[list[str]]:
    """Copies files of an upload to where items keep theirs, under random names; takes them away on any error."""
    stored: list[str] = []
    try:
        for file in files:
            name = f"items/{secrets.token_hex(16)}.{file.rpartition('.')[2]}"
            with upload.open(file) as content:
                stored.append(default_storage.save(name, content))
        yield stored
    except BaseException:
        for name in stored:
            default_storage.delete(name)
        raise
