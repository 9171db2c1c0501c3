"""Adds ideas as an annotator, lists and decides them as a manager, through the API."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.authentication import ANNOTATE
from annotate.api.base import (
    ApiRequest,
    ApiView,
    FiniteFloatField,
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
from annotate.files.limits import MAX_KEY
from annotate.ideas import actions
from annotate.ideas.forms import MAX_AT_ONCE
from annotate.ideas.own_views import check_rates
from annotate.ideas.queries import ideas_in, own_ideas, similar_items
from annotate.ideas.rules import check_can_add, clean_idea
from annotate.labelling.api import annotator_or_404
from annotate.labelling.navigation import RNG
from annotate.models import MAX_REASON_LENGTH, Idea, Item
from annotate.models.participant_settings import MAX_IDEA_LENGTH


class OwnIdeaRow(serializers.Serializer):
    id = serializers.IntegerField(source="pk")
    text = serializers.CharField()
    state = serializers.ChoiceField(choices=Idea.State.choices)
    same_as = serializers.CharField(
        allow_null=True, source="same_text", help_text="The text of the item that it was merged into."
    )
    reason = serializers.CharField(allow_blank=True, help_text="Why it was refused.")
    created_at = serializers.DateTimeField()
    decided_at = serializers.DateTimeField(allow_null=True)


class IdeaDetail(serializers.Serializer):
    id = serializers.IntegerField(source="pk")
    text = serializers.CharField(allow_blank=True, help_text="As its author wrote it; empty once they were erased.")
    state = serializers.ChoiceField(choices=Idea.State.choices)
    annotator = serializers.CharField(source="annotator.pseudonym", allow_null=True, default=None)
    item = serializers.CharField(
        source="item.key", allow_null=True, default=None, help_text="The key of the item made of it, or merged into."
    )
    reason = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    decided_at = serializers.DateTimeField(allow_null=True)


class NewIdea(StrictSerializer):
    text = serializers.CharField(max_length=MAX_IDEA_LENGTH, help_text="Plain text, on one line.")


class SimilarRow(serializers.Serializer):
    text = serializers.CharField(source="item.body")
    similarity = FiniteFloatField(help_text="0 to 1.")


class IdeaQuery(PageQuery):
    state = serializers.ChoiceField(choices=Idea.State.choices, required=False, default="")


class Approval(StrictSerializer):
    text = serializers.CharField(
        max_length=MAX_IDEA_LENGTH,
        required=False,
        allow_null=True,
        default=None,
        help_text="The item's text, if it is to differ from the idea's.",
    )


class Approvals(StrictSerializer):
    ideas = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1), min_length=1, max_length=MAX_AT_ONCE
    )


class Approved(serializers.Serializer):
    keys = serializers.ListField(
        child=serializers.CharField(), help_text="Of the new items; ideas decided before are left out."
    )


class Merging(StrictSerializer):
    item = serializers.CharField(max_length=MAX_KEY, help_text="The key of the item that says the same.")


class Refusal(StrictSerializer):
    reason = serializers.CharField(max_length=MAX_REASON_LENGTH, help_text="Its author reads it.")


def own_json(ideas: list[Idea]) -> list[Any]:
    for idea in ideas:
        merged = idea.state == Idea.State.MERGED and idea.item
        idea.same_text = idea.item.body if merged else None  # type: ignore[attr-defined, union-attr]
    return list(OwnIdeaRow(ideas, many=True).data)


class OwnIdeas(ApiView):
    scope = ANNOTATE

    @extend_schema(operation_id="annotating_list_ideas", responses=OwnIdeaRow(many=True))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists your own ideas, latest first, with what became of each."""
        annotator = annotator_or_404(request, project_id)
        validated_query(request, NoQuery)
        return Response(own_json(list(own_ideas(annotator))))

    @extend_schema(operation_id="annotating_add_idea", request=NewIdea, responses={201: OwnIdeaRow})
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Adds an idea, where the project takes some. The same text sent again is the same idea."""
        annotator = annotator_or_404(request, project_id)
        validated_query(request, NoQuery)
        text = validated_body(request, NewIdea)["text"]
        now = timezone.now()
        check_can_add(annotator, now)
        check_rates(request, annotator)
        idea = actions.submit_idea(annotator=annotator, text=text, now=now, rng=RNG)
        return Response(own_json([idea])[0], status=201)


class SimilarItems(ApiView):
    scope = ANNOTATE

    @extend_schema(operation_id="annotating_find_similar", request=NewIdea, responses=SimilarRow(many=True))
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns up to three items that say something similar, to show before an idea is sent."""
        annotator = annotator_or_404(request, project_id)
        validated_query(request, NoQuery)
        text = validated_body(request, NewIdea)["text"]
        check_can_add(annotator, timezone.now())
        check_rates(request, annotator)
        found = similar_items(annotator, clean_idea(text, MAX_IDEA_LENGTH))
        return Response(SimilarRow(found, many=True).data)


