"""What a command about label archives refuses or finds wrong."""

from collections.abc import Iterator
from contextlib import contextmanager

from annotate.models import LabelArchive, Project


class LabelArchiveError(Exception):
    """Its message is for the operator."""


@contextmanager
def deletion_told() -> Iterator[None]:
    """Raise LabelArchiveError where what a command works on is deleted by somebody else meanwhile."""
    try:
        yield
    except Project.DoesNotExist as error:
        raise LabelArchiveError("The project has been deleted meanwhile.") from error
    except LabelArchive.DoesNotExist as error:
        raise LabelArchiveError("Another command has brought the labels back meanwhile.") from error
