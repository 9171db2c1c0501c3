"""Takes out of archives' files what was erased from the site: the answers of people, and texts that name them."""

import logging
import tempfile
from collections.abc import Iterator
from typing import Any

from annotate.models import Annotator, LabelArchive
from annotate.operations.label_archives.errors import LabelArchiveError
from annotate.operations.label_archives.files import opened_pieces, replace_file, write_pieces
from annotate.operations.label_archives.layout import COMMENTS, LABEL, arrow

logger = logging.getLogger("annotate.cleanup")
TEXTS = ("comment", "reason", "session")  # as apply_retention empties them


def redact_outdated_files() -> None:
    """Write every file anew that holds what was erased. Logs those that can't be read."""
    outdated = LabelArchive.objects.filter(drops_people=True) | LabelArchive.objects.filter(drops_texts=True)
    for archive in outdated.select_related("project"):
        try:
            redact_file(archive)
        except LabelArchiveError as error:
            logger.error("Erased answers are still in the archive of project %s: %s", archive.project_id, error)


def redact_file(archive: LabelArchive) -> None:
    """Write the archive's file anew without the answers of people who are gone and, where that was asked, without
    comments, sessions and the browsers' clocks. Raises LabelArchiveError.
    """
    project, drops_texts = archive.project, archive.drops_texts
    people = arrow().array(sorted(Annotator.objects.filter(project=project).values_list("pk", flat=True)), type="int64")

    def kept(pieces: Iterator[Any]) -> Iterator[Any]:
        for piece in pieces:
            stay = piece.filter(is_in(piece.column("annotator_id"), people))
            yield without_texts(stay) if drops_texts else stay

    with tempfile.TemporaryFile() as file, opened_pieces(archive) as (schema, pieces):
        counts = write_pieces(file, schema, kept(pieces))
        replace_file(archive, file, counts)


def is_in(column: Any, values: Any) -> Any:
    compute = arrow().compute
    return compute.is_in(column, value_set=values)


def without_texts(piece: Any) -> Any:
    """Return the piece with empty comments, reasons, sessions and no clock of the browser; None where no label is."""
    pa = arrow()
    labels = piece.column(f"{LABEL}id").to_pylist()
    for name in TEXTS:
        texts = pa.array([None if label is None else "" for label in labels], type=pa.string())
        piece = set_column(piece, LABEL + name, texts)
    clock = f"{LABEL}client_at"
    piece = set_column(piece, clock, pa.nulls(piece.num_rows, piece.schema.field(clock).type))
    comments = piece.schema.field(COMMENTS).type
    return set_column(piece, COMMENTS, pa.array([[] for _ in labels], type=comments))


def set_column(piece: Any, name: str, values: Any) -> Any:
    return piece.set_column(piece.schema.get_field_index(name), piece.schema.field(name), values)
