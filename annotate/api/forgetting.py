"""Data protection: for how long annotators' data are kept, and one annotator's: taking them away, erasing them."""

from uuid import UUID

from django.http import HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.actions.erasure import BY_OWNER, erase_annotator
from annotate.actions.events import note_export
from annotate.actions.retention import change_retention
from annotate.api.base import ApiRequest, NoQuery, Strict, View, asked, sent
from annotate.api.problems import Unfit
from annotate.limits import limit
from annotate.models import LONGEST_RETENTION, Project, Retention
from annotate.pseudonyms import LONGEST
from annotate.retention import in_words, rule_of
from annotate.views.own_data import as_zip


class RetentionRule(Strict):
    days = serializers.IntegerField(
        min_value=0,
        max_value=LONGEST_RETENTION,
        allow_null=True,
        help_text="From closing; 0 keeps everything, null is what this site does.",
    )
    drops = serializers.ChoiceField(choices=Retention.Drops.choices, help_text="What is erased then.")


class RetentionDetail(serializers.Serializer):
    days = serializers.IntegerField(allow_null=True)
    drops = serializers.ChoiceField(choices=Retention.Drops.choices)
    promise = serializers.CharField(help_text="What annotators are told.")


def told(project: Project) -> Response:
    row = Retention.objects.filter(project=project).first() or Retention(project=project)
    values = {"days": row.days, "drops": row.drops, "promise": in_words(rule_of(project))}
    return Response(RetentionDetail(values).data)


class RetentionView(View):
    @extend_schema(operation_id="retention_read", responses=RetentionDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """For how long the project keeps its annotators' data."""
        project = access.project_for(request, project_id, access.MANAGE)
        asked(request, NoQuery)
        return told(project)

    @extend_schema(operation_id="retention_update", request=RetentionRule, responses=RetentionDetail)
    def put(self, request: ApiRequest, project_id: UUID) -> Response:
        """Changes that; annotators are told from now on."""
        project = access.project_for(request, project_id, access.MANAGE)
        asked(request, NoQuery)
        change_retention(project=project, actor=request.user, now=timezone.now(), **sent(request, RetentionRule))
        return told(project)


class Erasing(Strict):
    pseudonym = serializers.CharField(max_length=LONGEST, help_text="Theirs, so that nobody else is erased.")


class Erased(serializers.Serializer):
    n_labels = serializers.IntegerField(help_text="Labels that went with them.")


class EraseAnnotator(View):
    @extend_schema(operation_id="annotators_erase", request=Erasing, responses=Erased)
    def post(self, request: ApiRequest, project_id: UUID, key: UUID) -> Response:
        """Deletes an annotator, on their own request, with every label, for good; the next fit is made without."""
        project = access.project_for(request, project_id, access.OWN, in_archive=True)
        asked(request, NoQuery)
        annotator = get_object_or_404(project.annotators, key=key)
        if sent(request, Erasing)["pseudonym"] != annotator.pseudonym:
            raise Unfit({"pseudonym": [_("That is not the annotator's pseudonym. Nobody was erased.")]})
        n = erase_annotator(annotator=annotator, by=BY_OWNER, actor=request.user, now=timezone.now())
        return Response({"n_labels": n})


class AnnotatorData(View):
    @extend_schema(operation_id="annotators_data", responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def get(self, request: ApiRequest, project_id: UUID, key: UUID) -> StreamingHttpResponse:
        """All that is kept of an annotator, for when they ask for it: a .zip of tables. Their secret is left out."""
        project = access.project_for(request, project_id, access.OWN, in_archive=True)
        asked(request, NoQuery)
        annotator = get_object_or_404(project.annotators, key=key)
        limit(request, "export")
        now = timezone.now()
        note_export(project=project, actor=request.user, table="annotator's data", file_format="zip", now=now)
        plain: HttpRequest = request._request
        return as_zip(plain, project.annotators.filter(pk=annotator.pk), for_owner=True)
