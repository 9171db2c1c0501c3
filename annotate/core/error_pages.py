"""The page of an error that no view handled."""

import sys

from django.http import HttpRequest, HttpResponse
from django.views.defaults import server_error

from annotate.core.database_outages import answer_failure


def server_error_page(request: HttpRequest) -> HttpResponse:
    """Answers a database's failure outside of views, as in a session, in words as well; else the usual page."""
    return answer_failure(request, sys.exc_info()[1]) or server_error(request)
