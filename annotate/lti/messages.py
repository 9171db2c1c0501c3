"""Keeps what a teacher's message asked for, while the teacher signs in and chooses in a window of its own."""

from dataclasses import asdict, dataclass
from typing import Any

from django.core import signing
from django.core.cache import cache
from django.utils.translation import gettext as _

from annotate.lti.launches import CLAIM, LtiRefused
from annotate.models import LtiPlatform

KEPT_SECONDS = 3600
SALT = "lti message"
ROSTER = "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice"
SETTINGS = "https://purl.imsglobal.org/spec/lti-dl/claim/deep_linking_settings"
MAX_ADDRESS = 1000
MAX_DATA = 20_000


@dataclass(frozen=True)
class TeacherMessage:
    """What stays of a message: where the roster of its course is (if the platform gives one), the project of a link,
    and of a deep linking request where the choice goes and what may be chosen."""

    platform: int
    nonce: str
    course: str
    memberships_url: str
    project: str = ""
    deployment: str = ""
    return_url: str = ""
    data: str | None = None
    several: bool = False
    grades: bool = True


def course_of(claims: dict[str, Any]) -> tuple[str, str]:
    """Return the title of the course, and where its roster is; either may be empty."""
    context, service = claims.get(f"{CLAIM}context"), claims.get(ROSTER)
    title = context.get("title") or context.get("label") if isinstance(context, dict) else ""
    address = service.get("context_memberships_url") if isinstance(service, dict) else ""
    is_address = isinstance(address, str) and len(address) <= MAX_ADDRESS
    return " ".join(title.split())[:200] if isinstance(title, str) else "", str(address) if is_address else ""


def keep(message: TeacherMessage) -> str:
    """Return a token by which the message is found for an hour."""
    cache.set(f"lti-message-{message.nonce}", asdict(message), timeout=KEPT_SECONDS)
    return signing.dumps(message.nonce, salt=SALT)


def find(token: str) -> tuple[TeacherMessage, LtiPlatform]:
    """Return what was kept, and its platform. Raises LtiRefused."""
    try:
        nonce = signing.loads(token, salt=SALT, max_age=KEPT_SECONDS)
    except signing.BadSignature:
        nonce = ""
    kept = cache.get(f"lti-message-{nonce}") if nonce else None
    platform = LtiPlatform.objects.filter(pk=kept["platform"], active=True).first() if kept else None
    if kept is None or platform is None:
        raise MessageGone
    return TeacherMessage(**kept), platform


def forget(message: TeacherMessage) -> bool:
    """Use the message up; False where that had happened before."""
    is_first: bool = cache.add(f"lti-used-{message.nonce}", 1, timeout=2 * KEPT_SECONDS)
    cache.delete_many([f"lti-message-{message.nonce}", choice_key(message)])
    return is_first


def keep_choice(message: TeacherMessage, choice: dict[str, Any]) -> None:
    cache.set(choice_key(message), choice, timeout=KEPT_SECONDS)


def find_choice(message: TeacherMessage) -> dict[str, Any] | None:
    found: dict[str, Any] | None = cache.get(choice_key(message))
    return found


def choice_key(message: TeacherMessage) -> str:
    return f"lti-choice-{message.nonce}"


class MessageGone(LtiRefused):
    status = 404

    def __init__(self) -> None:
        super().__init__(_("This launch is too old or was used already. Go back to the course and begin again."))
