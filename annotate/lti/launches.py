"""Checks launches of a learning platform (LTI 1.3 core, sections 4 and 5; its security framework, section 5.1)."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.core import signing
from django.core.cache import cache
from django.db.models import Q
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from annotate.accounts.id_tokens import TokenRefused, verify_token
from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.labelling.navigation import RNG
from annotate.locks import lock_project
from annotate.models import Annotator, ExpectedPerson, LtiLearner, LtiPlatform, Project
from annotate.participation.joining.actions import PlatformVisit, join_by_platform
from annotate.webhooks.delivery import RETRY_PAUSES

CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
ENDPOINT = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
SCORE_SCOPE = "https://purl.imsglobal.org/spec/lti-ags/scope/score"
LINK, CHOOSE = "LtiResourceLinkRequest", "LtiDeepLinkingRequest"  # types of messages
SECONDS = 600  # from the platform's first request to its answer
TEACHES = ("#Instructor", "#Administrator", "#ContentDeveloper")


class LtiRefused(UserError):
    status = 400


class CookieMissing(LtiRefused):
    def __init__(self) -> None:
        super().__init__(
            _("Your browser did not keep the cookie of this launch. Allow cookies, or open the task in a new window.")
        )


class UnknownPlatform(UserError):
    status = 404

    def __init__(self) -> None:
        super().__init__(_("This site does not know the learning platform. Ask its operator to register it."))


@dataclass(frozen=True)
class Launch:
    platform: LtiPlatform
    project: Project
    subject: str
    teaches: bool
    lineitem: str


def find_platform(issuer: str, client_id: str) -> LtiPlatform:
    """Return the registered platform; it may leave out the client id where it has one alone. Raises UnknownPlatform."""
    found = LtiPlatform.objects.filter(issuer=issuer, active=True)
    platforms = list(found.filter(client_id=client_id) if client_id else found[:2])
    if len(platforms) != 1:
        raise UnknownPlatform
    return platforms[0]


def begin(platform: LtiPlatform, asked: dict[str, str], launch_url: str) -> tuple[str, str]:
    """Return the platform's address to send the browser to, and the state that the browser keeps."""
    nonce = secrets.token_urlsafe(24)
    state = signing.dumps({"platform": platform.pk, "nonce": nonce}, salt="lti state")
    query = {
        "scope": "openid",
        "response_type": "id_token",
        "response_mode": "form_post",
        "prompt": "none",
        "client_id": platform.client_id,
        "redirect_uri": launch_url,
        "login_hint": asked["login_hint"],
        "state": state,
        "nonce": nonce,
    }
    if asked.get("lti_message_hint"):
        query["lti_message_hint"] = asked["lti_message_hint"]
    return f"{platform.auth_url}{'&' if '?' in platform.auth_url else '?'}{urlencode(query)}", state


def platform_answering(state: str, kept: str) -> tuple[LtiPlatform, str]:
    """Return the platform that a launch began at, and its nonce. Raises LtiRefused."""
    if not kept or not constant_time_compare(state, kept):
        raise CookieMissing
    try:
        state_values = signing.loads(state, salt="lti state", max_age=SECONDS)
    except signing.BadSignature:
        raise LtiRefused(_("This launch is too old. Go back to the course and open the task again.")) from None
    platform = LtiPlatform.objects.filter(pk=state_values["platform"], active=True).first()
    if platform is None:
        raise UnknownPlatform
    return platform, state_values["nonce"]


def check_began_here(kept: str, nonce: str) -> None:
    """Raise CookieMissing in a browser other than the one in which the launch with this nonce began."""
    try:
        state_values = signing.loads(kept, salt="lti state", max_age=SECONDS)
    except signing.BadSignature:
        raise CookieMissing from None
    if not constant_time_compare(str(state_values["nonce"]), nonce):
        raise CookieMissing


def check_message(platform: LtiPlatform, nonce: str, token: str) -> dict[str, Any]:
    """Return what the platform's message says; a message is taken once. Raises LtiRefused."""
    again = _("Go back to the course and open the task again.")
    try:
        claims = verify_token(
            token, keys_url=platform.keys_url, issuer=platform.issuer, audience=platform.client_id, nonce=nonce
        )
    except TokenRefused as error:
        raise LtiRefused(
            _("The message of %(name)s was not accepted (%(why)s).") % {"name": platform.name, "why": error}
            + " "
            + again
        ) from error
    if not cache.add(f"lti-nonce-{nonce}", 1, timeout=2 * SECONDS):
        raise LtiRefused(_("This launch was used already.") + " " + again)
    if claims.get(f"{CLAIM}deployment_id") not in platform.deployment_ids.split():
        raise LtiRefused(_("This course's deployment is not registered here. Ask the operator of this site to add it."))
    if claims.get(f"{CLAIM}message_type") not in (LINK, CHOOSE) or claims.get(f"{CLAIM}version") != "1.3.0":
        raise LtiRefused(
            _("This site answers LTI 1.3 resource links and deep linking alone. Add it as an external tool link.")
        )
    return claims


