"""What schemathesis is told besides the description: which of its requests are not what it takes them for."""

import schemathesis


@schemathesis.hook
def filter_case(context: schemathesis.HookContext, case: schemathesis.Case) -> bool:
    """Leaves out what should break the project's identifier: the one that is given stands in its place."""
    broken = getattr(case.meta.phase.data, "parameter", None) if case.meta else None
    return broken != "project_id"
