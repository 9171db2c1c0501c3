"""Arriving from a platform: its link says who comes; the same person goes on, nobody goes on as another."""

import re

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotate import access, limits
from annotate.actions.endings import turn_away
from annotate.actions.entry import Visit, entry_of, join_by_platform, n_places_taken
from annotate.codes import return_link
from annotate.entering import BadPlatformLink, CameBefore, NoPlaceLeft
from annotate.errors import NotOpen
from annotate.guarding import check_open
from annotate.models import LONGEST_ID, Annotator, Entry
from annotate.queries.entry import consent_text
from annotate.queries.stops import stop_of
from annotate.views.declining import declined
from annotate.views.joining import RNG, ToTask, open_first

SHORTEST_PROOF = 16  # characters of a session's number that nobody guesses
TEMPLATED = re.compile(r"[{}%$<>\[\]]")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def arrive(request: HttpRequest, token: str) -> HttpResponse:
    """The door of a platform's participants. Only a POST makes an annotator: links are followed by machines too."""
    try:
        entry = access.entry_by_platform(token)
    except Http404:
        limits.limit(request, "join")
        raise
    project = entry.project
    if access.role_in(request.user, project.pk) in access.ANNOTATE:
        return ToTask(project.pk)
    visit = visit_of(request, entry)
    known = access.annotator_for(request, project.pk)
    if known and known.platform_id == visit.participant:
        return ToTask(project.pk)
    if request.method == "POST":
        limits.limit(request, "join")
    earlier = Annotator.objects.select_related("project").filter(project=project, platform_id=visit.participant).first()
    if earlier:
        return come_back(request, earlier, visit)
    try:
        check_open(project, timezone.now())
    except NotOpen as refusal:
        status = NotOpen.status if request.method == "POST" else 200
        context = {"project": project, "stop": stop_of(refusal, n_done=0)}
        return render(request, "labelling/not_open.html", context, status=status)
    if entry.places is not None and n_places_taken(entry, timezone.now()) >= entry.places:
        return no_place(request, entry, visit)
    return enter(request, entry, visit)


def enter(request: HttpRequest, entry: Entry, visit: Visit) -> HttpResponse:
    project = entry.project
    if request.method == "POST" and request.POST.get("consent") == "no":
        return declined(request, project, visit.participant)
    version = request.POST.get("version", "")
    if request.method != "POST" or version != project.consent_version:
        context = {"project": project, "consent": consent_text(project), "entry": entry, "visit": visit}
        return render(request, "labelling/arrive.html", context)
    try:
        annotator, is_new = join_by_platform(project=project, visit=visit, version=version, now=timezone.now(), rng=RNG)
    except NoPlaceLeft:
        return no_place(request, entry, visit)
    if not is_new:  # the form sent twice, or a second browser a moment later
        return come_back(request, annotator, visit)
    access.remember_annotator(request, annotator)
    open_first(annotator)
    return ToTask(project.pk)


def come_back(request: HttpRequest, annotator: Annotator, visit: Visit) -> HttpResponse:
    """Another browser comes in under a number that is in already.

    A participant's number is known to many and can be guessed, so it proves nothing. The session's number is known to
    the platform and the participant alone: where it is the same as at first, and long, its bearer goes on here.
    """
    first = annotator.platform_session
    if len(first) < SHORTEST_PROOF or not constant_time_compare(first, visit.session):
        limits.limit(request, "join")
        raise CameBefore
    if request.method != "POST":
        return render(request, "labelling/resume.html", {"project": annotator.project, "annotator": annotator})
    access.remember_annotator(request, annotator)
    return ToTask(annotator.project_id)


def no_place(request: HttpRequest, entry: Entry, visit: Visit) -> HttpResponse:
    limits.limit(request, "join")
    completion = turn_away(project=entry.project, participant=visit.participant, now=timezone.now())
    context = {
        "project": entry.project,
        "entry": entry_of(entry.project),
        "completion": completion,
        "link": return_link(entry, completion.code, visit.participant),
        "n_labels": 0,
    }
    return render(request, "labelling/done.html", context)


def visit_of(request: HttpRequest, entry: Entry) -> Visit:
    """Who comes, by the link's parameters. Raises BadPlatformLink."""
    participant = parameter(request, entry.participant_parameter)
    if not participant:
        raise BadPlatformLink(
            _(
                "The link does not say who you are: its part “%(name)s” is missing or empty. Open the study from the "
                "platform's own page again; if that does not help, tell the researcher there."
            )
            % {"name": entry.participant_parameter}
        )
    study, session = (parameter(request, name) for name in (entry.study_parameter, entry.session_parameter))
    return Visit(participant, study, session)


def parameter(request: HttpRequest, name: str) -> str:
    """One parameter of the link, "" if it is not there. Raises BadPlatformLink for what no platform would send."""
    value = request.GET.get(name, "").strip() if name else ""
    if TEMPLATED.search(value):
        raise BadPlatformLink(
            _(
                "The link was not filled in: its part “%(name)s” is still “%(value)s”. Open the study from the "
                "platform's own page; if you are the researcher, check how the platform fills in the study's address."
            )
            % {"name": name, "value": value[:60]}
        )
    if len(value) > LONGEST_ID or not value.isprintable():
        raise BadPlatformLink(
            _("The link's part “%(name)s” has %(n)d characters, or some that can't be seen; the limit is %(limit)d.")
            % {"name": name, "n": len(value), "limit": LONGEST_ID}
        )
    return value
