"""Lets a learning platform show tasks inside its pages: its origin alone, with cookies that work there."""

from collections.abc import Callable
from http.cookies import Morsel

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse

FRAME_KEY = "lti_frame"  # in the session: the platform's origin
STATE_COOKIE = "lti_state"

# Python's cookies know the attribute from 3.14 on.
Morsel._reserved.setdefault("partitioned", "Partitioned")  # type: ignore[attr-defined]
Morsel._flags.add("partitioned")  # type: ignore[attr-defined]


class LtiFrameMiddleware:
    """Changes only answers to browsers whose session began at a platform; stands outside the session's middleware.

    Where an account is signed in, no page is: those and the account's cookies are for no other site's frames.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        session = getattr(request, "session", None)
        seen = session if session is not None and session.accessed else {}
        launched_from = getattr(response, "lti_origin", "")
        if launched_from:
            allow_cookies(response, STATE_COOKIE)
        origin = seen.get(FRAME_KEY, "") or launched_from
        if posts_to := getattr(response, "lti_posts_to", ""):
            allow_form(response, posts_to)
        if origin and SESSION_KEY not in seen:
            allow_frame(response, origin)
            allow_cookies(response, settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME)
        return response


def allow_frame(response: HttpResponse, origin: str) -> None:
    policy = response.headers.get("Content-Security-Policy", "")
    response.headers["Content-Security-Policy"] = policy.replace("frame-ancestors 'none'", f"frame-ancestors {origin}")
    if "frame-ancestors 'self'" not in policy:
        response.headers.pop("X-Frame-Options", None)


def allow_form(response: HttpResponse, origin: str) -> None:
    policy = response.headers.get("Content-Security-Policy", "")
    response.headers["Content-Security-Policy"] = policy.replace("form-action 'self'", f"form-action 'self' {origin}")


def allow_cookies(response: HttpResponse, *names: str) -> None:
    """Browsers take SameSite=None over https alone; Partitioned keeps it apart from the same site's own windows."""
    for name in names:
        if settings.HTTPS and name in response.cookies:
            cookie = response.cookies[name]
            cookie["samesite"], cookie["secure"] = "None", True
            cookie["partitioned"] = True
