"""Comments and docstrings that name a place in the code name one that exists."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# What a reader follows: annotate.fitting.arrays in a comment, a docstring or a template's comment; not the name of a
# logger or a salt, which begins a string.
PLACE = re.compile(r"""(?<!["'\w./-])(?:annotate|models_engine)(?:\.[A-Za-z_]\w*)+""")


def places_named(folder: str) -> dict[str, str]:
    """Return the places named, each with a file that names it."""
    found = {}
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix in (".py", ".html") and "migrations" not in path.parts:
            found.update(dict.fromkeys(PLACE.findall(path.read_text()), str(path.relative_to(ROOT))))
    return found


def exists(place: str) -> bool:
    """Return whether it is a module, or leads to a definition in one."""
    parts = place.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for name in parts[n:]:
            if not hasattr(found, name):
                return False
            found = getattr(found, name)
        return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["annotate", "models_engine", "templates"])
def test_every_place_that_a_remark_names_exists(folder):
    named = places_named(folder)
    assert named
    missing = {place: path for place, path in named.items() if not exists(place)}
    assert missing == {}


def test_what_does_not_exist_is_found():
    assert exists("annotate.fitting.arrays.pack")
    assert not exists("annotate.fitting.arrays.no_such_function")
    assert not exists("annotate.no_such_package.at_all")