class Ideas(ApiView):
    @extend_schema(operation_id="ideas_list", parameters=[IdeaQuery], responses=page_serializer(IdeaDetail))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists ideas of annotators: those that wait in the order they came, others latest first."""
        project = access.project_for(request, project_id, access.MANAGE)
        query = validated_query(request, IdeaQuery)
        found = ideas_in(project, query["state"])
        return paginated_response(request, found, query, lambda rows: list(IdeaDetail(rows, many=True).data))

    @extend_schema(operation_id="ideas_approve_many", parameters=[HEADER], request=Approvals, responses=Approved)
    @idempotent
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Approves several ideas as they are written."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        ideas = validated_body(request, Approvals)["ideas"]
        made = actions.approve_ideas(project=project, actor=request.user, ideas=ideas, now=timezone.now(), rng=RNG)
        return Response({"keys": [item.key for item in made]})


class IdeaView(ApiView):
    """One idea that waits."""

    def idea(self, request: ApiRequest, project_id: UUID, idea_id: int) -> Idea:
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        return get_object_or_404(Idea.objects.select_related("project", "annotator"), pk=idea_id, project=project)

    def detail(self, idea: Idea) -> Response:
        found = Idea.objects.select_related("annotator", "item").get(pk=idea.pk)
        return Response(IdeaDetail(found).data)


class ApproveIdea(IdeaView):
    @extend_schema(operation_id="ideas_approve", request=Approval, responses=IdeaDetail)
    def post(self, request: ApiRequest, project_id: UUID, idea_id: int) -> Response:
        """Makes an item of the idea, with the tag `idea`; in other words if you send some."""
        idea = self.idea(request, project_id, idea_id)
        text = validated_body(request, Approval)["text"]
        actions.approve_idea(idea=idea, actor=request.user, text=text, now=timezone.now(), rng=RNG)
        return self.detail(idea)


class MergeIdea(IdeaView):
    @extend_schema(operation_id="ideas_merge", request=Merging, responses=IdeaDetail)
    def post(self, request: ApiRequest, project_id: UUID, idea_id: int) -> Response:
        """Says that an item says the same already; nothing is added."""
        idea = self.idea(request, project_id, idea_id)
        key = validated_body(request, Merging)["item"]
        item = Item.objects.filter(project=idea.project, key=key).first()
        if item is None:
            raise Unprocessable({"item": [_("No item has the key “%(key)s”.") % {"key": key}]})
        actions.merge_idea(idea=idea, actor=request.user, item=item, now=timezone.now())
        return self.detail(idea)


class RefuseIdea(IdeaView):
    @extend_schema(operation_id="ideas_refuse", request=Refusal, responses=IdeaDetail)
    def post(self, request: ApiRequest, project_id: UUID, idea_id: int) -> Response:
        """Refuses the idea, with a reason that its author reads."""
        idea = self.idea(request, project_id, idea_id)
        reason = validated_body(request, Refusal)["reason"]
        actions.refuse_idea(idea=idea, actor=request.user, reason=reason, now=timezone.now())
        return self.detail(idea)
