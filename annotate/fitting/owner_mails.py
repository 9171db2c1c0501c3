"""Writes to the owners of a project."""

import logging

from django.core.mail import EmailMessage

from annotate.models import Membership, Project

logger = logging.getLogger("annotate.worker")


def mail_owners(project: Project, subject: str, body: str) -> None:
    """Write to each owner who has an address; a message that cannot be sent is left out, and logged."""
    owners = project.memberships.filter(role=Membership.Role.OWNER).exclude(user__email="")
    for address in owners.values_list("user__email", flat=True):
        try:
            EmailMessage(subject=subject, body=body, to=[address]).send()
        except Exception:
            logger.exception("A message to an owner of project %s could not be sent.", project.pk)
