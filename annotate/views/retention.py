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
from annotate.actions.retention import change_retention
from annotate.forms.retention import RetentionForm
from annotate.models import Retention
from annotate.requests import SignedInRequest
from annotate.retention import closed_at, in_words, rule_of


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def retention(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project, now = access.project_for(request, project_id, access.MANAGE), timezone.now()
    row = Retention.objects.filter(project=project).first() or Retention(project=project)
    form = RetentionForm(request.POST if request.method == "POST" else None, initial=vars(row))
    if form.is_valid():
        if change_retention(project=project, actor=request.user, now=now, **form.cleaned_data):
            messages.success(request, _("Saved. This is what annotators are told from now on."))
        else:
            messages.info(request, _("Nothing was different, so nothing was saved."))
        return redirect("retention", project.pk)
    rule = rule_of(project)
    closed = closed_at(project, now)
    context = {
        "project": project,
        "form": form,
        "rule": rule,
        "promise": in_words(rule),
        "closed": closed,
        "done": closed is not None and row.done_for == closed,
    }
    return render(request, "projects/retention.html", context, status=400 if form.errors else 200)
