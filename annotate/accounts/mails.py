"""The messages that the site itself sends (those about accounts are allauth's)."""

from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from annotate.models import Project, User


def send_invitation(*, project: Project, by: User, address: str, role: str, link: str, has_account: bool) -> None:
    """Tells an address that it was added, or asks its owner to get an account. Raises what sending raises."""
    context = {"project": project, "by": by, "role": role, "link": link, "has_account": has_account}
    EmailMessage(
        subject=_("You are invited to a project on Crowdrank"),
        body=render_to_string("accounts/invitation.txt", context),
        to=[address],
        reply_to=[by.email] if by.email else [],
    ).send()


def send_join_link(*, project: Project, by: User, address: str, link: str, words: str) -> None:
    """Asks an address to take part by the join link. Raises what sending raises."""
    context = {"project": project, "by": by, "link": link, "words": words}
    EmailMessage(
        subject=_("Will you take part? A few questions on Crowdrank"),
        body=render_to_string("participation/join_invitation.txt", context),
        to=[address],
        reply_to=[by.email] if by.email else [],
    ).send()


def send_personal_link(*, project: Project, by: User, name: str, address: str, link: str, words: str) -> None:
    """Asks somebody on the roster to take part by their own link. Raises what sending raises."""
    context = {"project": project, "by": by, "name": name, "link": link, "words": words}
    EmailMessage(
        subject=_("Your personal link: a few questions on Crowdrank"),
        body=render_to_string("participation/personal_invitation.txt", context),
        to=[address],
        reply_to=[by.email] if by.email else [],
    ).send()


def send_asked_link(*, project: Project, name: str, address: str, link: str) -> None:
    """Sends somebody the link that was asked for under their name. Raises what sending raises."""
    EmailMessage(
        subject=_("Your link: go on answering on Crowdrank"),
        body=render_to_string("participation/asked_link.txt", {"project": project, "name": name, "link": link}),
        to=[address],
    ).send()
