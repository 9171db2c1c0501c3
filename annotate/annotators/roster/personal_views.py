"""Joining by a personal link, and coming back by it on any device."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.core import rate_limits
from annotate.labelling.navigation import redirect_to_task
from annotate.labelling.not_open import not_open_page
from annotate.labelling.views import open_first_task
from annotate.labelling.wording import content_language
from annotate.models import ExpectedPerson
from annotate.models.retention import retention_notice
from annotate.participation.consent.declined import declined_page
from annotate.participation.consent.queries import consent_text, is_current_version
from annotate.participation.joining.expected import join_as_expected


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def personal(request: HttpRequest, token: str) -> HttpResponse:
    """Tell the person what they are asked and under which name; POST begins, or goes on in this browser."""
    try:
        person = access.expected_person(token)
    except Http404:
        rate_limits.check_rate_limit(request, "join")
        raise
    project, annotator = person.project, person.annotator
    if annotator:
        if access.annotator_for(request, project.pk) == annotator:
            return redirect_to_task(project.pk)
        if request.method != "POST":
            return render(request, "participation/resume.html", {"project": project, "annotator": annotator})
        access.remember_annotator(request, annotator)
        return redirect_to_task(project.pk)
    closed = not_open_page(request, project)
    if closed:
        return closed
    return begin(request, person) if request.method == "POST" else first_page(request, person)


def first_page(request: HttpRequest, person: ExpectedPerson) -> HttpResponse:
    context = {
        "project": person.project,
        "person": person,
        "consent": consent_text(person.project, content_language(request, person.project)),
        "retention_notice": retention_notice(person.project),
    }
    return render(request, "participation/personal.html", context)


def begin(request: HttpRequest, person: ExpectedPerson) -> HttpResponse:
    rate_limits.check_rate_limit(request, "join")
    project, version = person.project, request.POST.get("version", "")
    if request.POST.get("consent") == "no":
        return declined_page(request, project)
    if not is_current_version(project, version):
        return first_page(request, person)
    annotator = join_as_expected(person=person, version=version, now=timezone.now())
    access.remember_annotator(request, annotator)
    open_first_task(annotator)
    return redirect_to_task(project.pk)
