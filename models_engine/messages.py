"""Message: an English text that also says which sentence it is and what was put in, so that others can translate it."""

from typing import Self

__all__ = ["RAISE_ITERATIONS", "SPLIT_RHAT", "Message", "gettext_noop", "message_of", "propagation_message"]

Argument = str | int | float


def gettext_noop(text: str) -> str:
    """Mark a text for xgettext and return it as it is; who shows it looks up its translation."""
    return text


class Message(str):
    """The text in English. A plain str to whoever only prints or compares it.

    parts: (msgid, arguments) of each clause; a text of one's own language is "; " between `msgid % arguments`.

    >>> Message.of(gettext_noop("largest step below %(tolerance)s"), tolerance=1e-8)
    'largest step below 1e-08'
    """

    parts: tuple[tuple[str, dict[str, Argument]], ...] = ()

    @classmethod
    def of(cls, msgid: str, **arguments: Argument) -> Self:
        """Return the message of one clause; numbers may be given as text, as they are to be read."""
        made = cls(msgid % arguments)
        made.parts = ((msgid, arguments),)
        return made

    @classmethod
    def joined(cls, *messages: str) -> Self:
        """Return one message of several; a text that is no Message stays as it is in every language."""
        made = cls("; ".join(messages))
        each = [one if isinstance(one, Message) else Message.of("%(text)s", text=one) for one in messages]
        made.parts = tuple(part for one in each for part in one.parts)
        return made


def message_of(error: Exception) -> str:
    """Return an error's text, as the Message that it was raised with where there is one."""
    return error.args[0] if error.args and isinstance(error.args[0], Message) else str(error)


# What several estimators say.
SPLIT_RHAT = gettext_noop("split R-hat of the utilities at most %(spread)s; 1.05 or less counts as converged")
RAISE_ITERATIONS = gettext_noop("this is not below %(tolerance)s: raise max_iterations")


def propagation_message(converged: bool, change: float, n_iterations: int, tolerance: float) -> Message:
    """Return how expectation propagation ended."""
    text = gettext_noop("expectation propagation: last change %(change)s after %(n)d iterations")
    message = Message.of(text, change=f"{change:.1g}", n=n_iterations)
    if converged:
        return message
    return Message.joined(message, Message.of(RAISE_ITERATIONS, tolerance=f"{tolerance:g}"))
