"""The page of a project's preregistration: freezing the plan, printing it, and giving reasons for deviations."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate import access
from annotate.access import SignedInRequest
from annotate.core.errors import UserError
from annotate.models import Deviation, Project
from annotate.publishing.preregistration.actions import explain_deviation, freeze_plan
from annotate.publishing.preregistration.forms import FreezeForm, ReasonForm
from annotate.publishing.preregistration.queries import (
    deviations_of,
    lines_of,
    planned_now,
    preregistration_of,
    statements_of,
)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def preregistration(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Show the frozen plan with its deviations, or what freezing would fix."""
    roles = access.SEE if request.method in access.SAFE else access.OWN
    project = access.project_for(request, project_id, roles)
    form = FreezeForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            freeze_plan(project=project, actor=request.user, statements=form.cleaned_data, now=timezone.now())
        except UserError as refusal:
            messages.error(request, str(refusal))
        else:
            messages.success(request, _("The plan is frozen. Later changes are listed as deviations."))
        return redirect("preregistration", project.pk)
    context = page_context(project) | {"form": form}
    return render(request, "publishing/preregistration.html", context, status=400 if form.errors else 200)


def page_context(project: Project) -> dict[str, object]:
    frozen = preregistration_of(project)
    return {
        "project": project,
        "frozen": frozen,
        "lines": lines_of(frozen) if frozen else planned_now(project),
        "statements": statements_of(frozen) if frozen else [],
        "deviations": deviations_of(project, frozen),
        "may_own": project.role in access.OWN,
        "may_manage": project.role in access.MANAGE,
    }


@login_required
@require_safe
def document(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """Send the frozen plan as it was hashed."""
    project = access.project_for(request, project_id, access.SEE)
    frozen = preregistration_of(project)
    if frozen is None:
        raise Http404
    response = HttpResponse(frozen.document, content_type="application/json")
    response["Content-Disposition"] = 'attachment; filename="preregistration.json"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


@login_required
@require_POST
def explain(request: SignedInRequest, project_id: UUID, deviation_id: int) -> HttpResponse:
    """Add the reason of a deviation."""
    project = access.project_for(request, project_id, access.MANAGE)
    deviation = get_object_or_404(Deviation.objects.select_related("project"), project=project, pk=deviation_id)
    form = ReasonForm(request.POST)
    if form.is_valid():
        try:
            explain_deviation(
                deviation=deviation, actor=request.user, reason=form.cleaned_data["reason"], now=timezone.now()
            )
        except UserError as refusal:
            messages.error(request, str(refusal))
        else:
            messages.success(request, _("The reason is saved with the deviation."))
    else:
        messages.error(request, " ".join(str(text) for texts in form.errors.values() for text in texts))
    return redirect("preregistration", project.pk)
