"""The log of a project: who changed what, when, with the values before and after; also as a file."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from annotate import access
from annotate.access import SignedInRequest
from annotate.audit import record_export
from annotate.audit_log import queries as query
from annotate.audit_log.forms import LogForm
from annotate.core import rate_limits
from annotate.files.downloads import sent
from annotate.files.writers import csv_chunks, jsonl_chunks

FORMATS = {"csv": ("text/csv; charset=utf-8", csv_chunks), "jsonl": ("application/x-ndjson", jsonl_chunks)}


@login_required
@require_safe
def log(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    form = LogForm(request.GET, project=project)
    log_filter = form.log_filter()
    page, lines = query.log_page(project, log_filter, request.GET.get("page"))
    asked = request.GET.copy()
    asked.pop("page", None)
    context = {
        "project": project,
        "form": form,
        "page": page,
        "lines": lines,
        "is_filtered": log_filter != query.LogFilter(),
        "query": asked.urlencode(),
        "formats": list(FORMATS),
        "now": timezone.now(),
    }
    return render(request, "audit_log/log.html", context)


@login_required
@require_safe
def download(request: SignedInRequest, project_id: UUID, file_format: str) -> StreamingHttpResponse:
    """Send all that the page's filters leave."""
    project = access.project_for(request, project_id, access.MANAGE)
    if file_format not in FORMATS:
        raise Http404
    rate_limits.check_rate_limit(request, "export", who=str(request.user.pk))
    log_filter = LogForm(request.GET, project=project).log_filter()
    if request.method == "GET":
        record_export(project=project, actor=request.user, table="log", file_format=file_format, now=timezone.now())
    content_type, encode = FORMATS[file_format]
    response = sent(request, encode(query.COLUMNS, query.rows(project, log_filter)), content_type)
    name = f"{slugify(project.name)[:60] or 'project'}-log.{file_format}"
    response["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    response["Cache-Control"] = "no-store"
    return response
