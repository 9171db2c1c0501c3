"""The types of the API's problem details: programs tell errors apart by them, so none may change."""

import pkgutil
from importlib import import_module

import pytest

import annotate
from annotate.api.problems import error_code
from annotate.core.errors import UserError

KNOWN = set(
    """
    archived bad-answer bad-file bad-platform-link came-before cap-reached
    consent-first criteria-fixed detour ended erased erased-already
    excluded excluded-already fields-changed fields-first fixed-by-labels has-right-answer
    import-running imported-before item-gone join-link-off key-taken last-owner
    link-over member-already no-place-left no-such-cohorts no-such-step not-excluded
    not-finished not-now not-open not-screened-out nothing-to-compare nothing-to-compare-yet
    nothing-to-import nothing-to-record nothing-to-undo owners-only pseudonym-taken screened-out
    sitting-over still-owner too-few-items too-many too-many-features too-many-links
    too-many-tags too-many-tokens too-many-webhooks too-soon upload-gone was-shown
    """.split()
)


def errors(parent: type[UserError]) -> set[type[UserError]]:
    children = set(parent.__subclasses__())
    return children.union(*(errors(child) for child in children))


@pytest.mark.slow
def test_no_error_that_programs_may_know_has_another_type():
    for module in pkgutil.walk_packages(annotate.__path__, "annotate."):
        if not module.name.startswith("annotate.migrations"):
            import_module(module.name)
    found = {error_code(error) for error in errors(UserError)}
    assert found >= KNOWN
