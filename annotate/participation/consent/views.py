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

from annotate.access import annotator_or_404
from annotate.core import rate_limits
from annotate.labelling.eligibility import n_counted_labels
from annotate.labelling.navigation import redirect_to_task
from annotate.labelling.requirements import NotFinished, QuestionnaireRequired
from annotate.labelling.views import open_first_task
from annotate.labelling.wording import content_language
from annotate.models import Annotator, Completion
from annotate.models.retention import retention_notice
from annotate.participation.completion.actions import finish
from annotate.participation.completion.codes import return_link
from annotate.participation.consent.actions import give_consent
from annotate.participation.consent.declined import declined_page
from annotate.participation.consent.queries import consent_text
from annotate.participation.rules import participation_rules, thanks_text


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def consent(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """Show the text as it is now to somebody who has not agreed to it."""
    annotator = annotator_or_404(request, project_id)
    project = annotator.project
    text = consent_text(project, content_language(request, project))
    if text is None or annotator.consent_version == project.consent_version:
        return redirect_to_task(project_id)
    if request.method == "POST":
        rate_limits.check_rate_limit(request, "answer", who=str(annotator.pk))
        if request.POST.get("consent") == "no":
            return declined_page(request, project, annotator.platform_id)
        if give_consent(annotator=annotator, version=request.POST.get("version", ""), now=timezone.now()):
            open_first_task(annotator)
            return redirect_to_task(project_id)
        messages.warning(request, _("The text changed while you read it. Please look at it once more."))
        return HttpResponseRedirect(reverse("consent", args=[project_id]))
    context = {"project": project, "consent": text, "retention_notice": retention_notice(project)}
    return render(request, "participation/consent.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def done(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """Show the end: thanks, the code, the way back; POST ends the part."""
    annotator = annotator_or_404(request, project_id)
    if request.method == "POST":
        rate_limits.check_rate_limit(request, "answer", who=str(annotator.pk))
        try:
            finish(annotator=annotator, now=timezone.now())
        except QuestionnaireRequired:
            return HttpResponseRedirect(reverse("questionnaire", args=[project_id]))
        except NotFinished:
            return redirect_to_task(project_id)
        return HttpResponseRedirect(reverse("done", args=[project_id]))
    completion = Completion.objects.filter(annotator=annotator).first()
    if completion is None:
        return redirect_to_task(project_id)
    language = content_language(request, annotator.project)
    return render(request, "participation/done.html", completion_context(annotator, completion, language))


def completion_context(annotator: Annotator, completion: Completion, language: str = "") -> dict[str, Any]:
    """Return what the page of the end tells."""
    entry = participation_rules(annotator.project)
    return {
        "project": annotator.project,
        "annotator": annotator,
        "entry": entry,
        "thanks": thanks_text(entry, language),
        "completion": completion,
        "link": return_link(entry, completion.code, annotator.platform_id),
        "n_labels": n_counted_labels(annotator),
    }
