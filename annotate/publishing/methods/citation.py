"""Reads how Crowdrank itself is cited, from CITATION.cff."""

import re
from functools import cache

from annotate.core.folders import FILES

FIELD = re.compile(r"^(?: *- +)?(?P<name>name|title|version|license): (?P<value>.+)$", re.MULTILINE)
KEY = "crowdrank"


@cache
def software() -> dict[str, str]:
    """Return name (of the author), title, version and license; each is one line of the file."""
    text = (FILES / "CITATION.cff").read_text(encoding="utf-8")
    return {found["name"]: found["value"].strip().strip('"') for found in FIELD.finditer(text)}


def software_bibtex(version: str) -> str:
    """Return the entry of Crowdrank in the version that made the figures."""
    facts = software()
    note = f"Version {version or facts['version']}, {facts['license']} licence"
    fields = {"author": f"{{{facts['name']}}}", "title": f"{{{facts['title']}}}", "note": note}
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@misc{{{KEY},\n{lines}\n}}"


def software_line(version: str) -> str:
    facts = software()
    return f"{facts['name']}. {facts['title']}, version {version or facts['version']}."
