"""Describes workers that ended in the middle of a job."""

from django.utils.translation import gettext_noop

from annotate.core.stored_messages import store_message

ENDED = gettext_noop(
    "The engine process %(name)s stopped before it had finished. It may have been killed or have run out of memory."
)


def worker_died(owner: str) -> str:
    """Return the stored message that the worker of this claim ended; `owner` is NAME#TOKEN."""
    return store_message(ENDED, name=owner.partition("#")[0] or "?")
