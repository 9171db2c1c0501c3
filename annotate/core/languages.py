"""Names of languages, their direction, and which of them a visitor asks for."""

import re
from collections.abc import Iterator, Sequence

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import get_language, get_language_info
from django.utils.translation.trans_real import parse_accept_lang_header

TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}", re.ASCII)  # of BCP 47, as short as people need it
MAX_LANGUAGE_LENGTH = 35
COOKIE = "content_language"
RIGHT_TO_LEFT = ("ar", "arc", "ckb", "dv", "fa", "he", "ku-arab", "nqo", "ps", "sd", "syr", "ug", "ur", "yi")


def language_name(language: str) -> str:
    """Return the language in its own words; the tag where Django has none."""
    try:
        return str(get_language_info(language)["name_local"])
    except KeyError:
        return language


def language_in_sentences(language: str) -> str:
    """Return the language in the words of the page, as they stand within a sentence; the tag where Django has none."""
    try:
        name = str(get_language_info(language)["name_translated"])
    except KeyError:
        return language
    return name if (get_language() or "en").startswith(("en", "de")) else name[:1].lower() + name[1:]


def is_language_tag(text: str) -> bool:
    return len(text) <= MAX_LANGUAGE_LENGTH and TAG.fullmatch(text) is not None


def direction(language: str) -> str:
    """Return rtl or ltr."""
    tag = language.lower()
    return "rtl" if any(tag == one or tag.startswith(f"{one}-") for one in RIGHT_TO_LEFT) else "ltr"


def matching_language(wanted: str, available: Sequence[str]) -> str:
    """Return the one of `available` that serves who wants this language: the same, or the same but for its region."""
    by_tag = {one.lower(): one for one in available}
    tag = wanted.lower()
    base = tag.split("-")[0]
    region = (one for one in available if one.lower().split("-")[0] == base)
    return by_tag.get(tag) or by_tag.get(base) or next(region, "")


def site_language(wanted: str) -> str:
    """Return the language of the pages for this wish; empty where the site has none."""
    return matching_language(wanted, [code for code, _name in settings.LANGUAGES])


def wanted_languages(request: HttpRequest) -> Iterator[str]:
    """Yield the languages that the visitor wants of what owners wrote, the most wanted first.

    What the address asks for (?lang=) goes before what was chosen earlier, that before what the browser asks for.
    """
    asked = request.GET.get("lang", "")
    if is_language_tag(asked):
        yield asked
    chosen = request.COOKIES.get(COOKIE, "")
    if is_language_tag(chosen):
        yield chosen
    if settings.LANGUAGE_COOKIE_NAME in request.COOKIES:
        yield get_language() or ""
    for wanted, _weight in parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        yield wanted
