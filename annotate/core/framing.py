"""Lets pages of named sites show a page in a frame: only that page, only those sites; all other pages refuse frames."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

FRAME_ANCESTORS = "frame_ancestors"  # the attribute of requests whose page the sites in it may show
LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
ORIGIN = re.compile(rf"https://(\*\.)?({LABEL}\.)+[a-z][a-z0-9-]{{0,61}}[a-z0-9](:[1-9][0-9]{{0,4}})?", re.ASCII)


def is_site_origin(text: str) -> bool:
    """Tell whether it is https and a host name, perhaps with *. in front or a port, and nothing else."""
    return len(text) <= 300 and ORIGIN.fullmatch(text) is not None


def is_of_site(origin: str, sites: Sequence[str]) -> bool:
    """Tell whether an Origin header names one of these sites; *. stands for one or more names in front."""
    for site in sites:
        scheme, _mark, name = site.partition("://")
        if name.startswith("*."):
            if origin.startswith(f"{scheme}://") and origin.endswith(name[1:]) and len(origin) > len(site) - 1:
                return True
        elif origin == site:
            return True
    return False


def allow_framing(request: HttpRequest, origins: Sequence[str]) -> None:
    """Let pages of these sites, and none without any, show the answer to this request in a frame."""
    setattr(request, FRAME_ANCESTORS, list(origins))


class FramingMiddleware:
    """Comes after the middlewares that forbid frames, so that it speaks to them before they write their headers."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response: Any = self.get_response(request)
        if origins := getattr(request, FRAME_ANCESTORS, None):
            response.xframe_options_exempt = True
            response._csp_replace = {**(getattr(response, "_csp_replace", None) or {}), "frame-ancestors": origins}
        return response
