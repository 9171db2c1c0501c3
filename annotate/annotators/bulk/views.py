"""The page that excludes many answers at once: choose, see how many, exclude; and undo."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotate import access
from annotate.access import SignedInRequest
from annotate.annotators.bulk.actions import exclude_many, undo_bulk_exclusion
from annotate.annotators.bulk.forms import ChoiceForm, ReasonForm
from annotate.annotators.bulk.queries import bulk_exclusions, chosen_text, count_chosen
from annotate.core.errors import UserError
from annotate.models import Project


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def exclude_in_bulk(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Show the form, with GET parameters how many it takes; POST excludes."""
    project = access.project_for(request, project_id, access.MANAGE)
    is_post = request.method == "POST"
    form = ChoiceForm(request.POST if is_post else request.GET or None, project=project)
    reason = ReasonForm(request.POST if is_post else None)
    if is_post and form.is_valid() and reason.is_valid():
        try:
            exclude(request, project, form, reason.cleaned_data["reason"])
        except UserError as refusal:
            form.add_error(None, str(refusal))
        else:
            return redirect("bulk-exclusion", project.pk)
    counted = count_chosen(project, form.choice) if form.is_valid() else None
    context = {
        "project": project,
        "form": form,
        "reason": reason,
        "counted": counted,
        "what": form.choice.text if counted else "",
        "made": [(one, chosen_text(one.since, one.until, one.value)) for one in bulk_exclusions(project)],
    }
    return render(request, "annotators/bulk.html", context, status=400 if is_post else 200)


def exclude(request: SignedInRequest, project: Project, form: ChoiceForm, reason: str) -> None:
    made = exclude_many(project=project, actor=request.user, choice=form.choice, reason=reason, now=timezone.now())
    text = ngettext("%(n)d answer no longer counts.", "%(n)d answers no longer count.", made.n_labels)
    messages.success(request, text % {"n": made.n_labels} + " " + _("You can undo this below."))


@login_required
@require_POST
def undo(request: SignedInRequest, project_id: UUID, exclusion_id: int) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    exclusion = get_object_or_404(project.bulk_exclusions, pk=exclusion_id)
    try:
        restored = undo_bulk_exclusion(exclusion=exclusion, actor=request.user, now=timezone.now())
    except UserError as refusal:
        messages.info(request, str(refusal))
        return redirect("bulk-exclusion", project.pk)
    text = ngettext("%(n)d answer counts again.", "%(n)d answers count again.", restored.labels) % {
        "n": restored.labels
    }
    if restored.kept_voided:
        text += " " + ngettext(
            "%(n)d answer stays void, because others have answered that set since.",
            "%(n)d answers stay void, because others have answered those sets since.",
            restored.kept_voided,
        ) % {"n": restored.kept_voided}
    messages.success(request, text)
    return redirect("bulk-exclusion", project.pk)
