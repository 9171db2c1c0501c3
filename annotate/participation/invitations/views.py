"""Inviting people: the join link as a QR code to print, and messages to many addresses."""

import io
import logging
from dataclasses import dataclass
from smtplib import SMTPException
from uuid import UUID

import segno
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotate import access
from annotate.access import SignedInRequest
from annotate.accounts import mails
from annotate.audit import record_event
from annotate.core import rate_limits
from annotate.core.errors import RateLimited
from annotate.labelling.plan.capacity import ending_capacity
from annotate.models import EventVerb, LtiLearner, Project
from annotate.participation.actions import replace_join_link
from annotate.participation.invitations.forms import InviteForm
from annotate.participation.joining.short_addresses import switch_short_address
from annotate.participation.rules import participation_rules

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SentInvitations:
    """What became of one address; `ok` where the message left."""

    address: str
    told: str
    ok: bool = False


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def share(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Show the project's state, its join link and QR code, and invitations by e-mail."""
    project = access.project_for(request, project_id, access.MANAGE)
    if "new-link" in request.POST:
        replace_join_link(project=project, actor=request.user, now=timezone.now())
        messages.success(
            request, _("The join link is replaced. The old link no longer works; people who have joined stay.")
        )
        return redirect("share", project.pk)
    if "short-address" in request.POST:
        on = request.POST["short-address"] == "on"
        if switch_short_address(project=project, actor=request.user, on=on, now=timezone.now()):
            messages.success(request, _("The short address works.") if on else _("The short address is switched off."))
        return redirect("share", project.pk)
    form = InviteForm(request.POST if request.method == "POST" else None)
    results: list[SentInvitations] = []
    if form.is_valid():
        words = form.cleaned_data["words"]
        results = [invite(request, project, address, words) for address in form.cleaned_data["addresses"]]
        n_sent = sum(result.ok for result in results)
        if n_sent:
            record_event(project, request.user, EventVerb.ANNOTATORS_INVITED, timezone.now(), sent=n_sent)
        form = InviteForm(initial={"words": words})
    context = {
        "project": project,
        "form": form,
        "results": results,
        "join_link": join_link(request, project),
        "short_address": short_address(request, project),
        "open_link": participation_rules(project).open_link,
        "n_items": project.items.filter(retired_at=None).count(),
        "min_items": project.k,
        "capacity": ending_capacity(project),
        "in_courses": project.courses.exists() or LtiLearner.objects.filter(annotator__project=project).exists(),
    }
    return render(request, "participation/share.html", context, status=400 if form.errors else 200)


def invite(request: SignedInRequest, project: Project, address: str, words: str) -> SentInvitations:
    try:
        rate_limits.check_rate_limit(request, "invite-annotators", who=str(request.user.pk))
        mails.send_join_link(
            project=project, by=request.user, address=address, link=join_link(request, project), words=words
        )
    except RateLimited as refusal:
        return SentInvitations(address, _("not sent. %(why)s") % {"why": refusal})
    except (SMTPException, OSError):
        log.exception("An invitation to project %s could not be sent", project.pk)
        return SentInvitations(address, _("not sent: the mail server refused it. Try this address again later."))
    return SentInvitations(address, _("on its way."), ok=True)


def join_link(request: HttpRequest, project: Project) -> str:
    return request.build_absolute_uri(reverse("join", args=[project.join_token]))


def short_address(request: HttpRequest, project: Project) -> str:
    """Return the short address in full; "" where the owner has not switched it on."""
    return request.build_absolute_uri(reverse("short-join", args=[project.join_code])) if project.join_code else ""


@login_required
@require_safe
def qr_code(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Draw the join link as a QR code that prints at any size."""
    project = access.project_for(request, project_id, access.MANAGE)
    file = io.BytesIO()
    segno.make(join_link(request, project), micro=False).save(file, kind="svg", scale=8, border=4, light="white")
    response = HttpResponse(file.getvalue(), content_type="image/svg+xml")
    response["Cache-Control"] = "no-store"
    return response