def launch_of(platform: LtiPlatform, claims: dict[str, Any]) -> Launch:
    """Return what a resource link asks for. Raises LtiRefused."""
    return Launch(platform, project_of(claims), claims["sub"], is_teacher(claims), lineitem_of(claims))


def project_of(claims: dict[str, Any]) -> Project:
    """Return the project whose join code the link's custom parameter `project` names. Raises LtiRefused."""
    custom = claims.get(f"{CLAIM}custom")
    code = str(custom.get("project", "")) if isinstance(custom, dict) else ""
    found = Project.objects.filter(join_token=code).first() if code else None
    if found is None:
        raise LtiRefused(
            _("The link names no project. Add the custom parameter project=CODE: the last part of its join link.")
        )
    return found


def is_teacher(claims: dict[str, Any]) -> bool:
    roles = claims.get(f"{CLAIM}roles")
    return any(str(role).endswith(TEACHES) for role in roles) if isinstance(roles, list) else False


def lineitem_of(claims: dict[str, Any]) -> str:
    """Return where grades go, where the platform takes scores."""
    endpoint = claims.get(ENDPOINT)
    if not isinstance(endpoint, dict) or SCORE_SCOPE not in endpoint.get("scope", []):
        return ""
    address = str(endpoint.get("lineitem", ""))
    return address if len(address) <= 1000 else ""


def participant_id(launch: Launch) -> str:
    name = f"lti-{launch.platform.pk}-{launch.subject}"
    return name if len(name) <= 200 else f"lti-{launch.platform.pk}-{hashlib.sha256(name.encode()).hexdigest()}"


def arrive(launch: Launch, now: datetime) -> Annotator | ExpectedPerson:
    """Return who this learner is: an annotator, or somebody on the roster who has not joined yet and is asked first.

    The course may be brought in at the same moment: then this waits for it, or that for this. Raises what joining
    raises.
    """
    with write_transaction():
        lock_project(launch.project.pk)
        person = expected_learner(launch)
        annotator = person.annotator if person and person.annotator else annotator_of(launch)
        if person and launch.lineitem:
            ExpectedPerson.objects.filter(pk=person.pk).update(lineitem=launch.lineitem)
        if person and annotator is None:
            return person
        return admit(launch, annotator, now)


def expected_learner(launch: Launch) -> ExpectedPerson | None:
    people = ExpectedPerson.objects.filter(project=launch.project, platform=launch.platform, subject=launch.subject)
    return people.select_related("annotator__project").first()


def annotator_of(launch: Launch) -> Annotator | None:
    """Return who takes part as this learner already, under a pseudonym or from a roster that names them no more."""
    by_platform = Q(platform_id=participant_id(launch))
    by_roster = Q(lti__platform=launch.platform, lti__subject=launch.subject)
    known = Annotator.objects.select_related("project").filter(by_platform | by_roster, project=launch.project)
    return known.order_by("pk").first()


def keep_lineitem(annotator: Annotator, launch: Launch, now: datetime) -> None:
    """Note where the grade goes; a new address gets it anew, one that did not take it in all tries is tried again."""
    again = {"sent_at": None, "attempts": 0, "not_before": now, "last_error": ""}
    sent_or_tried = Q(sent_at__isnull=False) | Q(attempts__lte=len(RETRY_PAUSES))
    changed = LtiLearner.objects.filter(annotator=annotator).exclude(sent_or_tried, lineitem=launch.lineitem)
    changed.update(lineitem=launch.lineitem, **again)


def admit(launch: Launch, annotator: Annotator | None, now: datetime) -> Annotator:
    """Return the learner's annotator, a new one under a pseudonym. Raises what joining raises."""
    if annotator is None:
        visit = PlatformVisit(participant_id(launch))
        annotator, _new = join_by_platform(project=launch.project, visit=visit, version="", now=now, rng=RNG)
    values = {"platform": launch.platform, "subject": launch.subject[:255], "not_before": now}
    LtiLearner.objects.get_or_create(annotator=annotator, defaults=values)
    if launch.lineitem:
        keep_lineitem(annotator, launch, now)
    return annotator
