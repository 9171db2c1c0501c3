"""Serves the OpenAPI document and its reference page: plain HTML, so that the strict policy needs no exception."""

from functools import cache
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import translation
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from annotate.api.base import ApiRequest, ApiView
from annotate.api.problems import CONTENT_TYPE, TITLES

METHODS = ("get", "post", "patch", "put", "delete")
PROBLEM = {
    "type": "object",
    "description": "An error, as RFC 9457 has it.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {
            "type": "string",
            "description": "urn:crowdrank:problem: and a word that stays the same, for programs.",
        },
        "title": {"type": "string", "description": "What kind of problem it is."},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What happened and what to do next, for people."},
        "errors": {
            "type": "object",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
            "description": "By field, such as `k` or `items.2.text`; `request` for what concerns no single field.",
        },
    },
}


def add_problems(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Add a problem to the answers of every operation: a hook of drf-spectacular."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = PROBLEM
    content = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path in result["paths"].values():
        for operation in path.values():
            for status, title in TITLES.items():
                operation["responses"].setdefault(str(status), {"description": str(title), "content": content})
    return result


@cache
def schema() -> dict[str, Any]:
    """Return the OpenAPI document; the same for everybody, so each process makes it once."""
    with translation.override("en"):
        made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return made


@require_safe
@gzip_page
def openapi_document(request: HttpRequest) -> JsonResponse:
    return JsonResponse(schema(), json_dumps_params={"ensure_ascii": False})


@require_safe
@gzip_page
def reference_page(request: HttpRequest) -> HttpResponse:
    return render(
        request, "api/reference.html", {"groups": operations_by_subject(), "problems": sorted(TITLES.items())}
    )


@cache
def operations_by_subject() -> list[dict[str, Any]]:
    """Return the operations by subject, with everything that the page shows of them."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path, methods in schema()["paths"].items():
        for method in METHODS:
            if method in methods:
                subject = methods[method]["operationId"].partition("_")[0]
                found.setdefault(subject, []).append(describe_operation(path, method, methods[method]))
    return [{"name": name, "operations": operations} for name, operations in found.items()]


def describe_operation(path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    answers = [
        {
            "status": status,
            "type": next(iter(answer.get("content", {})), ""),
            "fields": describe_fields(next(iter(answer.get("content", {}).values()), dict[str, Any]()).get("schema")),
        }
        for status, answer in operation["responses"].items()
        if status.startswith("2")
    ]
    return {
        "id": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "about": operation.get("description", ""),
        "parameters": [
            {**one, "type": describe_type(one["schema"]), "required": one.get("required", False)}
            for one in operation.get("parameters", [])
        ],
        "body": describe_fields(body),
        "answers": answers,
    }


def resolve_reference(schema_: dict[str, Any] | None) -> dict[str, Any]:
    """Return the schema that a reference names, alone or in an allOf."""
    schema_ = schema_ or {}
    if "allOf" in schema_ and len(schema_["allOf"]) == 1:
        schema_ = {**resolve_reference(schema_["allOf"][0]), **{k: v for k, v in schema_.items() if k != "allOf"}}
    if "$ref" in schema_:
        name = schema_["$ref"].rpartition("/")[2]
        schema_ = resolve_reference(schema()["components"]["schemas"][name])
    return schema_


def describe_fields(schema_: dict[str, Any] | None, depth: int = 0) -> list[dict[str, Any]]:
    """Return the fields of an object, those of nested objects under dotted names."""
    whole = resolve_reference(schema_)
    if whole.get("type") == "array":
        return describe_fields(whole["items"], depth)
    rows = []
    for name, field in whole.get("properties", {}).items():
        inner = resolve_reference(field)
        required = name in whole.get("required", [])
        about = inner.get("description", "")
        rows.append({"name": name, "type": describe_type(inner), "required": required, "about": about})
        child = resolve_reference(inner["items"]) if inner.get("type") == "array" else inner
        if depth < 3 and "properties" in child:
            mark = "[]" if inner.get("type") == "array" else ""
            rows += [{**row, "name": f"{name}{mark}.{row['name']}"} for row in describe_fields(child, depth + 1)]
    return rows


def describe_type(schema_: dict[str, Any]) -> str:
    one = resolve_reference(schema_)
    options = one.get("oneOf") or one.get("anyOf")
    if options:
        return " | ".join(words for words in map(describe_type, options) if words)
    if "enum" in one:
        return " | ".join("null" if value is None else str(value) or '""' for value in one["enum"])
    if one.get("type") == "array":
        return f"list of {describe_type(one['items']) or 'objects'}"
    words = str(one.get("format") or one.get("type") or "")
    limits = [f"{sign} {one[key]}" for key, sign in (("minimum", "≥"), ("maximum", "≤")) if key in one]
    if "maxLength" in one:
        limits.append(f"at most {one['maxLength']} characters")
    words = f"{words}, {', '.join(limits)}" if limits else words
    return f"{words} or null" if one.get("nullable") else words


class UnknownAddress(ApiView):
    """Answers every other address below /api/ with a problem."""

    scope = None
    authentication_classes = []

    @extend_schema(exclude=True)
    def get(self, request: ApiRequest) -> Response:
        raise Http404

    post = put = patch = delete = get

    def options(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        raise Http404
