"""Many cases in one test, where making what they need takes longer than trying one; each that fails is named."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest


@contextmanager
def each_case() -> Iterator[Callable[[str], AbstractContextManager[None]]]:
    """`with each_case() as case:` and in it `with case("name"):` around each; at the end all failures are raised."""
    errors: list[BaseException] = []

    @contextmanager
    def case(name: str) -> Iterator[None]:
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"the case {name}")
            errors.append(error)

    yield case
    if errors:
        raise BaseExceptionGroup("Of the cases these failed", errors)
