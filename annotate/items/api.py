"""Items: the list with filters, adding many at once with an error for each row, retiring, tags, deleting."""

import json
import random
from typing import Any
from uuid import UUID, uuid4

from django.db.models import Prefetch
from django.http import Http404
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotAuthenticated
from rest_framework.response import Response
from rest_framework.reverse import reverse

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
from annotate.core.languages import is_language_tag
from annotate.core.sections import MAX_SECTIONS, sections_in
from annotate.files.column_guessing import SECTIONS, Columns
from annotate.files.limits import MAX_COMPETITOR, MAX_KEY, MAX_LINK, MAX_TAG, MAX_TAGS, MAX_TEXT, MAX_TITLE, Unusable
from annotate.files.sheets import Sheet, SheetRow
from annotate.items import actions
from annotate.items.media.delivery import send_media
from annotate.items.metadata import set_metadata
from annotate.items.queries import filtered, keys, lines
from annotate.items.rows import check
from annotate.items.translations import translate_all, translate_contexts
from annotate.models import Item, Project, Tag

MOST_AT_ONCE = 10_000
COLUMNS = ("text", "key", "title", "kind", "tags", "link", "context", "competitor")
RNG = random.SystemRandom()


class ItemQuery(PageQuery):
    q = serializers.CharField(
        required=False, default="", max_length=200, help_text="Text to search for in title, key and text."
    )
    state = serializers.ChoiceField(choices=["active", "retired"], required=False, default="")
    tag = serializers.CharField(required=False, default="", max_length=MAX_TAG)


class TranslatedItem(StrictSerializer):
    text = serializers.CharField(max_length=MAX_TEXT, required=False, default="", allow_blank=True)
    title = serializers.CharField(max_length=MAX_TITLE, required=False, default="", allow_blank=True)
    context = serializers.CharField(  # type: ignore[assignment]
        max_length=MAX_TEXT,
        required=False,
        allow_blank=True,
        help_text="Of its context, which all items of the same context share.",
    )


class TranslationsField(serializers.DictField):
    """Texts by language code."""

    child = TranslatedItem()

    def run_validation(self, data: Any = serializers.empty) -> Any:
        found = super().run_validation(data)
        if wrong := [language for language in found or {} if not is_language_tag(language)]:
            message = _("“%(language)s” is not a language code. Use codes such as fr or pt-BR.")
            raise serializers.ValidationError(message % {"language": wrong[0][:40]})
        return found


class ItemRow(serializers.Serializer):
    id = serializers.IntegerField(source="item.pk")
    key = serializers.CharField(
        source="item.key", help_text="Your own identifier for the item; never shown to annotators."
    )
    title = serializers.CharField(
        source="item.name",
        allow_blank=True,
        help_text="The item's name in results, if you gave one; never shown to annotators.",
    )
    kind = serializers.CharField(source="item.kind")
    text = serializers.CharField(source="item.body", help_text="For images, what they show; for sound, a transcript.")
    sections = serializers.ListField(
        child=serializers.DictField(),
        help_text="Of an item of several sections: each with kind, text and what else it has; files by their number.",
    )
    media = serializers.URLField(allow_null=True, help_text="Only for images, sound and video.")
    link = serializers.CharField(source="item.link", allow_blank=True)
    context = serializers.CharField(  # type: ignore[assignment]
        source="item.context.body", allow_null=True, default=None, help_text="What is shown above it, such as a prompt."
    )
    competitor = serializers.CharField(
        source="item.competitor",
        allow_blank=True,
        help_text="Who or what made it, such as a model; never shown to annotators.",
    )
    metadata = serializers.DictField(
        source="item.metadata", child=serializers.CharField(), help_text="What your own columns say of it, by name."
    )
    tags = serializers.ListField(child=serializers.CharField())
    translations = serializers.DictField(
        child=TranslatedItem(), help_text="Its text and title in further languages, by language code."
    )
    retired_at = serializers.DateTimeField(source="item.retired_at", allow_null=True)
    created_at = serializers.DateTimeField(source="item.created_at")
    n_labels = serializers.IntegerField(help_text="Number of answers in which it was shown, without voided ones.")


