"""An import under way: how far it is, which rows have errors; going on, stopping, taking away what was left out."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotate import access
from annotate.access import SignedInRequest
from annotate.core.errors import UserError
from annotate.fitting import scheduling
from annotate.imports.actions import resume_import, stop_import
from annotate.imports.left_out import has_left_out, left_out_file
from annotate.models import ImportJob

# Where such a file is uploaded; else with the items.
STARTS: dict[str, str] = {
    ImportJob.Kind.COMPARISONS: "comparisons-import",
    ImportJob.Kind.COUNTS: "counts-import",
    ImportJob.Kind.FEATURES: "features-import",
    ImportJob.Kind.MEASURED: "features-import",
    ImportJob.Kind.MEASURED_TEXTS: "features-import",
    ImportJob.Kind.QUESTIONS: "questions-import",
    ImportJob.Kind.ANNOTATORS: "annotators-import",
}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def job(request: SignedInRequest, project_id: UUID, job_id: int) -> HttpResponse:
    """POST lets it go on (without the rows that have errors) or stops it."""
    project = access.project_for(request, project_id, access.MANAGE)
    found = get_object_or_404(ImportJob.objects.select_related("project"), project=project, pk=job_id)
    if request.method == "POST":
        return act(request, found)
    now = timezone.now()
    context = {
        "project": project,
        "job": found,
        "columns": found.first[0] if found.first else [],
        "rows": found.first[1:],
        "has_left_out": has_left_out(found),
        "has_engine": scheduling.has_live_worker(now),
        "start": reverse(STARTS.get(found.kind, "items-import"), args=[project.pk]),
        "now": now,
    }
    is_part = request.htmx.target == "import-job"  # type: ignore[attr-defined]
    response = render(request, "imports/job_state.html" if is_part else "imports/job.html", context)
    patch_vary_headers(response, ["HX-Request", "HX-Target", "Cookie"])
    return response


def act(request: SignedInRequest, job: ImportJob) -> HttpResponse:
    try:
        if request.POST.get("action") == "go":
            resume_import(job=job, actor=request.user, now=timezone.now())
        elif request.POST.get("action") == "stop":
            stop_import(job=job, actor=request.user, now=timezone.now())
            messages.info(request, _("The import is stopped."))
    except UserError as refusal:
        messages.error(request, str(refusal))
    return redirect("import-job", job.project_id, job.pk)


@login_required
@require_safe
def left_out(request: SignedInRequest, project_id: UUID, job_id: int) -> StreamingHttpResponse:
    """Return the rows that were not imported, each with the reason, as CSV."""
    project = access.project_for(request, project_id, access.MANAGE)
    return left_out_file(request, get_object_or_404(ImportJob, project=project, pk=job_id))
