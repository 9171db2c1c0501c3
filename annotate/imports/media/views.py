"""The preview of uploaded media, each with its key and what it shows; and importing them on the owner's word."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from django.contrib import messages
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.access import SignedInRequest
from annotate.core import http_ranges
from annotate.core.errors import UserError
from annotate.files.cells import Unusable
from annotate.files.limits import Unusable as BadCaptions
from annotate.imports import uploads
from annotate.imports.forms import PictureForm
from annotate.imports.media.adoption import adopted
from annotate.imports.uploads import Upload
from annotate.items import queries
from annotate.items.actions import ImportedBefore, import_items
from annotate.items.captions import webvtt
from annotate.items.media.images import read_pictures
from annotate.items.media.views import HARMLESS, RECORDINGS
from annotate.items.rows import Keys, NewItem
from annotate.models import Item, Project, User

CONTENT_TYPES = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp"}


def keep(user: User, project: Project, files: Sequence[UploadedFile], context: str) -> Upload:
    """Raises BadFile."""
    texts, problems = read_captions([file for file in files if is_captions(file)])
    pictures = read_pictures([file for file in files if not is_captions(file)])
    names = ["" if picture.problem else f"{place}.{picture.suffix}" for place, picture in enumerate(pictures)]
    return uploads.keep(
        user=user,
        project=project,
        kind="images",
        name=_("media files"),
        details={
            "context": context,
            "pictures": [
                {
                    "name": picture.name,
                    "key": picture.key,
                    "description": picture.description,
                    "file": name,
                    "kind": picture.kind,
                    "size": [picture.width, picture.height],
                    "small": picture.is_small,
                    "problem": picture.problem,
                    "captions": texts.pop(PurePath(picture.name).stem, None) if picture.kind != "image" else None,
                }
                for picture, name in zip(pictures, names, strict=True)
            ]
            + [{"name": name, "file": "", "problem": problem} for name, problem in [*problems, *left_over(texts)]],
        },
        files={name: picture.file or picture.content for picture, name in zip(pictures, names, strict=True) if name},
        now=timezone.now(),
    )


def is_captions(file: UploadedFile) -> bool:
    return (file.name or "").lower().endswith(webvtt.SUFFIX)


def read_captions(files: Sequence[UploadedFile]) -> tuple[dict[str, dict[str, str]], list[tuple[str, str]]]:
    """The captions by the name of the recording that they are for; and the files that are none, with what is wrong."""
    found: dict[str, dict[str, str]] = {}
    problems: list[tuple[str, str]] = []
    for file in files:
        name = file.name or ""
        try:
            stem, language = webvtt.named(name)
            if stem in found:
                raise BadCaptions(_("This recording already has captions; it can have one language only."))
            found[stem] = {"name": name, "language": language, "text": webvtt.text_of(file)}
        except BadCaptions as problem:
            problems.append((name, str(problem)))
    return found, problems


def left_over(texts: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str]]:
    """Captions without their recording."""
    words = _("No sound or video called “%(stem)s” is among the files. Upload both together, or add captions later.")
    return [(one["name"], words % {"stem": stem}) for stem, one in texts.items()]


@dataclass(frozen=True)
class Row:
    place: int
    picture: dict[str, Any]
    form: PictureForm


def rows_of(project: Project, upload: Upload, data: Mapping[str, Any] | None) -> list[Row]:
    """The usable pictures, their forms filled from `data` or else from the files' names, and checked."""
    keys, rows = Keys(queries.keys(project), _("file")), []
    for place, picture in enumerate(upload.details["pictures"]):
        if picture["problem"]:
            continue
        prefix = str(place)
        given = {f"{prefix}-key": picture["key"], f"{prefix}-description": picture["description"]}
        form = PictureForm(given if data is None else data, prefix=prefix, kind=picture["kind"])
        if form.is_valid() and not form.cleaned_data["leave_out"]:
            try:
                keys.take(form.cleaned_data["key"], place + 1)
            except Unusable as problem:
                form.add_error("key", str(problem))
        rows.append(Row(place, picture, form))
    return rows


def preview(
    request: SignedInRequest, project: Project, upload: Upload, rows: list[Row] | None = None
) -> HttpResponseBase:
    if "picture" in request.GET:
        return picture_file(request, upload, request.GET["picture"])
    rows = rows_of(project, upload, None) if rows is None else rows
    context = {
        "project": project,
        "upload": upload,
        "rows": rows,
        "problems": [picture for picture in upload.details["pictures"] if picture["problem"]],
        "n_errors": sum(bool(row.form.errors) for row in rows),
    }
    return render(request, "imports/pictures.html", context)


def picture_file(request: HttpRequest, upload: Upload, place: str) -> HttpResponseBase:
    """One of the files, to whoever uploaded it."""
    files = {str(n): picture for n, picture in enumerate(upload.details["pictures"]) if picture["file"]}
    if place not in files:
        raise Http404
    name, kind = files[place]["file"], files[place]["kind"]
    suffix = name.rpartition(".")[2]
    content_type = CONTENT_TYPES.get(suffix) or RECORDINGS[Item.Kind(kind), suffix]
    response = http_ranges.send_stored_file(
        request, default_storage, uploads.path(upload.id, name), content_type, etag=""
    )
    response["Cache-Control"] = "private, max-age=3600"
    for header, value in HARMLESS.items():
        response[header] = value
    return response


def confirm(request: SignedInRequest, project: Project, upload: Upload) -> HttpResponseBase:
    rows = rows_of(project, upload, request.POST)
    wanted = [row for row in rows if row.form.is_valid() and not row.form.cleaned_data["leave_out"]]
    if not wanted or any(row.form.errors for row in rows):
        messages.error(request, _("Nothing was imported. Correct what is marked, or leave those files out."))
        return preview(request, project, upload, rows)
    try:
        n = import_rows(request.user, project, upload, wanted)
    except ImportedBefore as refusal:
        messages.info(request, str(refusal))
    except UserError as refusal:
        messages.error(request, str(refusal))
        return preview(request, project, upload, rows_of(project, upload, request.POST))
    else:
        messages.success(request, ngettext("%(n)d item is imported.", "%(n)d items are imported.", n) % {"n": n})
    uploads.discard(upload.id)
    return redirect("items", project.pk)


def import_rows(user: User, project: Project, upload: Upload, rows: list[Row]) -> int:
    """The pictures' files are stored first; if the items can't be, they are taken away again."""
    with adopted(upload, [row.picture["file"] for row in rows]) as names:
        new = [
            NewItem(
                row.place + 1,
                row.form.cleaned_data["key"],
                row.form.cleaned_data["description"],
                row.picture["kind"],
                media=name,
                captions=(row.picture["captions"] or {}).get("text", ""),
                captions_language=(row.picture["captions"] or {}).get("language", ""),
                context=upload.details["context"],
                title=row.form.cleaned_data["title"],
            )
            for row, name in zip(rows, names, strict=True)
        ]
        return import_items(
            project=project,
            actor=user,
            rows=new,
            upload=upload.id,
            source=upload.name,
            now=timezone.now(),
            rng=random.SystemRandom(),
        )
