"""Lets a teacher choose in the platform which projects a course links to (LTI Deep Linking 2.0)."""

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from annotate.lti.launches import CLAIM, LtiRefused, is_teacher
from annotate.lti.messages import MAX_ADDRESS, MAX_DATA, SETTINGS, TeacherMessage, course_of
from annotate.lti.services import origin_of, sign_message
from annotate.models import LtiPlatform, Project

SPEC = "https://purl.imsglobal.org/spec/lti-dl/claim/"
KIND = "ltiResourceLink"


def read_deep_linking_request(platform: LtiPlatform, nonce: str, claims: dict[str, Any]) -> TeacherMessage:
    """Return what a deep linking request asks for. Raises LtiRefused."""
    if not is_teacher(claims):
        raise LtiRefused(_("Only teachers of the course can place a project in it."))
    asked = claims.get(SETTINGS)
    if not isinstance(asked, dict):
        raise LtiRefused(_("The platform's message does not say where the choice goes. Ask its administrator."))
    accepted, address, data = asked.get("accept_types"), asked.get("deep_link_return_url"), asked.get("data")
    if not isinstance(accepted, list) or KIND not in accepted:
        raise LtiRefused(_("The course takes no links to tools here. Add an external tool as an activity instead."))
    if not isinstance(address, str) or len(address) > MAX_ADDRESS or origin_of(address) != origin_of(platform.origin):
        raise LtiRefused(
            _("The choice would go to another site than the platform's pages (%(origin)s). Ask this site's operator.")
            % {"origin": platform.origin}
        )
    if data is not None and (not isinstance(data, str) or len(data) > MAX_DATA):
        raise LtiRefused(
            _("The platform's message carries more than %(limit)d characters of its own data.") % {"limit": MAX_DATA}
        )
    course, memberships_url = course_of(claims)
    return TeacherMessage(
        platform=platform.pk,
        nonce=nonce,
        course=course,
        memberships_url=memberships_url,
        deployment=str(claims[f"{CLAIM}deployment_id"]),
        return_url=address,
        data=data,
        several=asked.get("accept_multiple") is True,
        grades=asked.get("accept_lineitem") is not False,
    )


def signed_choice(
    *,
    platform: LtiPlatform,
    message: TeacherMessage,
    projects: Sequence[Project],
    grades: bool,
    url: str,
    now: datetime,
) -> str:
    """Return the signed answer that the browser takes to the platform. url: where the links are opened."""
    claims: dict[str, Any] = {
        "aud": platform.issuer,
        "nonce": secrets.token_urlsafe(16),
        f"{CLAIM}deployment_id": message.deployment,
        f"{CLAIM}message_type": "LtiDeepLinkingResponse",
        f"{CLAIM}version": "1.3.0",
        f"{SPEC}content_items": [content_item(one, grades and message.grades, url) for one in projects],
    }
    if message.data is not None:
        claims[f"{SPEC}data"] = message.data
    return sign_message(platform, claims, now)


def content_item(project: Project, grades: bool, url: str) -> dict[str, Any]:
    item: dict[str, Any] = {
        "type": KIND,
        "title": project.name,
        "text": project.question,
        "url": url,
        "custom": {"project": project.join_token},
    }
    if grades:
        item["lineItem"] = {"scoreMaximum": 1, "label": project.name, "resourceId": str(project.pk)}
    return item
