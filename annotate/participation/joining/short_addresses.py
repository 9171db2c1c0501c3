"""Short addresses for typing, such as /j/k7mqw4x/, which projects have only where their owner wants one."""

import secrets
from datetime import datetime

from annotate.audit import record_event
from annotate.core.transactions import write_transaction
from annotate.locks import lock_project
from annotate.models import EventVerb, Project, User

# Without 0 and o, 1, i and l, which are easily taken for one another: 2.75e10 codes.
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
LENGTH = 7


def new_code() -> str:
    """Return a code that no project has."""
    while True:
        code = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
        if not Project.objects.filter(join_code=code).exists():
            return code


def normalize_code(typed: str) -> str:
    """Return the code as it is stored, whatever case, spaces or dashes it was typed with; "" for what can be none."""
    code = "".join(typed.split()).replace("-", "").lower()
    return code if len(code) == LENGTH and set(code) <= set(LETTERS) else ""


def switch_short_address(*, project: Project, actor: User, on: bool, now: datetime) -> bool:
    """Give the project a short address, or take it away for good; False if nothing changed."""
    with write_transaction():
        project = lock_project(project.pk)
        if bool(project.join_code) == on:
            return False
        project.join_code = new_code() if on else None
        project.save(update_fields=["join_code"])
        verb = EventVerb.SHORT_ADDRESS_ON if on else EventVerb.SHORT_ADDRESS_OFF
        record_event(project, actor, verb, now)
    return True
