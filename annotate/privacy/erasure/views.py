"""Owners erase an annotator of their project, on that person's request."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.access import SignedInRequest
from annotate.privacy.erasure.actions import BY_OWNER, erase_annotator
from annotate.privacy.erasure.forms import ConfirmForm


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def erase(request: SignedInRequest, project_id: UUID, key: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.OWN, in_archive=True)
    annotator = get_object_or_404(project.annotators, key=key)
    form = ConfirmForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        n = erase_annotator(annotator=annotator, by=BY_OWNER, actor=request.user, now=timezone.now())
        text = ngettext(
            "The annotator and %(n)d answer are erased. The ranking is being computed again without them.",
            "The annotator and %(n)d answers are erased. The ranking is being computed again without them.",
            n,
        )
        messages.success(request, text % {"n": n})
        return redirect("annotators", project.pk)
    context = {"project": project, "annotator": annotator, "form": form, "n_labels": annotator.labels.count()}
    return render(request, "privacy/erase_annotator.html", context, status=400 if form.errors else 200)
