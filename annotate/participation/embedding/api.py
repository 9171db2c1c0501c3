"""Embedding through the API: which sites may show the vote and the results, and the vote's address for frames."""

from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.base import ApiRequest, ApiView, NoQuery, StrictSerializer, validated_body, validated_query
from annotate.api.problems import Unprocessable
from annotate.models import Project
from annotate.participation.embedding.actions import set_sites
from annotate.participation.embedding.forms import MAX_SITES, check_origins
from annotate.participation.embedding.views import vote_address


class EmbeddingChange(StrictSerializer):
    origins = serializers.ListField(
        child=serializers.CharField(max_length=300),
        max_length=MAX_SITES,
        help_text="Sites whose pages may show the vote and the results, such as https://www.example.org.",
    )


class EmbeddingDetail(serializers.Serializer):
    origins = serializers.ListField(child=serializers.CharField())
    vote_address = serializers.URLField(help_text="The address to show in a frame; people join and answer there.")


def embedding_json(request: ApiRequest, project: Project) -> dict[str, Any]:
    values = {"origins": project.embed_origins, "vote_address": vote_address(request, project)}
    return dict(EmbeddingDetail(values).data)


class Embedding(ApiView):
    @extend_schema(operation_id="embedding_read", responses=EmbeddingDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns which sites may show the vote and the results in a frame."""
        validated_query(request, NoQuery)
        return Response(embedding_json(request, access.project_for(request, project_id, access.OWN)))

    @extend_schema(operation_id="embedding_update", request=EmbeddingChange, responses=EmbeddingDetail)
    def put(self, request: ApiRequest, project_id: UUID) -> Response:
        """Sets these sites; with an empty list, no site may."""
        project = access.project_for(request, project_id, access.OWN)
        validated_query(request, NoQuery)
        origins = [one.strip().lower() for one in validated_body(request, EmbeddingChange)["origins"]]
        try:
            check_origins(origins)
        except ValidationError as problem:
            raise Unprocessable({"origins": list(problem.messages)}) from problem
        set_sites(project=project, actor=request.user, origins=origins, now=timezone.now())
        project.refresh_from_db(fields=["embed_origins"])
        return Response(embedding_json(request, project))
