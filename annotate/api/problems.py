"""Errors in one shape: problem details (RFC 9457) with a type, a title, a status, a detail and the errors per field."""

import re
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework import exceptions
from rest_framework.response import Response

from annotate.access import SignInRequired
from annotate.core.errors import ChangedMeanwhile, RateLimited, UserError, is_broken_reference

CONTENT_TYPE = "application/problem+json"
TITLES = {
    400: gettext_lazy("Invalid request"),
    401: gettext_lazy("Authentication required"),
    403: gettext_lazy("Not allowed"),
    404: gettext_lazy("Not found"),
    405: gettext_lazy("Method not allowed"),
    406: gettext_lazy("Responses are JSON only"),
    409: gettext_lazy("Conflict with the current state"),
    410: gettext_lazy("No longer available"),
    415: gettext_lazy("Requests must be JSON"),
    422: gettext_lazy("Validation failed"),
    429: gettext_lazy("Too many requests"),
}


class Unprocessable(exceptions.ValidationError):
    """The request matches the schema but breaks a rule between fields or of the project."""

    status_code = 422


class Conflict(exceptions.APIException):
    status_code = 409
    default_code = "conflict"


def handle_exception(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the problem response for an exception; None for our own mistakes, which become a 500."""
    headers: dict[str, str] = {}
    if is_broken_reference(error):
        error = ChangedMeanwhile()
    if isinstance(error, UserError):
        if isinstance(error, RateLimited):
            headers["Retry-After"] = str(error.wait_seconds)
        status = Unprocessable.status_code if error.status == 400 else error.status
        return problem_response(status, error_code(type(error)), str(error), headers=headers)
    if isinstance(error, (Http404, ObjectDoesNotExist)):  # the latter has gone since it was found
        error = exceptions.NotFound()
    elif isinstance(error, SignInRequired):
        error = exceptions.NotAuthenticated()
    elif isinstance(error, DjangoPermissionDenied):
        error = exceptions.PermissionDenied(_("Your role in this project does not allow that."))
    if not isinstance(error, exceptions.APIException):
        return None
    if getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = error.auth_header  # type: ignore[attr-defined]
    if isinstance(error, exceptions.Throttled):
        headers["Retry-After"] = str(int(getattr(error, "wait", None) or 60))
    if isinstance(error, exceptions.ValidationError):
        errors = dict(flatten_errors(error.detail))
        detail = "; ".join(f"{name}: {' '.join(texts)}" for name, texts in errors.items())
        return problem_response(error.status_code, "invalid", detail[:2000], errors=errors, headers=headers)
    code = getattr(error, "default_code", "error").replace("_", "-")
    return problem_response(error.status_code, code, str(error.detail), headers=headers)


def problem_response(
    status: int, code: str, detail: str, *, errors: dict[str, list[str]] | None = None, headers: dict[str, str]
) -> Response:
    body: dict[str, Any] = {
        "type": f"urn:crowdrank:problem:{code}",
        "title": str(TITLES.get(status, TITLES[400])),
        "status": status,
        "detail": detail,
    }
    if errors:
        body["errors"] = errors
    return Response(body, status=status, headers=headers, content_type=CONTENT_TYPE)


def flatten_errors(detail: Any, path: str = "") -> list[tuple[str, list[str]]]:
    """Return the errors of nested fields under dotted names."""
    if isinstance(detail, dict):
        pairs = [(f"{path}.{name}" if path else str(name), value) for name, value in detail.items()]
    elif isinstance(detail, list) and any(isinstance(one, dict) for one in detail):
        pairs = [(f"{path}.{place}" if path else str(place), value) for place, value in enumerate(detail) if value]
    else:
        texts = detail if isinstance(detail, list) else [detail]
        name = "request" if path in ("", "non_field_errors", "__all__") else path
        return [(name, [str(text) for text in texts])]
    return [found for name, value in pairs for found in flatten_errors(value, name)]


def error_code(error: type[UserError]) -> str:
    return error.code or re.sub(r"(?<!^)(?=[A-Z])", "-", error.__name__).lower()
