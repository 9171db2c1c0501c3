"""Secrets that are handed out in links."""

import secrets


def new_token() -> str:
    """Return 128 random bits, hexadecimal so that none begins with the dash of an option: who holds a token was given
    it."""
    return secrets.token_hex(16)
