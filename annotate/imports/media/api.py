"""Items from files: images, sound and video, checked by what is in them and stored as the import page does."""

import secrets
from typing import Any
from uuid import UUID

from django.core.files.base import ContentFile
from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.response import Response

from annotate import access
from annotate.api.base import ApiRequest, ApiView, NoQuery, StrictSerializer, validated_data, validated_query
from annotate.api.problems import Unprocessable
from annotate.core import rate_limits
from annotate.files.limits import MAX_COMPETITOR, MAX_KEY, MAX_TEXT, MAX_TITLE, BadFile, Unusable
from annotate.imports.media.actions import import_media
from annotate.imports.media.files import Medium, longest_text, read_media
from annotate.items import queries
from annotate.items.rows import Keys, NewItem
from annotate.models import Project


class NewFile(StrictSerializer):
    file = serializers.FileField(
        allow_empty_file=True,  # which is told as what else can't be read
        help_text="PNG, JPEG, WebP, GIF; MP3, Ogg, WAV, FLAC, M4A; MP4, WebM.",
    )
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
    competitor = serializers.CharField(
        max_length=MAX_COMPETITOR,
        required=False,
        default="",
        allow_blank=True,
        help_text="Who or what made it, such as a model; never shown to annotators.",
    )


class FileAdded(serializers.Serializer):
    key = serializers.CharField()
    kind = serializers.CharField(help_text="image, audio or video, according to the content of the file.")


class ItemFiles(ApiView):
    parser_classes = [MultiPartParser]

    @extend_schema(operation_id="items_upload", request={"multipart/form-data": NewFile}, responses={201: FileAdded})
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Adds one file as an item. It takes no Idempotency-Key: the same item key is refused the second time."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        given = validated_data(NewFile(data=request.data))
        medium = medium_of(given["file"])
        picture, row = medium.picture, row_of(project, medium, given)
        import_media(
            project=project,
            actor=request.user,
            rows=[row],
            files=[(picture.suffix, picture.file or ContentFile(picture.content))],
            upload=f"api {secrets.token_hex(16)}",
            source=_("media files"),
            now=timezone.now(),
        )
        return Response({"key": row.key, "kind": row.kind}, status=201)


def medium_of(file: UploadedFile) -> Medium:
    """Raises Unprocessable for a file that can't be used."""
    try:
        [medium] = read_media([file])
    except BadFile as refusal:
        raise Unprocessable({"file": [str(refusal)]}) from None
    if medium.picture.problem:
        raise Unprocessable({"file": [medium.picture.problem]})
    return medium


def row_of(project: Project, medium: Medium, given: dict[str, Any]) -> NewItem:
    """Raises Unprocessable for a key or text that is missing, too long or taken."""
    picture = medium.picture
    text = validated("text", given["text"] or picture.description, longest_text(picture.kind))
    key = validated("key", given["key"] or picture.key, MAX_KEY)
    try:
        Keys(queries.keys(project), _("file")).take(key, 1)
    except Unusable as problem:
        raise Unprocessable({"key": [str(problem)]}) from None
    return NewItem(
        1, key, text, picture.kind, context=given["context"], title=given["title"], competitor=given["competitor"]
    )


def validated(field: str, value: str, longest: int) -> str:
    try:
        return str(serializers.CharField(max_length=longest).run_validation(value))
    except serializers.ValidationError as refusal:
        raise Unprocessable({field: refusal.detail}) from None