class NewItem(StrictSerializer):
    text = serializers.CharField(max_length=MAX_TEXT, required=False, default="", allow_blank=True)
    key = serializers.CharField(max_length=MAX_KEY, required=False, default="", allow_blank=True)
    title = serializers.CharField(
        max_length=MAX_TITLE,
        required=False,
        default="",
        allow_blank=True,
        help_text="The item's name in results, such as a pupil's name; if left out, its first words. Never shown "
        "to annotators.",
    )
    kind = serializers.ChoiceField(
        choices=["text", "markdown", "html", "chat", "link", "sections"], required=False, default="text"
    )
    sections = serializers.ListField(
        child=serializers.DictField(),
        required=False,
        default=list,
        max_length=MAX_SECTIONS,
        help_text="In place of `text`: several sections, shown one below the other. Each has a `kind` (text, markdown, "
        "html, code, chat or link) and a `text` or `link`; perhaps a `heading`, and of code its `language`.",
    )
    link = serializers.CharField(
        max_length=MAX_LINK,
        required=False,
        default="",
        allow_blank=True,
        help_text="The address, for items of the kind `link`.",
    )
    context = serializers.CharField(  # type: ignore[assignment]
        max_length=MAX_TEXT,
        required=False,
        default="",
        allow_blank=True,
        help_text="Shown above the item, such as a prompt; only items with the same context are compared.",
    )
    competitor = serializers.CharField(
        max_length=MAX_COMPETITOR,
        required=False,
        default="",
        allow_blank=True,
        help_text="Who or what made it, such as a model: the leaderboard ranks them. Never shown to annotators.",
    )
    tags = serializers.ListField(
        child=serializers.CharField(max_length=MAX_TAG), max_length=MAX_TAGS, required=False, default=list
    )
    metadata = serializers.DictField(
        child=serializers.CharField(allow_blank=True),
        required=False,
        default=dict,
        help_text="Values by name; annotators see those that the project's `shown_metadata` names.",
    )
    translations = TranslationsField(
        required=False, default=dict, help_text="Its text and title in further languages, by language code."
    )


class NewItems(StrictSerializer):
    items = serializers.ListField(child=NewItem(), min_length=1, max_length=MOST_AT_ONCE)


class Added(serializers.Serializer):
    n_items = serializers.IntegerField()
    keys = serializers.ListField(
        child=serializers.CharField(), help_text="The keys in the order sent; items without a key get a new one."
    )


class ItemChange(StrictSerializer):
    title = serializers.CharField(
        max_length=MAX_TITLE,
        required=False,
        allow_blank=True,
        help_text="If empty, results show the item's first words.",
    )
    competitor = serializers.CharField(
        max_length=MAX_COMPETITOR, required=False, allow_blank=True, help_text="If empty, nobody is named."
    )
    retired = serializers.BooleanField(required=False)
    tags = serializers.ListField(child=serializers.CharField(max_length=MAX_TAG), max_length=MAX_TAGS, required=False)
    metadata = serializers.DictField(
        child=serializers.CharField(allow_blank=True), required=False, help_text="Replaces all its metadata."
    )
    translations = TranslationsField(
        required=False,
        help_text="Replaces text and title in the languages that are sent; two empty ones remove them. "
        "The context alone may be sent.",
    )


def represented(request: ApiRequest, project: Project, items: list[Item]) -> list[Any]:
    rows = lines(items)
    for row in rows:
        address = reverse("api-item-media", args=[project.pk, row.item.pk], request=request)
        row.__dict__["sections"] = sections_json(row.item)
        row.__dict__["media"] = address if row.item.media else None
        row.__dict__["translations"] = {
            one.language: {"text": one.body, "title": one.name} for one in row.item.translations.all()
        }
        for one in row.item.context.translations.all() if row.item.context else ():
            texts = row.__dict__["translations"].setdefault(one.language, {"text": "", "title": ""})
            texts["context"] = one.body
    return list(ItemRow(rows, many=True).data)


def sections_json(item: Item) -> list[dict[str, Any]]:
    found = sections_in(item.body) if item.kind == Item.Kind.SECTIONS else []
    return [{name: value for name, value in one._asdict().items() if value} for one in found]


def cells_of(row: dict[str, Any]) -> list[Any]:
    """Return the values of COLUMNS, and sections and metadata in JSON."""
    return [
        *(row[name] for name in COLUMNS),
        *(json.dumps(row[name], ensure_ascii=False) if row[name] else "" for name in ("sections", "metadata")),
    ]


def with_tags(project: Project) -> Any:
    return (
        project.items.order_by("pk")
        .select_related("context")
        .prefetch_related(Prefetch("tags", Tag.objects.order_by("name")), "translations", "context__translations")
    )


