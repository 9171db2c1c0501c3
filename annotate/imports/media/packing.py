"""Packs uploaded documents into one zip file, the form in which a worker takes them."""

import tempfile
import zipfile
from collections.abc import Sequence

from django.core.files.base import File
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _

from annotate.files.limits import MAX_ZIP_BYTES, BadFile
from annotate.imports.media.documents import is_document


def pack_documents(files: Sequence[UploadedFile]) -> File:
    """Return a zip file of these. Raises BadFile for others than documents, and where together they are too large."""
    for file in files:
        if not is_document(file.name or ""):
            raise BadFile(
                _("“%(name)s” is neither PDF nor DOCX. Save it as one of these, or leave it out.") % {"name": file.name}
            )
    size = sum(file.size or 0 for file in files)
    if size > MAX_ZIP_BYTES:
        raise BadFile(
            _("Together the files have %(size).0f MB; the limit is %(limit)d MB. Upload them in several parts.")
            % {"size": size / 2**20, "limit": MAX_ZIP_BYTES // 2**20}
        )
    packed = tempfile.TemporaryFile()
    names: set[str] = set()
    with zipfile.ZipFile(packed, "w") as archive:
        for number, file in enumerate(files, 1):
            name = file.name if file.name not in names else f"{number} {file.name}"
            names.add(str(name))
            with archive.open(str(name), "w") as entry:
                for chunk in file.chunks():
                    entry.write(chunk)
    packed.seek(0)
    return File(packed, name="documents.zip")
