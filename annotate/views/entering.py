"""Pages on an annotator's way that are no tasks: agreeing to the consent text, and the end with its code."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotate import limits
from annotate.access import known_annotator
from annotate.actions.endings import finish
from annotate.actions.entry import agree, entry_of
from annotate.codes import return_link
from annotate.entering import FieldsFirst, NotFinished
from annotate.guarding import n_counting
from annotate.models import Annotator, Completion
from annotate.queries.entry import consent_text
from annotate.retention import promise
from annotate.views.declining import declined
from annotate.views.joining import ToTask, open_first


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def consent(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """The text as it is now, for somebody who has not agreed to it."""
    annotator = known_annotator(request, project_id)
    project = annotator.project
    text = consent_text(project)
    if text is None or annotator.consent_version == text.version:
        return ToTask(project_id)
    if request.method == "POST":
        limits.limit(request, "answer", who=str(annotator.pk))
        if request.POST.get("consent") == "no":
            return declined(request, project, annotator.platform_id)
        if agree(annotator=annotator, version=request.POST.get("version", ""), now=timezone.now()):
            open_first(annotator)
            return ToTask(project_id)
        messages.warning(request, _("The text changed while you read it. Please look at it once more."))
        return HttpResponseRedirect(reverse("consent", args=[project_id]))
    context = {"project": project, "consent": text, "promise": promise(project)}
    return render(request, "labelling/consent.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def done(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """POST ends the part, GET shows the end: thanks, the code, the way back."""
    annotator = known_annotator(request, project_id)
    if request.method == "POST":
        limits.limit(request, "answer", who=str(annotator.pk))
        try:
            finish(annotator=annotator, now=timezone.now())
        except FieldsFirst:
            return HttpResponseRedirect(reverse("questionnaire", args=[project_id]))
        except NotFinished:
            return ToTask(project_id)
        return HttpResponseRedirect(reverse("done", args=[project_id]))
    completion = Completion.objects.filter(annotator=annotator).first()
    if completion is None:
        return ToTask(project_id)
    return render(request, "labelling/done.html", ending_of(annotator, completion))


def ending_of(annotator: Annotator, completion: Completion) -> dict[str, Any]:
    """What the page of the end tells."""
    entry = entry_of(annotator.project)
    return {
        "project": annotator.project,
        "annotator": annotator,
        "entry": entry,
        "completion": completion,
        "link": return_link(entry, completion.code, annotator.platform_id),
        "n_labels": n_counting(annotator),
    }
