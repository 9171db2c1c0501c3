"""The OpenAPI document and the page that shows it: plain HTML, so that the strict policy needs no exception."""

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

from annotate.api.base import ApiRequest, View
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
    """A hook of drf-spectacular: every operation may answer with a problem."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = PROBLEM
    content = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path in result["paths"].values():
        for operation in path.values():
            for status, title in TITLES.items():
                operation["responses"].setdefault(str(status), {"description": str(title), "content": content})
    return result


@cache
def schema() -> dict[str, Any]:
    """The same for everybody, so it is made once in each process."""
    with translation.override("en"):
        made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return made


@require_safe
@gzip_page
def document(request: HttpRequest) -> JsonResponse:
    return JsonResponse(schema(), json_dumps_params={"ensure_ascii": False})


@require_safe
@gzip_page
def reference(request: HttpRequest) -> HttpResponse:
    return render(request, "api/reference.html", {"groups": groups(), "problems": sorted(TITLES.items())})


@cache
def groups() -> list[dict[str, Any]]:
    """The operations by subject, with everything that the page shows of them."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path, methods in schema()["paths"].items():
        for method in METHODS:
            if method in methods:
                subject = methods[method]["operationId"].partition("_")[0]
                found.setdefault(subject, []).append(operation_of(path, method, methods[method]))
    return [{"name": name, "operations": operations} for name, operations in found.items()]


def operation_of(path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    answers = [
        {
            "status": status,
            "type": next(iter(answer.get("content", {})), ""),
            "fields": fields_of(next(iter(answer.get("content", {}).values()), dict[str, Any]()).get("schema")),
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
            {**one, "type": type_words(one["schema"]), "required": one.get("required", False)}
            for one in operation.get("parameters", [])
        ],
        "body": fields_of(body),
        "answers": answers,
    }


def resolved(schema_: dict[str, Any] | None) -> dict[str, Any]:
    """The schema itself where it is named by a reference, alone or in an allOf."""
    schema_ = schema_ or {}
    if "allOf" in schema_ and len(schema_["allOf"]) == 1:
        schema_ = {**resolved(schema_["allOf"][0]), **{k: v for k, v in schema_.items() if k != "allOf"}}
    if "$ref" in schema_:
        name = schema_["$ref"].rpartition("/")[2]
        schema_ = resolved(schema()["components"]["schemas"][name])
    return schema_


def fields_of(schema_: dict[str, Any] | None, depth: int = 0) -> list[dict[str, Any]]:
    """The fields of an object, those of nested objects under dotted names."""
    whole = resolved(schema_)
    if whole.get("type") == "array":
        return fields_of(whole["items"], depth)
    rows = []
    for name, field in whole.get("properties", {}).items():
        inner = resolved(field)
        required = name in whole.get("required", [])
        about = inner.get("description", "")
        rows.append({"name": name, "type": type_words(inner), "required": required, "about": about})
        child = resolved(inner["items"]) if inner.get("type") == "array" else inner
        if depth < 3 and "properties" in child:
            mark = "[]" if inner.get("type") == "array" else ""
            rows += [{**row, "name": f"{name}{mark}.{row['name']}"} for row in fields_of(child, depth + 1)]
    return rows


def type_words(schema_: dict[str, Any]) -> str:
    one = resolved(schema_)
    options = one.get("oneOf") or one.get("anyOf")
    if options:
        return " | ".join(words for words in map(type_words, options) if words)
    if "enum" in one:
        return " | ".join("null" if value is None else str(value) or '""' for value in one["enum"])
    if one.get("type") == "array":
        return f"list of {type_words(one['items']) or 'objects'}"
    words = str(one.get("format") or one.get("type") or "")
    limits = [f"{sign} {one[key]}" for key, sign in (("minimum", "≥"), ("maximum", "≤")) if key in one]
    if "maxLength" in one:
        limits.append(f"at most {one['maxLength']} characters")
    words = f"{words}, {', '.join(limits)}" if limits else words
    return f"{words} or null" if one.get("nullable") else words


class Nowhere(View):
    """Whatever else is asked for below /api/."""

    scope = None
    authentication_classes = []

    @extend_schema(exclude=True)
    def get(self, request: ApiRequest) -> Response:
        raise Http404

    post = put = patch = delete = get

    def options(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        raise Http404
