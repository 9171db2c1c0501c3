"""What the log leaves out: secrets in addresses, such as the link by which an annotator comes back."""

import logging
import re

# The ids of projects, with their dashes, stay: they open nothing.
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SECRET = re.compile(r"[\w.:~-]{20,}")


def without_secrets(path: str) -> str:
    """The address with every long part of it cut to its first four characters."""
    parts = path.split("/")
    return "/".join(f"{part[:4]}…" if SECRET.fullmatch(part) and not ID.fullmatch(part) else part for part in parts)


class Discreet(logging.Filter):
    """Django logs the address of each request that it refuses."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                without_secrets(value) if isinstance(value, str) and value.startswith("/") else value
                for value in record.args
            )
        return True
