"""Asks a platform for a token for one of its services, by a message signed with this site's key (LTI security 4.1)."""

import json
import secrets
from datetime import datetime
from typing import Any
from urllib.parse import urlencode, urlsplit

import jwt

from annotate.models import LtiPlatform
from annotate.webhooks.http_client import exchange

ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
MAX_BYTES = 100_000


class Refused(Exception):
    """The platform answered, but not with what it should have."""


def sign_message(platform: LtiPlatform, claims: dict[str, Any], now: datetime) -> str:
    """Return these claims signed for the platform, valid for five minutes."""
    start = int(now.timestamp())
    times = {"iss": platform.client_id, "iat": start, "exp": start + 300}
    return jwt.encode(
        times | claims, platform.private_key, algorithm="RS256", headers={"kid": f"platform-{platform.pk}"}
    )


def access_token(platform: LtiPlatform, scope: str, now: datetime) -> str:
    """Return the platform's token for a scope. Raises Unreachable and Refused."""
    claims = {"sub": platform.client_id, "aud": platform.token_url, "jti": secrets.token_urlsafe(16)}
    asked = {
        "grant_type": "client_credentials",
        "client_assertion_type": ASSERTION,
        "client_assertion": sign_message(platform, claims, now),
        "scope": scope,
    }
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    status, body = exchange(platform.token_url, urlencode(asked).encode(), headers, max_bytes=MAX_BYTES)
    try:
        token = json.loads(body)["access_token"] if status == 200 else None
    except (ValueError, KeyError, TypeError, RecursionError):
        token = None
    if not isinstance(token, str) or not token.isascii() or not token.isprintable():
        raise Refused(f"no access token, HTTP {status}")
    return token


def origin_of(url: str) -> str:
    """Return scheme, host and port of an address, as browsers write an origin; "" of what is no web address."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.username is not None:
        return ""
    usual = {"https": 443, "http": 80}[parts.scheme]
    return f"{parts.scheme}://{parts.hostname}" + (f":{port}" if port and port != usual else "")
