"""Answers 400, or 404 of an address, where a view looks for a row by a text with a zero character.

PostgreSQL has none in its texts.
"""

from collections.abc import Callable

from django.db import DataError
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.views.defaults import bad_request

ZERO = "\0"


def holds_zero(data: QueryDict) -> bool:
    return any(ZERO in name or any(ZERO in value for value in values) for name, values in data.lists())


class ZeroCharactersMiddleware:
    """Forms and the API's fields refuse zero characters by name; this is for what a view reads without them."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if ZERO in request.path_info:
            raise Http404
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        was_it = isinstance(exception, ValueError | DataError) and (holds_zero(request.GET) or holds_zero(request.POST))
        return bad_request(request, exception) if was_it else None
