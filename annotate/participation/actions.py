"""Who may take part: changing the rules, taking a place, agreeing to the consent text."""

from datetime import datetime
from typing import Any

from annotate.audit import changes_as_json, record_event
from annotate.core.transactions import write_transaction
from annotate.locks import lock_project
from annotate.models import (
    EventVerb,
    ParticipationRules,
    Project,
    User,
    new_token,
)
from annotate.participation.consent.actions import save_consent_text
from annotate.participation.joining.short_addresses import new_code
from annotate.participation.rules import has_ending, participation_rules

MASKED = "•••"
# Codes are worth money on a platform: the history says that one changed, not what to.
CODE_FIELDS = ("complete_code", "screened_out_code", "quota_full_code", "no_consent_code")


def change_rules(*, project: Project, actor: User, values: dict[str, Any], now: datetime) -> list[str]:
    """Return sets these fields of Entry; the names of those that changed."""
    with write_transaction():
        project = lock_project(project.pk)
        entry = participation_rules(project)
        changes = {name: [getattr(entry, name), value] for name, value in values.items()}
        changes = {name: both for name, both in changes.items() if both[0] != both[1]}
        if not changes:
            return []
        for name in changes:
            setattr(entry, name, values[name])
        entry.save()
        project.consent_version = save_consent_text(project, entry.consent, now)
        project.has_ending = has_ending(project, entry)
        project.save(update_fields=["consent_version", "has_ending"])
        record_event(project, actor, EventVerb.ENTRY_CHANGED, now, **changes_as_json(mask_codes(changes)))
    return [*changes]


def mask_codes(changes: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {
        name: [value and MASKED for value in both] if name in CODE_FIELDS else both for name, both in changes.items()
    }


def replace_platform_link(*, project: Project, actor: User, now: datetime) -> None:
    """Replace the platform link: the old one stops working, people who came by it stay."""
    with write_transaction():
        lock_project(project.pk)
        ParticipationRules.objects.filter(project=project).update(platform_token=new_token())
        record_event(project, actor, EventVerb.PLATFORM_LINK_REPLACED, now)


def replace_join_link(*, project: Project, actor: User, now: datetime) -> None:
    """Replace the join link, and the short address if there is one: the old ones stop working, people who joined
    stay."""
    with write_transaction():
        has_code = lock_project(project.pk).join_code
        project.join_token = new_token()
        project.join_code = new_code() if has_code else None
        project.save(update_fields=["join_token", "join_code"])
        record_event(project, actor, EventVerb.JOIN_LINK_REPLACED, now)
