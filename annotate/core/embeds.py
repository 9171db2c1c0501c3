"""Checks the web addresses of items and finds the player that may show one inside the page."""

import re
from urllib.parse import parse_qs, urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator

VALID = URLValidator(schemes=["http", "https"])
YOUTUBE = re.compile(r"[\w-]{11}", re.ASCII)
VIMEO = re.compile(r"/(\d{1,15})/?", re.ASCII)


def is_web_address(text: str) -> bool:
    """Tells whether it is a complete http or https address without user name and password."""
    try:
        VALID(text)
        return urlsplit(text).username is None
    except (ValidationError, ValueError):
        return False


def player_url(link: str) -> str:
    """Return the address that a frame may show, by https at a host of EMBED_HOSTS; empty if there is none."""
    address = to_player_address(link)
    parts = urlsplit(address)
    return address if parts.scheme == "https" and parts.netloc.lower() in settings.EMBED_HOSTS else ""


def to_player_address(link: str) -> str:
    """Convert a page at YouTube or Vimeo to its player; leave every other address as it is."""
    parts = urlsplit(link)
    host = parts.netloc.lower().removeprefix("www.").removeprefix("m.")
    if host == "youtu.be" or (host == "youtube.com" and parts.path == "/watch"):
        video = parts.path[1:] if host == "youtu.be" else parse_qs(parts.query).get("v", [""])[0]
        return f"https://www.youtube-nocookie.com/embed/{video}" if YOUTUBE.fullmatch(video) else link
    if host == "vimeo.com" and (found := VIMEO.fullmatch(parts.path)):
        return f"https://player.vimeo.com/video/{found[1]}?dnt=1"
    return link
