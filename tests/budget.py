"""How many examples property tests try: few each time the tests run, many where HYPOTHESIS_PROFILE is search."""

import os

SEARCH = "search"
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "same")
MORE = 20  # times as many examples in a search


def examples(n: int) -> int:
    """`n` examples, which should be few enough for a second; in a search many times as many."""
    return n * MORE if PROFILE == SEARCH else n
