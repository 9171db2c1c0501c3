"""Names of items, annotators and columns in the files of a run record."""

import re
from urllib.parse import unquote

__all__ = ["decode_name", "encode_name", "feature_columns"]

# Formulas in a spreadsheet, separators of a list, characters stripped on reading, and percent-encoding itself.
UNSAFE = re.compile(r"\A[=+\-@\uff1d\uff0b\uff0d\uff20]|\A\s|\s\Z|[;\x00-\x1f\x7f]|%(?=[0-9A-Fa-f]{2})")


def encode_name(name: str) -> str:
    """Percent-encode a name for the files of a record; different names stay different."""
    return UNSAFE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), name)


def decode_name(text: str) -> str:
    """Return the name that `encode_name` wrote so; a text that it writes for no name stays as it is."""
    name = unquote(text)
    return name if encode_name(name) == text else text


def feature_columns(n: int) -> list[str]:
    """Return the names of n columns of features."""
    return [f"feature_{i}" for i in range(n)]
