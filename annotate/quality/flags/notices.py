"""Tells webhooks of annotators who are flagged for the first time, after each fit; the pages look for themselves."""

from datetime import datetime

from annotate.models import Annotator, Project, Webhook
from annotate.quality.flags.queries import annotator_checks
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
    found = {person.pk: person for person in people.distinct()}
    n_told = 0
    for pk, figures in annotator_checks(project, [*found]).items():
        person, flags = found[pk], figures.flags
        new = [flag for flag in flags if flag.name not in person.flagged]
        names = sorted(flag.name for flag in flags)
        if names != person.flagged:
            Annotator.objects.filter(pk=pk).update(flagged=names)
        for flag in new:
            data = {"annotator": str(person.key), "pseudonym": person.pseudonym, "flag": flag.name, "why": flag.words}
            enqueue_event(project_id=project.pk, event=EVENT, data=data, now=now)
        n_told += len(new)
    return n_told