def translations_of(row: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
    texts = row["translations"].items()
    return tuple(
        (language, one["text"], " ".join(one["title"].split()), one.get("context", "")) for language, one in texts
    )


def check_translated_into(project: Project, language: str) -> None:
    """Raises Unprocessable where the project does not have this further language."""
    if language not in project.languages:
        message = _("The project is not translated into “%(language)s”. Add the language first.")
        raise Unprocessable({"translations": [message % {"language": language}]})


class Items(ApiView):
    @extend_schema(operation_id="items_list", parameters=[ItemQuery], responses=page_serializer(ItemRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the items in the order added."""
        project = access.project_for(request, project_id, access.SEE)
        query = validated_query(request, ItemQuery)
        found = filtered(with_tags(project), query["q"], query["state"], query["tag"])
        return paginated_response(request, found, query, lambda items: represented(request, project, items))

    @extend_schema(operation_id="items_create", parameters=[HEADER], request=NewItems, responses={201: Added})
    @idempotent
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Adds up to 10,000 items: all of them, or none and an error for each invalid row."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        given = validated_body(request, NewItems)["items"]
        sheet = Sheet(list(COLUMNS), [SheetRow(place, cells_of(row)) for place, row in enumerate(given)])
        places: dict[str, Any] = {name: place for place, name in enumerate(COLUMNS)}
        columns = Columns(**places, sections=((len(COLUMNS), SECTIONS),), metadata=((len(COLUMNS) + 1, ""),))
        found = check(sheet, columns, kind=Item.Kind.TEXT, keys=keys(project), known_text=lambda text: False)
        if found.errors:
            raise Unprocessable({f"items.{place}": [message] for place, message in found.errors})
        rows = [item._replace(translations=translations_of(given[item.place])) for item in found.items]
        n = actions.import_items(
            project=project,
            actor=request.user,
            rows=rows,
            upload=str(uuid4()),
            source="API",
            now=timezone.now(),
            rng=RNG,
        )
        return Response({"n_items": n, "keys": [item.key for item in found.items]}, status=201)


class ItemView(ApiView):
    @extend_schema(operation_id="items_read", responses=ItemRow)
    def get(self, request: ApiRequest, project_id: UUID, item_id: int) -> Response:
        """Returns one item."""
        project = access.project_for(request, project_id, access.SEE)
        validated_query(request, NoQuery)
        return Response(represented(request, project, [get_object_or_404(with_tags(project), pk=item_id)])[0])

    @extend_schema(operation_id="items_update", request=ItemChange, responses=ItemRow)
    def patch(self, request: ApiRequest, project_id: UUID, item_id: int) -> Response:
        """Retires the item or restores it; replaces its title, competitor, metadata, tags or translations.

        Its own text can't be changed.
        """
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        item = get_object_or_404(project.items.select_related("project"), pk=item_id)
        change, now = validated_body(request, ItemChange), timezone.now()
        if "title" in change:
            actions.set_title(item=item, actor=request.user, title=change["title"], now=now)
        if "competitor" in change:
            actions.set_competitor(item=item, actor=request.user, name=change["competitor"], now=now)
        if "metadata" in change:
            try:
                set_metadata(item=item, actor=request.user, metadata=change["metadata"], now=now)
            except Unusable as problem:
                raise Unprocessable({"metadata": [str(problem)]}) from problem
        if "tags" in change:
            actions.set_tags(item=item, actor=request.user, names=change["tags"], now=now)
        for language, texts in change.get("translations", {}).items():
            check_translated_into(project, language)
            given: dict[str, Any] = {"project": project, "actor": request.user, "language": language, "now": now}
            if texts["text"] or texts["title"] or "context" not in texts:
                translate_all(**given, texts={item.pk: (texts["text"], " ".join(texts["title"].split()))})
            if item.context_id and "context" in texts:
                translate_contexts(**given, texts={item.context_id: texts["context"]})
        if "retired" in change:
            act = actions.retire_item if change["retired"] else actions.bring_back_item
            act(item=item, actor=request.user, now=now)
        return Response(represented(request, project, [with_tags(project).get(pk=item_id)])[0])

    @extend_schema(operation_id="items_delete", request=None, responses={204: None})
    def delete(self, request: ApiRequest, project_id: UUID, item_id: int) -> Response:
        """Deletes an item that has never been shown; retire others instead."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        item = get_object_or_404(project.items.select_related("project"), pk=item_id)
        actions.delete_item(item=item, actor=request.user, now=timezone.now())
        return Response(status=204)


def item_seen(request: ApiRequest, project_id: UUID, item_id: int) -> Item:
    """Return an item, for those who see the project and annotators to whom it has been shown. Strangers have to say who
    they are, whether it is there or not: a browser's session may be all that an annotator has."""
    try:
        item = access.item_for(request, item_id)
    except Http404:
        if request.auth is None and not request.user.is_authenticated:
            raise NotAuthenticated from None
        raise
    if item.project_id != project_id:
        raise Http404
    return item


class ItemMedia(ApiView):
    scope = None  # annotators see it too, so access decides alone

    @extend_schema(operation_id="items_media", responses={(200, "*/*"): OpenApiTypes.BINARY})
    def get(self, request: ApiRequest, project_id: UUID, item_id: int) -> HttpResponseBase:
        """Returns the file of an item, to members who see the project and annotators who have seen the item."""
        validated_query(request, NoQuery)
        return send_media(request, item_seen(request, project_id, item_id))


class ItemPageView(ApiView):
    scope = None  # as for ItemMedia

    @extend_schema(operation_id="items_page", responses={(200, "*/*"): OpenApiTypes.BINARY})
    def get(self, request: ApiRequest, project_id: UUID, item_id: int, number: int) -> HttpResponseBase:
        """Returns one page of a document, to those who may have its file."""
        validated_query(request, NoQuery)
        return send_media(request, item_seen(request, project_id, item_id), number)
