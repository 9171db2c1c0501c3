"""The file of an archive: opened where it can be read, written anew, checked against what is known of it.

It holds people's data. Copies have no name, so that nothing stays of them when a process is killed.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import IO, Any

from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from annotate.core.transactions import write_transaction
from annotate.models import LabelArchive
from annotate.operations.label_archives.errors import LabelArchiveError
from annotate.operations.label_archives.layout import (
    FORMAT,
    FORMAT_KEY,
    LABEL,
    PROJECT_KEY,
    arrow,
    parquet,
    schema_of,
)

FOLDER = "label-archives"
MAX_UNKNOWN = timedelta(days=1)  # how long a stored file may be there before its archive is noted


@dataclass
class Counts:
    """What a file holds, counted while it is written."""

    n_presentations: int = 0
    n_labels: int = 0
    n_unvoided: int = 0

    def add(self, piece: Any) -> None:
        labels = piece.column(f"{LABEL}id")
        voided = piece.column(f"{LABEL}voided_at")
        self.n_presentations += piece.num_rows
        self.n_labels += len(labels) - labels.null_count
        self.n_unvoided += len(labels) - labels.null_count - (len(voided) - voided.null_count)


def write_pieces(file: IO[bytes], schema: Any, pieces: Iterable[Any]) -> Counts:
    """Write a file of these pieces, each a row group."""
    counts = Counts()
    with parquet().ParquetWriter(file, schema, compression="zstd") as writer:
        for piece in pieces:
            if piece.num_rows:
                writer.write_table(piece, row_group_size=piece.num_rows)
                counts.add(piece)
    return counts


def hash_of(file: IO[bytes]) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def store(file: IO[bytes], project_id: Any) -> str:
    """Copy the file to where items' files are, too; return its name there."""
    file.seek(0)
    return default_storage.save(f"{FOLDER}/{project_id}.parquet", File(file))


def unknown_files(now: datetime) -> list[str]:
    """Return the stored files that no archive names: of a command that was killed, or of another site's.

    Nothing deletes them: a site that was pointed at another's files would take that one's answers away.
    """
    try:
        found = {f"{FOLDER}/{name}" for name in default_storage.listdir(FOLDER)[1]}
    except FileNotFoundError:  # nothing has been archived here
        return []
    known = set(LabelArchive.objects.filter(file__in=found).values_list("file", flat=True))
    return [name for name in sorted(found - known) if is_older(name, now - MAX_UNKNOWN)]


def is_older(name: str, than: datetime) -> bool:
    try:
        return default_storage.get_modified_time(name) < than
    except FileNotFoundError:  # forgotten meanwhile
        return False


@contextmanager
def opened(archive: LabelArchive) -> Iterator[Any]:
    """Open a copy of the archive's file, checked, as a ParquetFile. Raises LabelArchiveError."""
    with tempfile.TemporaryFile() as copy:
        try:
            with default_storage.open(str(archive.file.name)) as source:
                shutil.copyfileobj(source, copy, 2**20)
        except FileNotFoundError as error:
            raise LabelArchiveError(
                f"The file {archive.file.name} is missing. Put it back from a backup; nothing was changed."
            ) from error
        if hash_of(copy) != archive.sha256:
            raise LabelArchiveError(
                f"The file {archive.file.name} is damaged: its SHA-256 is not the one that was stored. Put it back "
                "from a backup; nothing was changed."
            )
        with parquet().ParquetFile(copy) as file:
            about = file.schema_arrow.metadata or {}
            if about.get(FORMAT_KEY) != FORMAT or about.get(PROJECT_KEY) != str(archive.project_id).encode():
                raise LabelArchiveError(f"The file {archive.file.name} is no archive of this project's labels.")
            yield file


@contextmanager
def opened_pieces(archive: LabelArchive, *, backwards: bool = False) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Open the archive's file as `opened` does; give the columns that this version has, and the row groups with these.

    Columns that an older file lacks are empty. Raises LabelArchiveError.
    """
    schema = schema_of(archive.project_id, settings.VERSION)
    with opened(archive) as file:
        missing = missing_columns(file.schema_arrow, schema)
        groups = range(file.num_row_groups)
        ordered = reversed(groups) if backwards else groups
        yield schema, (with_columns(file.read_row_group(number), schema, missing) for number in ordered)


def missing_columns(found: Any, expected: Any) -> list[str]:
    """Return the columns that this version has and the file lacks, since it is older. Raises LabelArchiveError."""
    if unknown := set(found.names) - set(expected.names):
        raise LabelArchiveError(
            f"The file has the column “{min(unknown)}”, which this version does not know. Install the version that "
            "wrote it, or a newer one."
        )
    return [name for name in expected.names if name not in found.names]


def with_columns(piece: Any, schema: Any, missing: list[str]) -> Any:
    """Return the piece with the columns of the schema, the missing ones empty."""
    for name in missing:
        field = schema.field(name)
        piece = piece.append_column(field, arrow().nulls(piece.num_rows, field.type))
    return piece.select(schema.names)


def replace_file(archive: LabelArchive, file: IO[bytes], counts: Counts) -> None:
    """Put another file in the archive's place; nothing is to be taken out of that."""
    former = str(archive.file.name)
    name = store(file, archive.project_id)
    with write_transaction():
        archive.file.name, archive.sha256, archive.made_at = name, hash_of(file), timezone.now()
        archive.n_presentations, archive.n_labels, archive.n_unvoided = (
            counts.n_presentations,
            counts.n_labels,
            counts.n_unvoided,
        )
        archive.drops_people = archive.drops_texts = False
        archive.save()
        transaction.on_commit(lambda: default_storage.delete(former))
