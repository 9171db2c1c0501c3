"""For how long a project keeps its annotators' data: what is kept, and the owner's choice."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.access import SignedInRequest
from annotate.models import Retention
from annotate.models.retention import closed_at, notice_text, retention_rule
from annotate.privacy.retention.actions import change_retention
from annotate.privacy.retention.forms import RetentionForm


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def retention(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project, now = access.project_for(request, project_id, access.MANAGE), timezone.now()
    row = Retention.objects.filter(project=project).first() or Retention(project=project)
    form = RetentionForm(request.POST if request.method == "POST" else None, initial=vars(row))
    if form.is_valid():
        if change_retention(project=project, actor=request.user, now=now, **form.cleaned_data):
            messages.success(request, _("Saved. Annotators see this from now on."))
        else:
            messages.info(request, _("Nothing was different, so nothing was saved."))
        return redirect("retention", project.pk)
    rule = retention_rule(project)
    closed = closed_at(project, now)
    context = {
        "project": project,
        "form": form,
        "rule": rule,
        "retention_notice": notice_text(rule),
        "closed": closed,
        "done": closed is not None and row.done_for == closed,
    }
    return render(request, "privacy/retention.html", context, status=400 if form.errors else 200)
