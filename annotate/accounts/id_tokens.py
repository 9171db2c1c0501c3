"""Checks signed tokens (JWT) of issuers, as OpenID Connect Core 1.0 section 3.1.3.7 asks: key, times, who, for whom."""

import hmac
import json
import time
from typing import Any

import jwt
import requests

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384"]
NEEDED = ["exp", "iat", "iss", "aud", "sub"]
LEEWAY = 60  # seconds by which clocks may differ
TIMEOUT = 5  # seconds
MAX_SECONDS = 10.0  # for all pieces of an answer
MAX_BYTES = 1_000_000  # unpacked, of one answer
CHUNK = 2**16


class TokenRefused(Exception):
    """`str(error)` says why, for the log and for tests; people are told in words of their own."""


def fetch_json(url: str) -> dict[str, Any]:
    """Return the JSON object at an address that the operator configured. Raises TokenRefused."""
    try:
        with requests.get(url, timeout=TIMEOUT, allow_redirects=False, stream=True) as answer:
            answer.raise_for_status()
            found = json.loads(read_limited(answer))
    except (requests.RequestException, ValueError) as error:
        raise TokenRefused(f"{url} gave no JSON: {type(error).__name__}") from error
    if not isinstance(found, dict):
        raise TokenRefused(f"{url} gave no JSON object")
    return found


def read_limited(answer: requests.Response) -> bytes:
    """Return the body, of which no more is read than the limit and one piece. Raises TokenRefused beyond it, and after
    MAX_SECONDS: each piece may take as long as a whole answer should."""
    ends, body = time.monotonic() + MAX_SECONDS, b""
    for piece in answer.iter_content(CHUNK):
        body += piece
        if len(body) > MAX_BYTES or time.monotonic() > ends:
            raise TokenRefused(f"{answer.url} gave more than is read of it")
    return body


def find_key(token: str, keys: dict[str, Any]) -> jwt.PyJWK:
    """Return the key of a set that signed the token, by its id. Raises TokenRefused."""
    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError as error:
        raise TokenRefused("not a token") from error
    if header.get("alg") not in ALGORITHMS:
        raise TokenRefused(f"signed with {header.get('alg')}")
    rows = keys.get("keys")
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and row.get("kid") == header.get("kid"):
            try:
                return jwt.PyJWK(row, algorithm=header["alg"])
            except jwt.PyJWTError as error:
                raise TokenRefused("unusable key") from error
    raise TokenRefused("unknown key")


def verify_token(token: str, *, keys_url: str, issuer: str, audience: str, nonce: str) -> dict[str, Any]:
    """Return what a token says, if its signature, issuer, audience, times and nonce are right. Raises TokenRefused."""
    key = find_key(token, fetch_json(keys_url))
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=ALGORITHMS,
            audience=audience,
            issuer=issuer,
            leeway=LEEWAY,
            options={"require": NEEDED},
        )
    except jwt.PyJWTError as error:
        raise TokenRefused(type(error).__name__) from error
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if (several or "azp" in claims) and claims.get("azp") != audience:
        raise TokenRefused("for another party")
    if not nonce or not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise TokenRefused("wrong nonce")
    return claims
