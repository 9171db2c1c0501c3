"""Defines one check of the ranking: a sentence, a state and the figures behind it."""

from dataclasses import dataclass, field

from annotate.dashboard.trust.calibration import Calibration

PASS, FAIL, UNKNOWN = "good", "warn", "unknown"


@dataclass(frozen=True)
class Check:
    """state: good, warn or unknown (not enough is known to say either).   facts: (what, figure) pairs."""

    key: str
    title: str
    state: str
    sentence: str
    explained: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    calibration: Calibration | None = None
