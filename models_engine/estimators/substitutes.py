"""What is fitted where there are too many items for the inference that was asked for."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from models_engine.messages import Message, gettext_noop
from models_engine.posterior import GaussianPosterior

__all__ = ["add_clause", "fit_in_place_of"]

Fitted = TypeVar("Fitted", bound=GaussianPosterior)
TOO_MANY_ITEMS = gettext_noop(
    'inference="%(asked)s" takes at most %(limit)d items and there are %(n)d: inference="%(used)s" was used'
)


def fit_in_place_of(asked: str, used: str, n_items: int, limit: int, fit: Callable[[], Fitted]) -> Fitted:
    """Return what `fit` returns, by the inference `used`, with a clause in its diagnostics' message that says so.

    limit: the most items that the inference asked for takes.
    """
    return add_clause(fit(), Message.of(TOO_MANY_ITEMS, asked=asked, limit=limit, n=n_items, used=used))


def add_clause(found: Fitted, clause: Message) -> Fitted:
    """Return the fit with one more clause in its diagnostics' message."""
    known = found.diagnostics
    return replace(found, diagnostics=replace(known, message=Message.joined(known.message, clause)))
