"""Moderates and releases comments on items, makes entry links, and serves what they show, through the API."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotate import access
from annotate.api.base import (
    ApiRequest,
    ApiView,
    FiniteFloatField,
    NoQuery,
    PageQuery,
    StrictSerializer,
    WholeSerializer,
    page_serializer,
    paginated_response,
    validated_body,
    validated_query,
)
from annotate.api.problems import Unprocessable
from annotate.core import rate_limits
from annotate.files.limits import MAX_KEY
from annotate.models import EntryLink, ItemComment, Project
from annotate.publishing.entries import actions
from annotate.publishing.entries.queries import comments_of, entry_of
from annotate.publishing.results_links.api import unlisted


class CommentRow(serializers.Serializer):
    id = serializers.IntegerField(source="pk")
    item = serializers.CharField(source="item.key", help_text="The item's key.")
    annotator = serializers.CharField(source="label.annotator.pseudonym")
    text = serializers.CharField()
    released_at = serializers.DateTimeField(allow_null=True)
    hidden_at = serializers.DateTimeField(allow_null=True, help_text="Entrants see no hidden comment, released or not.")


class CommentQuery(PageQuery):
    tag = serializers.CharField(required=False, default="", max_length=100, help_text="Only items with this tag.")


class CommentChange(WholeSerializer):
    hidden = serializers.BooleanField()


class NewRelease(StrictSerializer):
    released = serializers.BooleanField(help_text="true: release the comments there are now; false: withdraw them.")
    tag = serializers.CharField(required=False, default="", allow_blank=True, max_length=100)


class Released(serializers.Serializer):
    n_comments = serializers.IntegerField(help_text="Number of comments released or withdrawn.")


class EntryLinkRow(serializers.Serializer):
    id = serializers.UUIDField(source="pk")
    item = serializers.CharField(source="item.key")
    made_at = serializers.DateTimeField()
    revoked_at = serializers.DateTimeField(allow_null=True)
    url = serializers.SerializerMethodField(help_text="Address of the entry's page, a secret.")
    token = serializers.CharField(help_text="Token with which programs read the entry (entry_links_show).")

    def get_url(self, link: EntryLink) -> str:
        return str(reverse("entry-page", args=[link.token], request=self.context["request"]))


class NewEntryLinks(StrictSerializer):
    tag = serializers.CharField(required=False, default="", allow_blank=True, max_length=100)
    item = serializers.CharField(required=False, default="", max_length=MAX_KEY, help_text="Key of one item.")


class EntryLinksMade(serializers.Serializer):
    n_links = serializers.IntegerField(help_text="Number of links made; items that have one keep it.")


class EntryPlace(serializers.Serializer):
    rank = serializers.IntegerField()
    rank_low = serializers.IntegerField(help_text="Best place of the 90% interval.")
    rank_high = serializers.IntegerField()
    score = FiniteFloatField(allow_null=True)
    score_low = FiniteFloatField(allow_null=True)
    score_high = FiniteFloatField(allow_null=True)


class EntryPageDetail(serializers.Serializer):
    title = serializers.CharField()
    comments = serializers.ListField(child=serializers.CharField())
    place = EntryPlace(allow_null=True, help_text="Null if the owner does not show it or it is unknown.")
    n_items = serializers.IntegerField(help_text="Number of items ranked; 0 if places are not shown.")


def check_tag(project: Project, tag: str) -> str:
    if tag and not project.tags.filter(name=tag).exists():
        text = _("The project has no tag “%(track)s”. Give the name of a tag of its items, or leave it out.")
        raise Unprocessable({"tag": [text % {"track": tag}]})
    return tag


class Comments(ApiView):
    @extend_schema(operation_id="comments_list", parameters=[CommentQuery], responses=page_serializer(CommentRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the comments on items, by item; not those of void or practice answers."""
        project = access.project_for(request, project_id, access.MANAGE)
        query = validated_query(request, CommentQuery)
        found = comments_of(project, check_tag(project, query["tag"])).select_related("item", "label__annotator")
        rows = found.order_by("item__key", "pk")
        return paginated_response(request, rows, query, lambda page: list(CommentRow(page, many=True).data))


class CommentView(ApiView):
    @extend_schema(operation_id="comments_update", request=CommentChange, responses=CommentRow)
    def patch(self, request: ApiRequest, project_id: UUID, comment_id: int) -> Response:
        """Hides a comment from entrants, or no longer."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        hidden = validated_body(request, CommentChange)["hidden"]
        comment: ItemComment = get_object_or_404(
            comments_of(project).select_related("item__project", "label__annotator"), pk=comment_id
        )
        actions.set_hidden(comment=comment, actor=request.user, hidden=hidden, now=timezone.now())
        comment.refresh_from_db(fields=["hidden_at", "released_at"])
        return Response(CommentRow(comment).data)


class Release(ApiView):
    @extend_schema(operation_id="comments_release", request=NewRelease, responses=Released)
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Releases the comments there are now to entrants, of a tag or of all items, or withdraws them."""
        project = access.project_for(request, project_id, access.OWN)
        validated_query(request, NoQuery)
        given = validated_body(request, NewRelease)
        tag = check_tag(project, given["tag"])
        n = actions.set_released(
            project=project, actor=request.user, tag=tag, released=given["released"], now=timezone.now()
        )
        return Response({"n_comments": n})


class EntryLinks(ApiView):
    @extend_schema(operation_id="entry_links_list", parameters=[PageQuery], responses=page_serializer(EntryLinkRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the entry links, newest first, including revoked ones."""
        project = access.project_for(request, project_id, access.OWN)
        query = validated_query(request, PageQuery)
        links = project.entry_links.select_related("item").order_by("-made_at", "-pk")
        return paginated_response(request, links, query, lambda rows: link_json(request, rows))

    @extend_schema(operation_id="entry_links_create", request=NewEntryLinks, responses={201: EntryLinksMade})
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Makes a link for each active item of the tag, or of all, or for one item, that has none."""
        project = access.project_for(request, project_id, access.OWN)
        validated_query(request, NoQuery)
        given = validated_body(request, NewEntryLinks)
        item = get_object_or_404(project.items, key=given["item"]) if given["item"] else None
        n = actions.make_entry_links(
            project=project, actor=request.user, tag=check_tag(project, given["tag"]), item=item, now=timezone.now()
        )
        return Response({"n_links": n}, status=201)


def link_json(request: ApiRequest, links: list[EntryLink]) -> list[Any]:
    return list(EntryLinkRow(links, many=True, context={"request": request}).data)


class EntryLinkView(ApiView):
    @extend_schema(operation_id="entry_links_revoke", request=None, responses={204: None})
    def delete(self, request: ApiRequest, project_id: UUID, link_id: UUID) -> Response:
        """Revokes the link: it no longer works."""
        project = access.project_for(request, project_id, access.OWN, in_archive=True)
        validated_query(request, NoQuery)
        link = get_object_or_404(project.entry_links.select_related("project", "item"), pk=link_id)
        actions.revoke_entry_link(link=link, actor=request.user, now=timezone.now())
        return Response(status=204)


class Entry(ApiView):
    """By an entry link, without an account."""

    scope = None
    authentication_classes = []

    @extend_schema(operation_id="entry_links_show", responses=EntryPageDetail)
    def get(self, request: ApiRequest, token: str) -> Response:
        """Returns what an entry's page shows: its released comments without names, and its place if shown."""
        rate_limits.check_rate_limit(request, "results")
        validated_query(request, NoQuery)
        return unlisted(Response(EntryPageDetail(entry_of(access.entry_link(token))).data))
