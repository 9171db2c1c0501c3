"""Shows a page in the language that its address asks for (?lang=de), and remembers the choice in a cookie."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation

from annotate.core.languages import COOKIE, is_language_tag, site_language

NO_COOKIE = "takes_no_cookie"  # the attribute of requests whose page sets none


class PageLanguageMiddleware:
    """Comes after LocaleMiddleware, whose choice it replaces where the address asks for another language."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        asked = "" if request.path_info.startswith("/api/") else request.GET.get("lang", "")
        if not is_language_tag(asked):
            return self.get_response(request)
        site = site_language(asked)
        if site:
            translation.activate(site)
            request.LANGUAGE_CODE = site
        response = self.get_response(request)
        if not getattr(request, NO_COOKIE, False):
            remember_choice(response, asked, site)
        return response


def remember_choice(response: HttpResponseBase, asked: str, site: str) -> None:
    """Set the cookies of the pages' language and, where it is another one, of that of the content."""
    how: dict[str, Any] = {
        "max_age": settings.LANGUAGE_COOKIE_AGE,
        "secure": settings.LANGUAGE_COOKIE_SECURE,
        "httponly": settings.LANGUAGE_COOKIE_HTTPONLY,
        "samesite": settings.LANGUAGE_COOKIE_SAMESITE,
    }
    if site:
        response.set_cookie(settings.LANGUAGE_COOKIE_NAME, site, **how)
    if site == asked:
        response.delete_cookie(COOKIE, samesite=how["samesite"])
    else:
        response.set_cookie(COOKIE, asked, **how)
