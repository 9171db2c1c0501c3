"""Shares what every API view needs: strict input, pages of rows in a fixed order, numbers that JSON can hold."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from django.core.paginator import EmptyPage, Page, Paginator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.extensions import OpenApiSerializerExtension
from rest_framework import serializers
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from annotate.api import problems
from annotate.api.authentication import AnnotatorAuthentication, HasScope, TokenAuthentication
from annotate.api.renderers import Parser, Renderer
from annotate.api.throttling import ApiThrottle
from annotate.core.stored_messages import render_message
from annotate.criteria import Criterion, n_criteria
from annotate.models import MAX_CRITERIA, Project, User

DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE = 100, 1000
JSON_TYPES = [
    (serializers.CharField, (str,), gettext_lazy("Give a text, in quotation marks.")),
    (serializers.IntegerField, (int,), gettext_lazy("Give a whole number, without quotation marks.")),
    (serializers.FloatField, (int, float), gettext_lazy("Give a number, without quotation marks.")),
    (serializers.BooleanField, (bool,), gettext_lazy("Give true or false, without quotation marks.")),
]


class ApiRequest(Request):
    """Tells type checkers that the user is an account wherever a role or scope is required."""

    user: User
    auth: Any


class ApiView(APIView):
    authentication_classes = [TokenAuthentication, AnnotatorAuthentication, SessionAuthentication]
    permission_classes = [HasScope]
    throttle_classes = [ApiThrottle]
    parser_classes = [Parser]
    renderer_classes = [Renderer]

    def get_exception_handler(self) -> Any:
        return problems.handle_exception


class FiniteFloatField(serializers.FloatField):
    """A number, or null where there is none: JSON has neither NaN nor infinity."""

    def to_representation(self, value: Any) -> float | None:  # type: ignore[override]
        number = float(value)
        return number if math.isfinite(number) else None


class StoredMessageField(serializers.CharField):
    """A message stored by a worker, in the language of the request."""

    def to_representation(self, value: str) -> str:
        return render_message(value)


# So many unknown names are told; a body may hold a hundred thousand.
MAX_UNKNOWN = 10
MAX_CHOICES_NAMED = 30


class StrictSerializer(serializers.Serializer):
    """Refuses unknown fields: a mistyped filter that is ignored gives wrong figures. A refused choice names those
    there are."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        for field in fields.values():
            for one in (field, getattr(field, "child", None)):
                if isinstance(one, serializers.ChoiceField) and len(one.choices) <= MAX_CHOICES_NAMED:
                    text = _("“%(value)s” is not possible here. Use one of: %(names)s.")
                    names = ", ".join(str(choice) for choice in one.choices if choice != "")
                    one.error_messages["invalid_choice"] = text % {"value": "{input}", "names": names}
        return fields

    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, dict) else []
        if unknown:
            message = _("Unknown name. Use one of: %(names)s.") % {"names": ", ".join(self.fields) or "-"}
            raise ValidationError({str(name)[:50]: [message] for name in unknown[:MAX_UNKNOWN]})
        if self.context.get("from_json"):
            self.check_types(data)
        return super().to_internal_value(data)

    def check_types(self, data: Any) -> None:
        """Refuses a text for a number and a number for a text in JSON; in an address they look alike."""
        wrong = {}
        for name, field in self.fields.items():
            value = data.get(name) if isinstance(data, dict) else None
            for kind, types, message in JSON_TYPES:
                if isinstance(field, kind) and value is not None and type(value) not in types:
                    wrong[name] = [message]
                elif isinstance(value, list) and isinstance(getattr(field, "child", None), kind):
                    bad = [place for place, one in enumerate(value) if type(one) not in types]
                    wrong |= {f"{name}.{place}": [message] for place in bad}
        if wrong:
            raise ValidationError(wrong)


class WholeSerializer(StrictSerializer):
    """A body whose required fields may not be left out, in a PATCH either."""

    @property
    def partial(self) -> bool:
        return False

    @partial.setter
    def partial(self, value: bool) -> None:
        """Keep it: the OpenAPI document would make every PATCH partial."""


class StrictSerializerExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Declares `additionalProperties: false` in the OpenAPI document."""

    target_class = "annotate.api.base.StrictSerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        made: dict[str, Any] = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        if direction != "request":
            return made
        for field in made.get("properties", {}).values():
            forbid_nul(field)
            forbid_nul(field.get("items", {}))
        return made | {"additionalProperties": False}


def forbid_nul(field: dict[str, Any]) -> None:
    """Add a pattern to a free text: no NUL, which databases do not store, and not only blanks where it is required."""
    if field.get("type") == "string" and not {"format", "enum", "pattern"} & field.keys():
        field["pattern"] = r"^[^\x00]*[^\s\x00\x1c-\x1f\x85][^\x00]*$" if field.get("minLength") else r"^[^\x00]*$"


class PageQuery(StrictSerializer):
    page = serializers.IntegerField(required=False, default=1, min_value=1, max_value=10**9)
    page_size = serializers.IntegerField(
        required=False, default=DEFAULT_PAGE_SIZE, min_value=1, max_value=MAX_PAGE_SIZE
    )


class CriterionQuery(StrictSerializer):
    """Query of an address about one criterion."""

    criterion = serializers.IntegerField(
        required=False,
        default=1,
        min_value=1,
        max_value=MAX_CRITERIA,
        help_text="Number of the criterion, in a project with several criteria.",
    )


def validated_criterion(project: Project, query: dict[str, Any]) -> Criterion:
    """Return the project's criterion with the number in the query; raises Unprocessable."""
    if query["criterion"] > n_criteria(project):
        text = _("There is no criterion %(value)d; the project has %(n)d.")
        raise problems.Unprocessable({"criterion": [text % {"value": query["criterion"], "n": n_criteria(project)}]})
    return Criterion(project, query["criterion"])


class NoQuery(StrictSerializer):
    """Query of an address without parameters."""


def validated_query(request: ApiRequest, query: type[StrictSerializer]) -> dict[str, Any]:
    """Return the validated parameters of the address; raises ValidationError."""
    repeated = [name for name, values in request.query_params.lists() if len(values) > 1]
    if repeated:
        raise ValidationError({name[:50]: [_("Given more than once. Give it once.")] for name in repeated})
    return validated_data(query(data=request.query_params.dict()))


def validated_body(request: ApiRequest, serializer: type[StrictSerializer], **options: Any) -> dict[str, Any]:
    """Return the validated fields of the body; raises ValidationError."""
    return validated_data(serializer(data=request.data, context={"from_json": True}, **options))


def validated_data(serializer: serializers.Serializer) -> dict[str, Any]:
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def page_serializer(row: type[serializers.Serializer]) -> type[serializers.Serializer]:
    """Return the serializer of one page of such rows."""
    name = row.__name__.removesuffix("Serializer")
    fields = {
        "count": serializers.IntegerField(help_text="Number of rows on all pages."),
        "next": serializers.URLField(allow_null=True),
        "previous": serializers.URLField(allow_null=True),
        "results": row(many=True),
    }
    return type(f"{name}Page", (serializers.Serializer,), fields)


def paginated_response(
    request: ApiRequest, rows: Any, query: dict[str, Any], represent: Callable[[list[Any]], Sequence[Any]], **more: Any
) -> Response:
    """Return one page of `rows`, which are in a fixed order; `represent` turns them into plain values."""
    paginator = Paginator(rows, query["page_size"])
    try:
        page = paginator.page(query["page"])
    except EmptyPage:
        raise page_not_found(query["page"], paginator.num_pages) from None
    here = request.build_absolute_uri()
    return Response(
        {
            **more,
            "count": paginator.count,
            "next": replace_query_param(here, "page", page.next_page_number()) if page.has_next() else None,
            "previous": replace_query_param(here, "page", page.previous_page_number()) if page.has_previous() else None,
            "results": represent(list(page.object_list)),
        }
    )


def page_not_found(number: int, last: int) -> NotFound:
    return NotFound(_("There is no page %(page)d; the last is %(last)d.") % {"page": number, "last": last})


def check_page_exists(page: Page | None, number: int) -> None:
    """Raise NotFound for a page past the last, for lists whose query returns the nearest page."""
    last = page.paginator.num_pages if page else 1
    if number > last:
        raise page_not_found(number, last)
