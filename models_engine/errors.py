"""The engine's named errors and warnings: each message names the value, the limit and the next step."""

__all__ = [
    "Cancelled",
    "EngineError",
    "InsufficientData",
    "InvalidData",
    "InvalidSetting",
    "NotConverged",
    "TooLarge",
    "Unsupported",
]


class EngineError(Exception):
    """Base of every error the engine raises on purpose."""


class InvalidData(EngineError, ValueError):
    """Input that cannot be a comparison. `row` (0-based, or None) and `value` say which."""

    def __init__(self, message: str, *, row: int | None = None, value: object = None) -> None:
        super().__init__(message)
        self.row = row
        self.value = value


class InvalidSetting(EngineError, ValueError):
    """A setting of an estimator outside what it allows."""


class InsufficientData(EngineError, ValueError):
    """Too little data for an estimator that has no prior to fall back on."""


class TooLarge(EngineError, MemoryError):
    """An answer that would not fit in memory; the message names what to call instead."""


class Unsupported(EngineError, NotImplementedError):
    """A question this estimator's posterior cannot answer; the message names an estimator that can."""


class Cancelled(EngineError):
    """The caller's progress callback returned False."""


class NotConverged(UserWarning):
    """A fit that stopped before it met its tolerance; `posterior.diagnostics` says how far it got."""
