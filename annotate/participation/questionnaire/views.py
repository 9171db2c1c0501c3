"""The page that asks annotators about themselves, before the first task or after the last."""

from datetime import datetime
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotate.access import annotator_or_404
from annotate.core import rate_limits
from annotate.labelling.navigation import redirect_to_task
from annotate.labelling.requirements import NotFinished, QuestionnaireRequired
from annotate.labelling.views import open_first_task
from annotate.labelling.wording import content_language
from annotate.models import Annotator
from annotate.participation.completion.actions import finish
from annotate.participation.questionnaire.actions import save_question_answers
from annotate.participation.questionnaire.forms import AnswersForm
from annotate.participation.questionnaire.queries import (
    answers_of,
    asked_questions,
    open_questions,
    translate_questions,
)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def questionnaire(request: HttpRequest, project_id: UUID) -> HttpResponse:
    annotator = annotator_or_404(request, project_id)
    if request.method == "POST":
        rate_limits.check_rate_limit(request, "answer", who=str(annotator.pk))
    data = request.POST if request.method == "POST" else None
    found = current_question_form(annotator, data, timezone.now(), content_language(request, annotator.project))
    if found is None:
        return redirect_to_task(project_id)
    form, at_end = found
    if request.method == "POST" and form.is_valid():
        save_question_answers(annotator=annotator, at_end=at_end, values=form.values(), now=timezone.now())
        return to_end(annotator) if at_end else to_first(annotator)
    context = {"project": annotator.project, "form": form, "at_end": at_end}
    return render(request, "participation/questionnaire.html", context, status=400 if form.errors else 200)


def current_question_form(
    annotator: Annotator, data: QueryDict | None, now: datetime, language: str = ""
) -> tuple[AnswersForm, bool] | None:
    """Return the form with what is asked now, filled in with what was said before, and whether it is the last; else
    None."""
    at_end = open_questions(annotator, now)
    asked = [] if at_end is None else [one for one in asked_questions(annotator.project) if one.at_end == at_end]
    if at_end is None or not asked:
        return None
    translate_questions(annotator.project, asked, language)
    earlier = {field: value for (_one, field), value in answers_of([annotator.pk], asked).items()}
    return AnswersForm(data, asked=asked, earlier=earlier), at_end


def to_first(annotator: Annotator) -> HttpResponse:
    open_first_task(annotator)
    return redirect_to_task(annotator.project_id)


def to_end(annotator: Annotator) -> HttpResponse:
    try:
        finish(annotator=annotator, now=timezone.now())
    except (QuestionnaireRequired, NotFinished):
        return redirect_to_task(annotator.project_id)
    return HttpResponseRedirect(reverse("done", args=[annotator.project_id]))
