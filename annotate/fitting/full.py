"""Tells the owners of a project that it is full, once for each number of answers that it holds."""

from datetime import datetime

from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from annotate.core.transactions import write_transaction
from annotate.fitting.owner_mails import mail_owners
from annotate.labelling.plan.capacity import Capacity, ending_capacity
from annotate.labelling.plan.queries import NO_LIMIT
from annotate.locks import advisory_lock
from annotate.models import FitState, Project, Webhook
from annotate.webhooks.actions import enqueue_event


def notify_when_full(project: Project, now: datetime) -> bool:
    """Tell owners and webhooks of a full open project, unless they know; return whether they were told.

    Who raises the overlap or adds items makes it hold more: when that is given too, they are told again.
    """
    found = ending_capacity(project) if project.overlap < NO_LIMIT else None
    if found is None or not found.is_full or not is_news(project, found, now):
        return False
    body = render_to_string("fitting/full.txt", {"project": project, "capacity": found})
    mail_owners(project, _("Your project is full"), body)
    return True


def is_news(project: Project, found: Capacity, now: datetime) -> bool:
    with write_transaction():
        advisory_lock(project.pk, shared=True)
        untold = FitState.objects.filter(project=project, told_full__lt=found.n_most)
        if not untold.update(told_full=found.n_most):
            return False
        data = {"answers": found.n_most, "overlap": found.overlap}
        enqueue_event(project_id=project.pk, event=Webhook.Event.FULL, data=data, now=now)
    return True
