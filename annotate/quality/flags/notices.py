"""Tells webhooks of annotators who are flagged for the first time, after each fit; the pages look for themselves."""

from collections.abc import Sequence
from datetime import datetime

from annotate.core.transactions import write_transaction
from annotate.locks import advisory_lock
from annotate.models import Annotator, Project, Webhook
from annotate.quality.flags.queries import Flag, annotator_checks
from annotate.webhooks.actions import enqueue_event

EVENT = Webhook.Event.FLAG_RAISED


def notify_new_flags(*, project: Project, since: datetime | None, now: datetime) -> int:
    """Look at annotators with labels since then, where some webhook wants to know; how many flags were new.

    A flag that has gone and comes again is told again.
    """
    if not any(EVENT in events for events in project.webhooks.filter(active=True).values_list("events", flat=True)):
        return 0
    people = Annotator.objects.filter(project=project, excluded_at=None, labels__voided_at=None)
    people = people.filter(labels__created_at__gte=since) if since else people.filter(labels__isnull=False)
    found = {person.pk: person.flagged for person in people.distinct()}
    n_told = 0
    for pk, figures in annotator_checks(project, [*found]).items():
        if sorted(flag.name for flag in figures.flags) != found[pk]:
            n_told += note_flags(project, pk, figures.flags, now)
    return n_told


def note_flags(project: Project, annotator: int, flags: Sequence[Flag], now: datetime) -> int:
    """Store which flags are up and tell of those that were not; how many.

    Nothing of somebody who has been erased or excluded since.
    """
    with write_transaction():
        advisory_lock(project.pk, shared=True)
        person = Annotator.objects.filter(pk=annotator, excluded_at=None).first()
        if person is None:
            return 0
        new = [flag for flag in flags if flag.name not in person.flagged]
        Annotator.objects.filter(pk=annotator).update(flagged=sorted(flag.name for flag in flags))
        for flag in new:
            data = {"annotator": str(person.key), "pseudonym": person.pseudonym, "flag": flag.name, "why": flag.words}
            enqueue_event(project_id=project.pk, event=EVENT, data=data, now=now)
    return len(new)
