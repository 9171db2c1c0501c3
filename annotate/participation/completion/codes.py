"""Codes that people hand in elsewhere to show how their part ended, and the address they go back to with them."""

import base64
import re
from urllib.parse import quote, urlsplit
from uuid import UUID

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

from annotate.models import Completion, ParticipationRules

SALT = "annotate.completion"
GROUP_LENGTH = 4
HOST = re.compile(r"[a-z0-9.-]+")  # browsers take other characters, such as a backslash, for the end of a host
PLACEHOLDERS = ("{code}", "{participant}")


def signed_code(project_id: UUID, kind: str, who: str, secret: str | None = None) -> str:
    """Return twelve letters and digits that only this site can make: 60 bits of an HMAC over who it is for and why."""
    digest = salted_hmac(SALT, f"{project_id}:{kind}:{who}", secret=secret, algorithm="sha256").digest()
    text = base64.b32encode(digest).decode()[: 3 * GROUP_LENGTH]
    return "-".join(text[start : start + GROUP_LENGTH] for start in range(0, len(text), GROUP_LENGTH))


def is_genuine(completion: Completion) -> bool:
    """Return whether the code is the one that this site signs for its owner, by the present secret or a former one."""
    who = str(completion.annotator.key) if completion.annotator else completion.platform_id
    return any(
        constant_time_compare(completion.code, signed_code(completion.project_id, completion.kind, who, secret))
        for secret in [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    )


def normalize_code(code: str) -> str:
    """Return the code as it was given out, however somebody typed it."""
    letters = re.sub(r"[^A-Z2-7]", "", code.upper())
    return "-".join(letters[start : start + GROUP_LENGTH] for start in range(0, len(letters), GROUP_LENGTH))


def shared_code(entry: ParticipationRules, kind: str) -> str:
    return {
        Completion.Kind.COMPLETE.value: entry.complete_code,
        Completion.Kind.SCREENED_OUT.value: entry.screened_out_code,
        Completion.Kind.QUOTA_FULL.value: entry.quota_full_code,
    }[kind]


def return_link(entry: ParticipationRules | None, code: str, participant: str) -> str:
    """Return the address to go back to with this code; empty if there is none, or it takes a code and there is none."""
    template = entry.return_url if entry else ""
    if not template or ("{code}" in template and not code) or not may_return_to(template):
        return ""
    return template.replace("{code}", quote(code, safe="")).replace("{participant}", quote(participant, safe=""))


def may_return_to(template: str) -> bool:
    """Return whether the address is https, of a host that the operator allows, and its host is no placeholder."""
    try:
        parts = urlsplit(template)
        port = parts.port
    except ValueError:
        return False
    host = parts.hostname or ""
    plain = parts.scheme == "https" and port is None and parts.username is None and HOST.fullmatch(host)
    return bool(plain) and any(
        host == allowed or matches_wildcard(host, allowed) for allowed in settings.ALLOWED_RETURN_HOSTS
    )


def matches_wildcard(host: str, allowed: str) -> bool:
    return allowed.startswith("*.") and host.endswith(allowed[1:])
