"""Lists, adds and removes conflicts of interest through the API."""

from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.annotators.conflicts.actions import add_conflicts, remove_conflict
from annotate.annotators.conflicts.queries import people_by_name
from annotate.annotators.conflicts.table import COLUMNS, MAX_ROWS, check_conflicts
from annotate.api.base import (
    ApiRequest,
    ApiView,
    NoQuery,
    PageQuery,
    StrictSerializer,
    page_serializer,
    paginated_response,
    validated_body,
    validated_query,
)
from annotate.api.idempotency import HEADER, idempotent
from annotate.api.problems import Unprocessable
from annotate.core import rate_limits
from annotate.files.limits import MAX_KEY, MAX_TAG
from annotate.files.sheets import Sheet, SheetRow
from annotate.models import ConflictOfInterest
from annotate.participation.joining.pseudonyms import MAX_PSEUDONYM_LENGTH


class NeverShownRow(serializers.Serializer):
    id = serializers.IntegerField(source="pk")
    annotator = serializers.CharField(source="annotator.pseudonym")
    item = serializers.CharField(source="item.key", allow_null=True, default=None, help_text="An item's key.")
    tag = serializers.CharField(source="tag.name", allow_null=True, default=None, help_text="Or a tag of items.")
    declared_at = serializers.DateTimeField(
        allow_null=True, help_text="When the annotator said so themselves at a task; else null."
    )


class NewNever(StrictSerializer):
    annotator = serializers.CharField(
        max_length=MAX_PSEUDONYM_LENGTH, help_text="The pseudonym, or a name on the roster."
    )
    item = serializers.CharField(max_length=MAX_KEY, required=False, default="", allow_blank=True)
    tag = serializers.CharField(max_length=MAX_TAG, required=False, default="", allow_blank=True)


class NewNeverShownList(StrictSerializer):
    rows = serializers.ListField(child=NewNever(), min_length=1, max_length=MAX_ROWS)
    void = serializers.BooleanField(
        required=False, default=False, help_text="Whether to void the answers given before about these items."
    )


class NeverShownAdded(serializers.Serializer):
    n_rows = serializers.IntegerField(help_text="Number of rows added.")
    n_answers = serializers.IntegerField(help_text="Number of answers given before about these items that count on.")
    n_voided = serializers.IntegerField(help_text="Number of answers voided.")


class NeverShownList(ApiView):
    @extend_schema(operation_id="never_shown_list", parameters=[PageQuery], responses=page_serializer(NeverShownRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the conflicts of interest: which items and tags annotators are never shown."""
        project = access.project_for(request, project_id, access.MANAGE)
        query = validated_query(request, PageQuery)
        found = ConflictOfInterest.objects.filter(annotator__project=project).select_related("annotator", "item", "tag")
        return paginated_response(
            request,
            found.order_by("annotator__pseudonym", "pk"),
            query,
            lambda rows: list(NeverShownRow(rows, many=True).data),
        )

    @extend_schema(
        operation_id="never_shown_create",
        parameters=[HEADER],
        request=NewNeverShownList,
        responses={201: NeverShownAdded},
    )
    @idempotent
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Adds up to 5,000 conflicts, each with an item or a tag.

        If any row is wrong, nothing is added and errors are listed by row.
        """
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        given = validated_body(request, NewNeverShownList)
        rows = [SheetRow(place, [one[name] for name in COLUMNS]) for place, one in enumerate(given["rows"])]
        found, problems = check_conflicts(
            Sheet(COLUMNS, rows),
            people_by_name(project),
            dict(project.items.values_list("key", "pk")),
            dict(project.tags.values_list("name", "pk")),
        )
        if problems:
            raise Unprocessable({f"rows.{row.place}": [row.message] for row in problems})
        added = add_conflicts(project=project, actor=request.user, rows=found, now=timezone.now(), void=given["void"])
        return Response(NeverShownAdded(added).data, status=201)


class NeverShownView(ApiView):
    @extend_schema(operation_id="never_shown_delete", request=None, responses={204: None})
    def delete(self, request: ApiRequest, project_id: UUID, entry_id: int) -> Response:
        """Removes a conflict of interest: the annotator can be shown the item or tag again."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        entries = ConflictOfInterest.objects.select_related("annotator__project").filter(annotator__project=project)
        remove_conflict(entry=get_object_or_404(entries, pk=entry_id), actor=request.user, now=timezone.now())
        return Response(status=204)
