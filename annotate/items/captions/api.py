"""The captions of sound and video: reading, setting, taking away."""

from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import SAFE_METHODS
from rest_framework.response import Response

from annotate import access
from annotate.api.authentication import WRITE
from annotate.api.base import ApiRequest, ApiView, NoQuery, StrictSerializer, validated_body, validated_query
from annotate.api.problems import Unprocessable
from annotate.core import rate_limits
from annotate.files.limits import MAX_CAPTIONS_BYTES, Unusable
from annotate.items.actions import set_captions
from annotate.items.api import item_seen
from annotate.items.captions.webvtt import LANGUAGE, checked_text
from annotate.models import Captions, Item


class NewCaptions(StrictSerializer):
    text = serializers.CharField(
        max_length=MAX_CAPTIONS_BYTES,
        trim_whitespace=False,
        help_text="The content of a WebVTT file: what is said, and when.",
    )
    language = serializers.RegexField(
        rf"^{LANGUAGE.pattern}\Z", max_length=35, help_text="A language code, such as en, de or pt-BR."
    )


class CaptionsDetail(serializers.Serializer):
    text = serializers.CharField(help_text="WebVTT.")
    language = serializers.CharField(help_text="A language code, such as en or pt-BR.")


def recording(request: ApiRequest, project_id: UUID, item_id: int) -> Item:
    """Return a sound or video of a project that the asker manages."""
    project = access.project_for(request, project_id, access.MANAGE)
    validated_query(request, NoQuery)
    return get_object_or_404(project.items.select_related("project"), pk=item_id, kind__in=Item.RECORDINGS)


class ItemCaptions(ApiView):
    @property
    def scope(self) -> str | None:
        """Return annotators read them too, where access decides alone."""
        return None if self.request.method in SAFE_METHODS else WRITE

    @extend_schema(operation_id="items_captions", responses=CaptionsDetail)
    def get(self, request: ApiRequest, project_id: UUID, item_id: int) -> Response:
        """Returns the captions of an item, to members who see the project and annotators who have seen the item."""
        validated_query(request, NoQuery)
        item = item_seen(request, project_id, item_id)
        return Response(CaptionsDetail(get_object_or_404(Captions, item=item)).data)

    @extend_schema(operation_id="items_set_captions", request=NewCaptions, responses=CaptionsDetail)
    def put(self, request: ApiRequest, project_id: UUID, item_id: int) -> Response:
        """Sets or replaces the captions of a sound or video."""
        item = recording(request, project_id, item_id)
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        given = validated_body(request, NewCaptions)
        try:
            text = checked_text(given["text"])
        except Unusable as problem:
            raise Unprocessable({"text": [str(problem)]}) from problem
        set_captions(item=item, actor=request.user, text=text, language=given["language"], now=timezone.now())
        return Response({"text": text, "language": given["language"]})

    @extend_schema(operation_id="items_remove_captions", request=None, responses={204: None})
    def delete(self, request: ApiRequest, project_id: UUID, item_id: int) -> Response:
        """Removes the captions."""
        item = recording(request, project_id, item_id)
        set_captions(item=item, actor=request.user, text="", language="", now=timezone.now())
        return Response(status=204)
