"""Becoming an annotator: by a join link, by one's own link on another device, or as a member with an account."""

import random
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotate import access, assigning, limits, pseudonyms
from annotate.actions import annotators
from annotate.actions.entry import agree, check_places, entry_of, join_by_link
from annotate.entering import JoinLinkOff
from annotate.errors import NotOpen, PseudonymTaken, Refusal
from annotate.forms.labelling import JoinForm, new_ticket
from annotate.guarding import check_open
from annotate.models import Annotator, Project, User
from annotate.queries.entry import consent_text
from annotate.queries.stops import stop_of
from annotate.retention import promise
from annotate.views.declining import declined

RNG = random.SystemRandom()


class ToTask(HttpResponseRedirect):
    """To the task page, by GET whatever was asked (303)."""

    status_code = 303

    def __init__(self, project_id: UUID) -> None:
        super().__init__(reverse("label", args=[project_id]))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """The project's door: what it is about, what is stored, under which name."""
    try:
        project = access.project_to_join(token)
    except Http404:
        limits.limit(request, "join")
        raise
    if access.annotator_for(request, project.pk) or access.role_in(request.user, project.pk) in access.ANNOTATE:
        return ToTask(project.pk)
    return enter(request, project, user=None)


def enter(request: HttpRequest, project: Project, user: User | None) -> HttpResponse:
    """Shows the form that makes an annotator, of `user` if there is one, or makes it and opens its first task."""
    try:
        check_open(project, timezone.now())
    except NotOpen as refusal:
        stop = stop_of(refusal, n_done=0)
        status = NotOpen.status if request.method == "POST" else 200
        return render(request, "labelling/not_open.html", {"project": project, "stop": stop}, status=status)
    if user is None:
        entry = entry_of(project)
        if not entry.open_link:
            raise JoinLinkOff
        if request.method != "POST":  # whose form was sent twice is in
            check_places(entry, timezone.now())
    if request.method != "POST":
        first = {"pseudonym": pseudonyms.suggest(project, RNG), "ticket": new_ticket(project)}
        return entrance(request, project, JoinForm(project=project, initial=first), user)
    limits.limit(request, "join")
    if request.POST.get("consent") == "no":
        return declined(request, project)
    form = JoinForm(request.POST, project=project)
    version = request.POST.get("version", "")
    annotator = make(form, project, user, version) if form.is_valid() and version == project.consent_version else None
    if annotator is None:
        return entrance(request, project, form, user)
    if user is None:
        access.remember_annotator(request, annotator)
    open_first(annotator)
    return ToTask(project.pk)


def entrance(request: HttpRequest, project: Project, form: JoinForm, user: User | None) -> HttpResponse:
    context = {"project": project, "form": form, "member": user, "consent": consent_text(project)}
    context["promise"] = promise(project)
    return render(request, "labelling/join.html", context)


def make(form: JoinForm, project: Project, user: User | None, version: str) -> Annotator | None:
    """The form's annotator, who agreed to the text of this version; None, and an error, if its name is taken."""
    name = form.cleaned_data["pseudonym"]
    try:
        if user:
            annotator = annotators.join_with_account(project=project, pseudonym=name, user=user)
            if version:
                agree(annotator=annotator, version=version, now=timezone.now())
            return annotator
        ticket = form.cleaned_data["ticket"]
        return join_by_link(project=project, pseudonym=name, resume_token=ticket, version=version, now=timezone.now())
    except PseudonymTaken as refusal:
        form.add_error("pseudonym", str(refusal))
        return None


def open_first(annotator: Annotator) -> None:
    """Opens the first presentation if there is one; if not, the label page says why."""
    try:
        assigning.next_presentation(annotator=annotator, now=timezone.now(), rng=RNG)
    except Refusal:
        return


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def resume(request: HttpRequest, token: str) -> HttpResponse:
    """Brings a pseudonymous annotator back in this browser, once they say that it is them."""
    try:
        annotator = access.annotator_to_resume(token)
    except Http404:
        limits.limit(request, "join")
        raise
    if request.method != "POST":
        return render(request, "labelling/resume.html", {"project": annotator.project, "annotator": annotator})
    access.remember_annotator(request, annotator)
    return ToTask(annotator.project_id)
