"""Arriving from a platform: its link says who comes; the same person goes on, nobody goes on as another."""

import re

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.core import rate_limits
from annotate.labelling.navigation import RNG, redirect_to_task
from annotate.labelling.not_open import not_open_page
from annotate.labelling.requirements import AlreadyStartedElsewhere, BadPlatformLink, NoPlaceLeft
from annotate.labelling.views import open_first_task
from annotate.labelling.wording import content_language
from annotate.models import MAX_ID_LENGTH, Annotator, ParticipationRules
from annotate.participation.completion.actions import reject_when_full
from annotate.participation.completion.codes import return_link
from annotate.participation.consent.declined import declined_page
from annotate.participation.consent.queries import consent_text, is_current_version
from annotate.participation.joining.actions import PlatformVisit, join_by_platform, record_refused_browser
from annotate.participation.places import n_places_taken
from annotate.participation.rules import participation_rules

MIN_SESSION_LENGTH = 16  # characters of a session's number that nobody guesses
PLACEHOLDER = re.compile(r"[{}%$<>\[\]]")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def arrive(request: HttpRequest, token: str) -> HttpResponse:
    """Let in a platform's participants. Only a POST makes an annotator: links are followed by machines too."""
    try:
        entry = access.participation_rules_by_platform(token)
    except Http404:
        rate_limits.check_rate_limit(request, "join")
        raise
    project = entry.project
    if access.role_in(request.user, project.pk) in access.ANNOTATE:
        return redirect_to_task(project.pk)
    visit = parse_visit(request, entry)
    known = access.annotator_for(request, project.pk)
    if known and known.platform_id == visit.participant:
        return redirect_to_task(project.pk)
    if request.method == "POST":
        rate_limits.check_rate_limit(request, "join")
    earlier = Annotator.objects.select_related("project").filter(project=project, platform_id=visit.participant).first()
    if earlier:
        return resume_from_platform(request, earlier, visit)
    closed = not_open_page(request, project)
    if closed:
        return closed
    if entry.places is not None and n_places_taken(entry, timezone.now()) >= entry.places:
        return full_page(request, entry, visit)
    return enter(request, entry, visit)


def enter(request: HttpRequest, entry: ParticipationRules, visit: PlatformVisit) -> HttpResponse:
    project = entry.project
    if request.method == "POST" and request.POST.get("consent") == "no":
        return declined_page(request, project, visit.participant)
    version = request.POST.get("version", "")
    if request.method != "POST" or not is_current_version(project, version):
        context = {"project": project, "entry": entry, "visit": visit}
        context["consent"] = consent_text(project, content_language(request, project))
        return render(request, "participation/arrive.html", context)
    try:
        annotator, is_new = join_by_platform(project=project, visit=visit, version=version, now=timezone.now(), rng=RNG)
    except NoPlaceLeft:
        return full_page(request, entry, visit)
    if not is_new:  # the form sent twice, or a second browser a moment later
        return resume_from_platform(request, annotator, visit)
    access.remember_annotator(request, annotator)
    open_first_task(annotator)
    return redirect_to_task(project.pk)


def resume_from_platform(request: HttpRequest, annotator: Annotator, visit: PlatformVisit) -> HttpResponse:
    """Let another browser in under a participant's number that is in already.

    A participant's number is known to many and can be guessed, so it proves nothing. The session's number is known to
    the platform and the participant alone: where it is the same as at first, and long, its bearer goes on here.
    """
    first = annotator.platform_session
    if len(first) < MIN_SESSION_LENGTH or not constant_time_compare(first, visit.session):
        rate_limits.check_rate_limit(request, "join")
        record_refused_browser(annotator, timezone.now())
        raise AlreadyStartedElsewhere
    if request.method != "POST":
        return render(request, "participation/resume.html", {"project": annotator.project, "annotator": annotator})
    access.remember_annotator(request, annotator)
    return redirect_to_task(annotator.project_id)


def full_page(request: HttpRequest, entry: ParticipationRules, visit: PlatformVisit) -> HttpResponse:
    rate_limits.check_rate_limit(request, "join")
    completion = reject_when_full(project=entry.project, participant=visit.participant, now=timezone.now())
    context = {
        "project": entry.project,
        "entry": participation_rules(entry.project),
        "completion": completion,
        "link": return_link(entry, completion.code, visit.participant),
        "n_labels": 0,
    }
    return render(request, "participation/done.html", context)


def parse_visit(request: HttpRequest, entry: ParticipationRules) -> PlatformVisit:
    """Return who comes, by the link's parameters. Raises BadPlatformLink."""
    participant = parse_parameter(request, entry.participant_parameter)
    if not participant:
        raise BadPlatformLink(
            _(
                "The link does not say who you are: its parameter “%(name)s” is missing or empty. Open the study "
                "from the platform's page again. If that does not help, tell the researcher there."
            )
            % {"name": entry.participant_parameter}
        )
    study, session = (parse_parameter(request, name) for name in (entry.study_parameter, entry.session_parameter))
    return PlatformVisit(participant, study, session)


def parse_parameter(request: HttpRequest, name: str) -> str:
    """Return one parameter of the link, "" if it is not there. Raises BadPlatformLink for what no platform
    would send."""
    value = request.GET.get(name, "").strip() if name else ""
    if PLACEHOLDER.search(value):
        raise BadPlatformLink(
            _(
                "The platform did not fill in the link: its parameter “%(name)s” is still “%(value)s”. Open the "
                "study from the platform's page. If you are the researcher, check how the platform fills in the "
                "study's URL."
            )
            % {"name": name, "value": value[:60]}
        )
    if len(value) > MAX_ID_LENGTH or not value.isprintable():
        raise BadPlatformLink(
            _(
                "The link's parameter “%(name)s” is too long or contains invisible characters. It has %(n)d "
                "characters; the limit is %(limit)d."
            )
            % {"name": name, "n": len(value), "limit": MAX_ID_LENGTH}
        )
    return value
