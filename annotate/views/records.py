"""Run records: asking for one, and taking it away once an engine process has made it."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotate import access
from annotate.actions.events import note_export
from annotate.actions.records import ask_for_record
from annotate.errors import Refusal
from annotate.exporting.formats import stepwise
from annotate.exporting.records import chunks
from annotate.limits import limit
from annotate.models import Project, RunRecord
from annotate.requests import SignedInRequest
from annotate.views.looking import looked_at


@login_required
@require_POST
def ask(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = looked_at(request, project_id, access.MANAGE, in_archive=True)
    limit(request, "export")
    try:
        is_new = ask_for_record(project=project, actor=request.user, now=timezone.now())
    except Refusal as refusal:
        messages.error(request, str(refusal))
    else:
        if is_new:
            messages.success(request, _("The engine makes the run record now; you can leave this page."))
        else:
            messages.info(request, _("A run record is being made already."))
    return redirect(reverse("exports", args=[project.pk]) + project.criterion_query)


@login_required
@require_safe
def download(request: SignedInRequest, project_id: UUID, record_id: int) -> StreamingHttpResponse:
    project = access.project_for(request, project_id, access.SEE)
    record = get_object_or_404(RunRecord, project=project, pk=record_id, status=RunRecord.Status.READY)
    limit(request, "export")
    if request.method == "GET":
        now = timezone.now()
        note_export(project=project, actor=request.user, table="run record", file_format="zip", now=now)
    return sent_record(request, project, record)


def sent_record(request: HttpRequest, project: Project, record: RunRecord) -> StreamingHttpResponse:
    content = stepwise(chunks(record)) if isinstance(request, ASGIRequest) else chunks(record)
    response = StreamingHttpResponse(content, content_type="application/zip")
    criterion = f"-{record.criterion}" if project.criteria else ""
    name = f"{slugify(project.name)[:60] or 'project'}{criterion}-run-record-{record.pk}.zip"
    response["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    response["Content-Length"] = str(record.n_bytes)
    response["Cache-Control"] = "no-store"
    response["X-Content-Type-Options"] = "nosniff"
    return response
