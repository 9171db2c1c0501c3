"""Becoming an annotator: by a join link, by one's own link on another device, or as a member with an account."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.core import rate_limits
from annotate.core.errors import PseudonymTaken
from annotate.labelling.navigation import RNG, redirect_to_task
from annotate.labelling.not_open import not_open_page
from annotate.labelling.requirements import JoinLinkDisabled
from annotate.labelling.views import open_first_task
from annotate.labelling.wording import requested_wording
from annotate.models import Annotator, Project, User
from annotate.models.retention import retention_notice
from annotate.participation.consent.actions import give_consent
from annotate.participation.consent.declined import declined_page
from annotate.participation.consent.queries import consent_text, is_current_version
from annotate.participation.joining import actions, pseudonyms
from annotate.participation.joining.actions import join_by_link
from annotate.participation.joining.asked_links import send_asked_link
from annotate.participation.joining.forms import JoinForm, new_ticket
from annotate.participation.places import check_places
from annotate.participation.rules import participation_rules


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Describe the project, what is stored, and ask for a pseudonym."""
    try:
        project = access.project_to_join(token)
    except Http404:
        rate_limits.check_rate_limit(request, "join")
        raise
    if access.annotator_for(request, project.pk) or access.role_in(request.user, project.pk) in access.ANNOTATE:
        return redirect_to_task(project.pk)
    return join_page(request, project, user=None)


def join_page(request: HttpRequest, project: Project, user: User | None) -> HttpResponse:
    """Show the form that makes an annotator, of `user` if there is one, or make it and open its first task."""
    closed = not_open_page(request, project)
    if closed:
        return closed
    if user is None:
        entry = participation_rules(project)
        if not entry.open_link:
            raise JoinLinkDisabled
        if request.method != "POST":  # whose form was sent twice is in
            check_places(entry, timezone.now())
    if request.method != "POST":
        first = {"pseudonym": pseudonyms.suggest(project, RNG), "ticket": new_ticket(project)}
        return render_join_form(request, project, JoinForm(project=project, initial=first), user)
    rate_limits.check_rate_limit(request, "join")
    if request.POST.get("consent") == "no":
        return declined_page(request, project)
    form = JoinForm(request.POST, project=project)
    if "send-link" in request.POST and user is None and form.is_valid():
        name = form.cleaned_data["pseudonym"]
        send_asked_link(request, project, name, timezone.now())
        return render(request, "participation/link_asked.html", {"project": project, "name": name})
    version = request.POST.get("version", "")
    annotator = (
        join_from_form(form, project, user, version)
        if form.is_valid() and is_current_version(project, version)
        else None
    )
    if annotator is None:
        return render_join_form(request, project, form, user)
    if user is None:
        access.remember_annotator(request, annotator)
    open_first_task(annotator)
    return redirect_to_task(project.pk)


def render_join_form(request: HttpRequest, project: Project, form: JoinForm, user: User | None) -> HttpResponse:
    wording = requested_wording(request, project)
    context = {
        "project": wording.project,
        "form": form,
        "member": user,
        "consent": consent_text(project, wording.language),
    }
    context["wording"] = wording
    context["retention_notice"] = retention_notice(project)
    return render(request, "participation/join.html", context)


def join_from_form(form: JoinForm, project: Project, user: User | None, version: str) -> Annotator | None:
    """Return the form's annotator, who agreed to the text of this version; None, and an error, if its name is taken."""
    name = form.cleaned_data["pseudonym"]
    try:
        if user:
            annotator = actions.join_with_account(project=project, pseudonym=name, user=user)
            if version:
                give_consent(annotator=annotator, version=version, now=timezone.now())
            return annotator
        ticket = form.cleaned_data["ticket"]
        return join_by_link(project=project, pseudonym=name, resume_token=ticket, version=version, now=timezone.now())
    except PseudonymTaken as refusal:
        form.add_error("pseudonym", str(refusal))
        form.taken_name = "" if user else name
        return None


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def resume(request: HttpRequest, token: str) -> HttpResponse:
    """Brings a pseudonymous annotator back in this browser, once they say that it is them."""
    try:
        annotator = access.annotator_to_resume(token)
    except Http404:
        rate_limits.check_rate_limit(request, "join")
        raise
    if request.method != "POST":
        return render(request, "participation/resume.html", {"project": annotator.project, "annotator": annotator})
    access.remember_annotator(request, annotator)
    return redirect_to_task(annotator.project_id)
