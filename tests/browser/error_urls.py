"""The site's addresses and, beside them, one for every way in which a request can fail."""

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from annotate.core.errors import ProjectNotOpen
from annotate.urls import urlpatterns as site


def failing(error: type[Exception] | Exception):
    def view(request: HttpRequest) -> HttpResponse:
        raise error

    return view


def locked(request: HttpRequest) -> HttpResponse:
    return render(request, "account/locked.html", {"failure_limit": 10}, status=429)


urlpatterns = [
    *site,
    path("fail/400/", failing(SuspiciousOperation)),
    path("fail/403/", failing(PermissionDenied)),
    path("fail/500/", failing(ZeroDivisionError)),
    path("fail/refusal/", failing(ProjectNotOpen("closed"))),
    path("fail/locked/", locked),
]
