"""The messages that the site itself sends (those about accounts are allauth's)."""

from typing import Any

from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.core.errors import format_moment
from annotate.models import Project, User


def send_in_name_of(by: User, address: str, subject: str, template: str, context: dict[str, Any]) -> None:
    """Send one message to one address; answers go to whoever had it sent. Raises what sending raises."""
    EmailMessage(
        subject=subject,
        body=render_to_string(template, {"by": by, **context}),
        to=[address],
        reply_to=[by.email] if by.email else [],
    ).send()


def send_invitation(*, project: Project, by: User, address: str, role: str, link: str, has_account: bool) -> None:
    """Tells an address that it was added, or asks its owner to get an account. Raises what sending raises."""
    context = {"project": project, "role": role, "link": link, "has_account": has_account}
    send_in_name_of(by, address, _("You are invited to a project on Crowdrank"), "accounts/invitation.txt", context)


def send_join_link(*, project: Project, by: User, address: str, link: str, words: str) -> None:
    """Asks an address to take part by the join link. Raises what sending raises."""
    context = {"project": project, "hours": hours_words(project), "link": link, "words": words}
    send_in_name_of(
        by, address, _("Will you take part? A few questions on Crowdrank"), "participation/join_invitation.txt", context
    )


def send_personal_link(*, project: Project, by: User, name: str, address: str, link: str, words: str) -> None:
    """Asks somebody on the roster to take part by their own link. Raises what sending raises."""
    context = {"project": project, "hours": hours_words(project), "name": name, "link": link, "words": words}
    send_in_name_of(
        by,
        address,
        _("Your personal link: a few questions on Crowdrank"),
        "participation/personal_invitation.txt",
        context,
    )


def hours_words(project: Project) -> str:
    """Say from when, if that is still to come, and until when the project takes answers; "" without either."""
    opens = project.opens_at if project.opens_at and project.opens_at > timezone.now() else None
    if opens and project.closes_at:
        times = {"start": format_moment(opens), "end": format_moment(project.closes_at)}
        return _("Answers are taken from %(start)s until %(end)s.") % times
    if opens:
        return _("Answers are taken from %(at)s.") % {"at": format_moment(opens)}
    if project.closes_at:
        return _("Answers are taken until %(at)s.") % {"at": format_moment(project.closes_at)}
    return ""


def send_reminder(
    *,
    project: Project,
    by: User,
    name: str,
    address: str,
    link: str,
    words: str,
    n_answered: int,
    number: int | None,
) -> None:
    """Ask somebody on the roster to go on by their own link. Raises what sending raises.

    number: how many answers are asked of each, where that is known.
    """
    context = {"project": project, "hours": hours_words(project), "name": name, "link": link, "words": words}
    context |= {"n_answered": n_answered, "number": number}
    send_in_name_of(by, address, _("Will you go on? Your answers on Crowdrank"), "participation/reminder.txt", context)


def send_asked_link(*, project: Project, name: str, address: str, link: str) -> None:
    """Send somebody the link that was asked for under their name. Raises what sending raises."""
    EmailMessage(
        subject=_("Your link: go on answering on Crowdrank"),
        body=render_to_string("participation/asked_link.txt", {"project": project, "name": name, "link": link}),
        to=[address],
    ).send()
