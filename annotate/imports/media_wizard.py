"""Items from images, sound and video: each file with its key and what it shows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core import http_ranges
from annotate.core.errors import UserError
from annotate.files.limits import Unusable
from annotate.imports import uploads
from annotate.imports.forms import PictureForm
from annotate.imports.media.actions import import_media
from annotate.imports.media.files import Medium, read_media
from annotate.imports.uploads import Upload
from annotate.imports.wizard import Contents, Wizard
from annotate.items import queries
from annotate.items.media.delivery import HARMLESS, RECORDINGS
from annotate.items.rows import Keys, NewItem
from annotate.models import Item, Project, User

CONTENT_TYPES = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp"}


def media_contents(pictures: Sequence[UploadedFile], context: str) -> Contents:
    """Raise BadFile."""
    details, contents = [], dict[str, bytes | File]()
    for place, medium in enumerate(read_media(pictures)):
        picture = medium.picture
        name = "" if picture.problem else f"{place}.{picture.suffix}"
        details.append(details_of(medium, name))
        if name:
            contents[name] = picture.file or picture.content
    return Contents(_("media files"), {"context": context, "pictures": details}, contents)


def details_of(medium: Medium, name: str) -> dict[str, Any]:
    picture = medium.picture
    return {
        "name": picture.name,
        "key": picture.key,
        "description": picture.description,
        "file": name,
        "kind": picture.kind,
        "size": [picture.width, picture.height],
        "small": picture.is_small,
        "problem": picture.problem,
        "captions": medium.captions,
    }


@dataclass(frozen=True)
class Row:
    """A usable file and its form."""

    place: int
    picture: dict[str, Any]
    form: PictureForm

    @property
    def is_wanted(self) -> bool:
        return self.form.is_valid() and not self.form.cleaned_data["leave_out"]

    def item(self, context: str) -> NewItem:
        given, captions = self.form.cleaned_data, self.picture["captions"] or {}
        return NewItem(
            self.place + 1,
            given["key"],
            given["description"],
            self.picture["kind"],
            captions=captions.get("text", ""),
            captions_language=captions.get("language", ""),
            context=context,
            title=given["title"],
        )


def rows_of(project: Project, upload: Upload, data: Mapping[str, Any] | None) -> list[Row]:
    """Return the usable pictures, their forms filled from `data` or else from the files' names, and checked."""
    keys, rows = Keys(queries.keys(project), _("file")), []
    for place, picture in enumerate(upload.details["pictures"]):
        if picture["problem"]:
            continue
        prefix = str(place)
        given = {f"{prefix}-key": picture["key"], f"{prefix}-description": picture["description"]}
        shown = {"kind": picture["kind"], "shows_title": project.shows_titles}
        row = Row(place, picture, PictureForm(given if data is None else data, prefix=prefix, **shown))
        if row.is_wanted:
            try:
                keys.take(row.form.cleaned_data["key"], place + 1)
            except Unusable as problem:
                row.form.add_error("key", str(problem))
        rows.append(row)
    return rows


class MediaWizard(Wizard[list[Row]]):
    kind = "images"
    template = "imports/pictures.html"

    def parse(self, upload: Upload, data: Mapping[str, Any]) -> list[Row]:
        return rows_of(self.project, upload, data if self.request.method == "POST" else None)

    def preview(self, upload: Upload, data: Mapping[str, Any]) -> HttpResponseBase:
        if "picture" in self.request.GET:
            return picture_file(self.request, upload, self.request.GET["picture"])
        return super().preview(upload, data)

    def context(self, upload: Upload, parsed: list[Row]) -> dict[str, Any]:
        return {
            "rows": parsed,
            "problems": [picture for picture in upload.details["pictures"] if picture["problem"]],
            "n_errors": sum(bool(row.form.errors) for row in parsed),
        }

    def store(self, upload: Upload, parsed: list[Row]) -> HttpResponseBase:
        wanted = [row for row in parsed if row.is_wanted]
        if not wanted or any(row.form.errors for row in parsed):
            raise UserError(_("Nothing was imported. Correct what is marked, or leave those files out."))
        n = import_rows(self.request.user, self.project, upload, wanted)
        messages.success(self.request, ngettext("%(n)d item is imported.", "%(n)d items are imported.", n) % {"n": n})
        return redirect("items", self.project.pk)


def import_rows(user: User, project: Project, upload: Upload, rows: Sequence[Row]) -> int:
    return import_media(
        project=project,
        actor=user,
        rows=[row.item(upload.details["context"]) for row in rows],
        files=opened_files(upload, [row.picture["file"] for row in rows]),
        upload=upload.id,
        source=upload.name,
        now=timezone.now(),
    )


def opened_files(upload: Upload, names: Sequence[str]) -> Iterator[tuple[str, File]]:
    """Yield the suffix and content of each, open while it is the one in turn."""
    for name in names:
        with upload.open(name) as content:
            yield name.rpartition(".")[2], content


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
