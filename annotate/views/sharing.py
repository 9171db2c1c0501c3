"""Inviting people: the join link as a QR code to print, and messages to many addresses."""

import io
import logging
from dataclasses import dataclass
from smtplib import SMTPException
from uuid import UUID

import segno
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotate import access, limits, mails
from annotate.actions.entry import entry_of
from annotate.actions.events import note
from annotate.errors import TooMany
from annotate.forms.sharing import InviteForm
from annotate.models import Project
from annotate.requests import SignedInRequest

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Sent:
    """What became of one address; `ok` where the message left."""

    address: str
    told: str
    ok: bool = False


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def share(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    form = InviteForm(request.POST if request.method == "POST" else None)
    results: list[Sent] = []
    if form.is_valid():
        words = form.cleaned_data["words"]
        results = [invite(request, project, address, words) for address in form.cleaned_data["addresses"]]
        n_sent = sum(result.ok for result in results)
        if n_sent:
            note(project, request.user, "annotators invited", timezone.now(), sent=n_sent)
        form = InviteForm(initial={"words": words})
    context = {
        "project": project,
        "form": form,
        "results": results,
        "join_link": join_link(request, project),
        "open_link": entry_of(project).open_link,
    }
    return render(request, "projects/share.html", context, status=400 if form.errors else 200)


def invite(request: SignedInRequest, project: Project, address: str, words: str) -> Sent:
    try:
        limits.limit(request, "invite-annotators", who=str(request.user.pk))
        mails.send_join_link(
            project=project, by=request.user, address=address, link=join_link(request, project), words=words
        )
    except TooMany as refusal:
        return Sent(address, _("not sent. %(why)s") % {"why": refusal})
    except (SMTPException, OSError):
        log.exception("An invitation to project %s could not be sent", project.pk)
        return Sent(address, _("not sent: the mail server did not take it. Try this address again later."))
    return Sent(address, _("on its way."), ok=True)


def join_link(request: HttpRequest, project: Project) -> str:
    return request.build_absolute_uri(reverse("join", args=[project.join_token]))


@login_required
@require_safe
def qr_code(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """The join link as a picture that prints at any size."""
    project = access.project_for(request, project_id, access.MANAGE)
    file = io.BytesIO()
    segno.make(join_link(request, project), micro=False).save(file, kind="svg", scale=8, border=4, light="white")
    response = HttpResponse(file.getvalue(), content_type="image/svg+xml")
    response["Cache-Control"] = "no-store"
    return response
