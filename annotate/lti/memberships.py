"""Reads who is in a course, page by page (LTI Names and Role Provisioning Services 2.0)."""

import json
import re
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urljoin

from django.utils.translation import gettext as _

from annotate.core.errors import UserError
from annotate.lti.launches import TEACHES
from annotate.lti.services import Refused, access_token, origin_of
from annotate.models import MAX_EXPECTED_PEOPLE, LtiCourse
from annotate.webhooks.http_client import Unreachable, fetch

SCOPE = "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly"
MEDIA_TYPE = "application/vnd.ims.lti-nrps.v2.membershipcontainer+json"
MAX_PAGES = 40
MAX_PAGE_BYTES = 5_000_000
MAX_SECONDS = 25.0  # for all pages: somebody waits
LINK = re.compile(r"<([^<>]*)>([^<]*)")


class CourseRefused(UserError):
    status = 409


class CourseTooLarge(UserError):
    status = 422

    def __init__(self) -> None:
        super().__init__(
            _("The course has more than %(limit)d people, so nobody was added. Bring in a smaller course.")
            % {"limit": MAX_EXPECTED_PEOPLE}
        )


@dataclass(frozen=True)
class CourseMember:
    """Who the platform says is in the course; the name may be empty, the e-mail address is for finding who is known."""

    subject: str
    name: str
    email: str
    teaches: bool


def fetch_members(course: LtiCourse, now: datetime) -> list[CourseMember]:
    """Return the course's active people. Raises CourseRefused and CourseTooLarge; then nothing is known."""
    try:
        return read_pages(course, now)
    except Unreachable as error:
        reason = str(error)
    except Refused as error:
        reason = _("The answer was not a list of people (%(why)s).") % {"why": error}
    raise CourseRefused(
        _("%(platform)s did not give the people of the course, so nobody was added. %(why)s Try again later.")
        % {"platform": course.platform.name, "why": reason}
    )


def read_pages(course: LtiCourse, now: datetime) -> list[CourseMember]:
    end = time.monotonic() + MAX_SECONDS
    token = access_token(course.platform, SCOPE, now)
    headers = {"Authorization": f"Bearer {token}", "Accept": MEDIA_TYPE}
    found: dict[str, CourseMember] = {}
    address, n_pages = course.memberships_url, 0
    while address:
        n_pages += 1
        if n_pages > MAX_PAGES:
            raise CourseTooLarge
        if time.monotonic() > end:
            raise Refused(f"not complete after {MAX_SECONDS:.0f} seconds")
        answer = fetch(address, headers, max_bytes=MAX_PAGE_BYTES + 1)
        for member in members_in(answer.status, answer.body):
            found[member.subject] = member
        if len(found) > MAX_EXPECTED_PEOPLE:
            raise CourseTooLarge
        address = next_page(address, answer.headers.get("link", ""))
    return list(found.values())


def next_page(address: str, link: str) -> str:
    """Return the address of the next page, "" after the last; the token is sent to the same origin alone."""
    for target, parameters in LINK.findall(link):
        if re.search(r';\s*rel\s*=\s*"?next"?', parameters, re.IGNORECASE):
            following = urljoin(address, target.strip())
            if origin_of(following) != origin_of(address):
                raise Refused("the next page is on another site")
            return following
    return ""


def members_in(status: int, body: bytes) -> list[CourseMember]:
    """Return the active people of one page. Raises Refused."""
    if status != 200:
        raise Refused(f"HTTP {status}")
    if len(body) > MAX_PAGE_BYTES:
        raise Refused(f"more than {MAX_PAGE_BYTES:,} bytes")
    try:
        container = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused("no JSON") from None
    rows = container.get("members") if isinstance(container, dict) else None
    if not isinstance(rows, list):
        raise Refused("no members")
    return [member_of(row) for row in rows if is_active(row)]


def is_active(row: Any) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("user_id"), str) or not 0 < len(row["user_id"]) <= 255:
        raise Refused("a member without a user_id")
    return row.get("status", "Active") == "Active"


def member_of(row: dict[str, Any]) -> CourseMember:
    roles = row.get("roles")
    roles = [str(role) for role in roles] if isinstance(roles, list) else []
    parts = [row.get(part) for part in ("given_name", "family_name")]
    name = row.get("name") or " ".join(part for part in parts if isinstance(part, str))
    email = row.get("email")
    return CourseMember(
        subject=row["user_id"],
        name=name if isinstance(name, str) else "",
        email=email.strip() if isinstance(email, str) else "",
        teaches=any(role.endswith(TEACHES) or role in SHORT_ROLES for role in roles),
    )


SHORT_ROLES = tuple(role[1:] for role in TEACHES)  # as some platforms write them, without the vocabulary
