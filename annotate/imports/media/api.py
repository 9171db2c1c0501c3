"""Items from files: images, sound and video, checked by what is in them and stored as the import page does."""

from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.response import Response

from annotate import access
from annotate.api.base import ApiRequest, NoQuery, Strict, View, asked, checked
from annotate.api.problems import Unfit
from annotate.core import rate_limits
from annotate.files.limits import MAX_KEY, MAX_TEXT, MAX_TITLE, BadFile
from annotate.imports import uploads
from annotate.imports.media.views import Row, import_rows, keep, rows_of
from annotate.imports.uploads import Upload
from annotate.models import Project


class NewFile(Strict):
    file = serializers.FileField(help_text="PNG, JPEG, WebP, GIF; MP3, Ogg, WAV, FLAC, M4A; MP4, WebM.")
    key = serializers.CharField(
        max_length=MAX_KEY, required=False, default="", allow_blank=True, help_text="If left out, the file's name."
    )
    title = serializers.CharField(
        max_length=MAX_TITLE,
        required=False,
        default="",
        allow_blank=True,
        help_text="The item's name in results; never shown to annotators.",
    )
    text = serializers.CharField(
        max_length=MAX_TEXT,
        required=False,
        default="",
        allow_blank=True,
        help_text="What an image shows, or the transcript of a recording. If left out, the file's name.",
    )
    context = serializers.CharField(  # type: ignore[assignment]
        max_length=MAX_TEXT,
        required=False,
        default="",
        allow_blank=True,
        help_text="Shown above the item; only items with the same context are compared.",
    )


class FileAdded(serializers.Serializer):
    key = serializers.CharField()
    kind = serializers.CharField(help_text="image, audio or video, according to the content of the file.")


class ItemFiles(View):
    parser_classes = [MultiPartParser]

    @extend_schema(operation_id="items_upload", request={"multipart/form-data": NewFile}, responses={201: FileAdded})
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Adds one file as an item. It takes no Idempotency-Key: the same item key is refused the second time."""
        project = access.project_for(request, project_id, access.MANAGE)
        asked(request, NoQuery)
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        given = checked(NewFile(data=request.data))
        upload = kept(request, project, given["file"], given["context"])
        try:
            return added(request, project, upload, given)
        finally:
            uploads.discard(upload.id)


def kept(request: ApiRequest, project: Project, file: UploadedFile, context: str) -> Upload:
    try:
        return keep(request.user, project, [file], context)
    except BadFile as refusal:
        raise Unfit({"file": [str(refusal)]}) from None


def added(request: ApiRequest, project: Project, upload: Upload, given: dict[str, Any]) -> Response:
    [picture] = upload.details["pictures"]
    if picture["problem"]:
        raise Unfit({"file": [picture["problem"]]})
    data = {
        "0-key": given["key"] or picture["key"],
        "0-title": given["title"],
        "0-description": given["text"] or picture["description"],
    }
    rows: list[Row] = rows_of(project, upload, data)
    errors = {name: [str(text) for text in texts] for name, texts in rows[0].form.errors.items()}
    if errors:
        raise Unfit({"text" if name == "description" else name: texts for name, texts in errors.items()})
    import_rows(request.user, project, upload, rows)
    return Response({"key": rows[0].form.cleaned_data["key"], "kind": picture["kind"]}, status=201)
