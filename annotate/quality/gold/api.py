"""Sets with a known right answer: the list, adding many at once with an error for each, taking one away."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
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
from annotate.files.limits import MAX_KEY
from annotate.files.sheets import Sheet, SheetRow
from annotate.models import MAX_ITEMS_SHOWN, GoldSet, Label, Project
from annotate.quality.gold.actions import add_gold_sets, remove_gold_set
from annotate.quality.gold.queries import gold_rows
from annotate.quality.gold.table import MAX_ROWS, MAX_WHY_LENGTH, PURPOSES, columns_of, parse_sheet


class KnownQuery(PageQuery):
    purpose = serializers.ChoiceField(choices=list(PURPOSES), required=False)


class KnownRow(serializers.Serializer):
    id = serializers.IntegerField(source="known.pk")
    purpose = serializers.ChoiceField(source="known.purpose", choices=list(PURPOSES))
    items = serializers.ListField(child=serializers.CharField(), help_text="The keys of the items.")
    outcome = serializers.ChoiceField(source="known.outcome", choices=Label.Outcome.choices)
    named = serializers.ListField(
        child=serializers.CharField(), help_text="Keys of the items that the right answer names, in order."
    )
    shared = serializers.ListField(
        source="known.shared",
        child=serializers.IntegerField(),
        help_text="Which entries of `named`, from 0, share the place of the entry before.",
    )
    why = serializers.CharField(source="known.why", allow_blank=True)
    n_labels = serializers.IntegerField(
        help_text="Number of answers to it that are not voided, among the latest 20,000."
    )
    n_right = serializers.IntegerField(help_text="Number of these that are right.")


class NewKnown(StrictSerializer):
    purpose = serializers.ChoiceField(choices=list(PURPOSES))
    items = serializers.ListField(
        child=serializers.CharField(max_length=MAX_KEY),
        min_length=2,
        max_length=MAX_ITEMS_SHOWN,
        help_text="Keys of different items, exactly as many as a task shows.",
    )
    answer = serializers.CharField(
        max_length=(MAX_KEY + 3) * MAX_ITEMS_SHOWN,
        help_text="A key; several keys separated by “>”, best first, or by “=” where they share a place and the "
        "project allows it; or another allowed outcome, such as tie.",
    )
    why = serializers.CharField(max_length=MAX_WHY_LENGTH, required=False, default="", allow_blank=True)


class NewKnownSets(StrictSerializer):
    sets = serializers.ListField(child=NewKnown(), min_length=1, max_length=MAX_ROWS)
    only_for_checks = serializers.BooleanField(
        required=False, default=False, help_text="Whether to retire the items, so that ordinary tasks don't show them."
    )


class KnownAdded(serializers.Serializer):
    n_sets = serializers.IntegerField()


def gold_set_json(sets: list[GoldSet]) -> list[Any]:
    lines = gold_rows(sets)
    for line in lines:
        keys = {item.pk: item.key for item in line.items}
        line.__dict__["named"] = [keys[item] for item in line.known.named if item in keys]
        line.__dict__["items"] = list(keys.values())
    return list(KnownRow(lines, many=True).data)


class KnownSets(ApiView):
    @extend_schema(operation_id="known_sets_list", parameters=[KnownQuery], responses=page_serializer(KnownRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the sets for practice, gold questions and attention checks, and how often each was answered right."""
        project = access.project_for(request, project_id, access.MANAGE)
        query = validated_query(request, KnownQuery)
        sets = project.known_sets.filter(retired_at=None).order_by("purpose", "pk").prefetch_related("items")
        if "purpose" in query:
            sets = sets.filter(purpose=query["purpose"])
        return paginated_response(request, sets, query, gold_set_json)

    @extend_schema(
        operation_id="known_sets_create", parameters=[HEADER], request=NewKnownSets, responses={201: KnownAdded}
    )
    @idempotent
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Adds up to 1,000 sets: all of them, or none and the errors. A set that exists for the purpose is replaced."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        given = validated_body(request, NewKnownSets)
        rows = [
            SheetRow(place, [one["purpose"], *pad_keys(one["items"], project.k), one["answer"], one["why"]], problem)
            for place, one in enumerate(given["sets"])
            for problem in [wrong_number_error(one["items"], project)]
        ]
        found, problems = parse_sheet(
            project, Sheet(columns_of(project), rows), dict(project.items.values_list("key", "pk"))
        )
        if problems:
            raise Unprocessable({f"sets.{row.place}": [row.message] for row in problems})
        n = add_gold_sets(
            project=project,
            actor=request.user,
            rows=found,
            only_for_checks=given["only_for_checks"],
            now=timezone.now(),
        )
        return Response({"n_sets": n}, status=201)


def pad_keys(keys: list[str], k: int) -> list[str]:
    return (keys + [""] * k)[:k]


def wrong_number_error(keys: list[str], project: Project) -> str:
    if len(keys) == project.k:
        return ""
    return _("The set has %(n)d items; tasks of this project show %(k)d.") % {"n": len(keys), "k": project.k}


class KnownSetView(ApiView):
    @extend_schema(operation_id="known_sets_delete", request=None, responses={204: None})
    def delete(self, request: ApiRequest, project_id: UUID, known_id: int) -> Response:
        """Removes the set, so that it is no longer shown for its purpose. Answers to it stay."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        known = get_object_or_404(project.known_sets.select_related("project"), pk=known_id)
        remove_gold_set(known=known, actor=request.user, now=timezone.now())
        return Response(status=204)
