"""Views that request a run record and send the file once it is made."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotate import access
from annotate.access import SignedInRequest
from annotate.audit import record_export
from annotate.core.errors import UserError
from annotate.core.rate_limits import check_rate_limit
from annotate.dashboard.project_lookup import requested_criterion
from annotate.models import RunRecord
from annotate.publishing.run_records.actions import request_record
from annotate.publishing.run_records.download import record_response


@login_required
@require_POST
def request_run_record(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id, access.MANAGE, in_archive=True)
    check_rate_limit(request, "export")
    try:
        is_new = request_record(criterion=criterion, actor=request.user, now=timezone.now())
    except UserError as refusal:
        messages.error(request, str(refusal))
    else:
        if is_new:
            messages.success(request, _("The run record is being created. You can leave this page."))
        else:
            messages.info(request, _("A run record is already being created."))
    return redirect(reverse("exports", args=[criterion.project.pk]) + criterion.query)


@login_required
@require_safe
def download(request: SignedInRequest, project_id: UUID, record_id: int) -> StreamingHttpResponse:
    project = access.project_for(request, project_id, access.SEE)
    record = get_object_or_404(RunRecord, project=project, pk=record_id, status=RunRecord.Status.READY)
    check_rate_limit(request, "export")
    if request.method == "GET":
        now = timezone.now()
        record_export(project=project, actor=request.user, table="run record", file_format="zip", now=now)
    return record_response(request, project, record)
