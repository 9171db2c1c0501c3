"""Says of each check what it means where questions were chosen by the ranking so far."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext_lazy as _

from annotate.core.numbers import format_integer
from annotate.dashboard.trust.check import Check

NOTES = {
    "agreement": _(
        "%(n)s answers are left out here because their questions were chosen by the ranking so far: people agree less "
        "about items that are close to each other."
    ),
    "side": _(
        "%(n)s answers are left out here because their questions were chosen by the ranking so far: the position "
        "matters more where items are close to each other."
    ),
    "reliable": _(
        "%(n)s questions were chosen by the ranking so far. Then this figure tends to come out too high (Bramley "
        "2015): compare it only with that of projects whose questions are chosen in the same way."
    ),
    "calibrated": _(
        "%(n)s answers are not predicted here because their questions were chosen by the ranking so far: those are "
        "harder to predict."
    ),
    "balanced": _(
        "%(n)s questions were chosen by the ranking so far, so some items are compared more often on purpose."
    ),
}


def with_notes(checks: list[Check], kept: Mapping[str, Any]) -> list[Check]:
    """Return the checks, explained further where the fit counts adaptive questions; kept: its stored checks."""
    n = kept.get("n_adaptive", 0)
    if not n:
        return checks
    return [
        replace(one, explained=f"{one.explained} {NOTES[one.key] % {'n': format_integer(n)}}")
        if one.key in NOTES
        else one
        for one in checks
    ]
