"""Secrets that are handed out in links."""

import secrets


def new_token() -> str:
    """128 random bits: who holds a token was given it. Hexadecimal, so that none begins with the dash of an option."""
    return secrets.token_hex(16)
