"""The engine's named errors and warnings: each message names the value, the limit and the next step."""

__all__ = [
    "Cancelled",
    "EngineError",
    "InsufficientData",
    "InvalidAim",
    "InvalidAnchors",
    "InvalidBoundaries",
    "InvalidData",
    "InvalidDesign",
    "InvalidSetting",
    "NotConverged",
    "TooLarge",
    "Unsupported",
]


class EngineError(Exception):
    """Base of every error the engine raises on purpose."""


class InvalidData(EngineError, ValueError):
    """Invalid input. `row` (0-based, or None) and `value` say where."""

    def __init__(self, message: str, *, row: int | None = None, value: object = None) -> None:
        super().__init__(message)
        self.row = row
        self.value = value


class InvalidBoundaries(InvalidData):
    """Grade boundaries that are not finite and rising; `row` is the first one at fault, `value` what it was."""


class InvalidAim(InvalidData):
    """An aim that the items cannot have; `value` is what is at fault."""


class InvalidAnchors(InvalidData):
    """Anchors that cannot carry a scale; `row` is the first one at fault, or None where it is all of them."""


class InvalidDesign(InvalidData):
    """A plan that cannot be carried out; `value` is the number at fault."""


class InvalidSetting(EngineError, ValueError):
    """A setting outside its allowed range. `row` (0-based, or None) and `value` say which, where that is known."""

    def __init__(self, message: str, *, row: int | None = None, value: object = None) -> None:
        super().__init__(message)
        self.row = row
        self.value = value


class InsufficientData(EngineError, ValueError):
    """Too little data for an estimator without a prior."""


class TooLarge(EngineError, MemoryError):
    """A result that would not fit in memory; the message names an alternative."""


class Unsupported(EngineError, NotImplementedError):
    """A request that this estimator's posterior does not support; the message names an estimator that does."""


class Cancelled(EngineError):
    """The caller's progress callback returned False."""


class NotConverged(UserWarning):
    """Warning: a fit stopped before it met its tolerance; see `posterior.diagnostics`."""
