"""Redacts secrets in logged addresses, such as the link by which an annotator comes back."""

import logging
import re

# The ids of projects, with their dashes, stay: they open nothing.
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SECRET = re.compile(r"[\w.:~-]{20,}")


def redact_path(path: str) -> str:
    """Cuts every long part of the address, and the code of a short one, to its first characters."""
    parts = path.split("/")
    kept = [f"{part[:4]}…" if SECRET.fullmatch(part) and not ID.fullmatch(part) else part for part in parts]
    pairs = zip(["", *kept], kept, strict=False)
    return "/".join(f"{part[:1]}…" if before == "j" and part else part for before, part in pairs)


class RedactSecrets(logging.Filter):
    """Redacts the addresses that Django logs with each request it refuses."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                redact_path(value) if isinstance(value, str) and value.startswith("/") else value
                for value in record.args
            )
        return True
