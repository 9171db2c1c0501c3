"""The page that asks annotators about themselves, before the first task or after the last."""

from datetime import datetime
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotate import limits
from annotate.access import known_annotator
from annotate.actions.endings import finish
from annotate.actions.questionnaire import answer_fields
from annotate.entering import FieldsFirst, NotFinished
from annotate.forms.questionnaire import AnswersForm
from annotate.models import Annotator
from annotate.queries.questionnaire import answers_of, asked_now, fields_asked
from annotate.views.joining import ToTask, open_first


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def questionnaire(request: HttpRequest, project_id: UUID) -> HttpResponse:
    annotator = known_annotator(request, project_id)
    if request.method == "POST":
        limits.limit(request, "answer", who=str(annotator.pk))
    found = asked_of(annotator, request.POST if request.method == "POST" else None, timezone.now())
    if found is None:
        return ToTask(project_id)
    form, at_end = found
    if request.method == "POST" and form.is_valid():
        answer_fields(annotator=annotator, at_end=at_end, values=form.values(), now=timezone.now())
        return to_end(annotator) if at_end else to_first(annotator)
    context = {"project": annotator.project, "form": form, "at_end": at_end}
    return render(request, "labelling/questionnaire.html", context, status=400 if form.errors else 200)


def asked_of(annotator: Annotator, data: QueryDict | None, now: datetime) -> tuple[AnswersForm, bool] | None:
    """The form with what is asked now, filled in with what was said before, and whether it is the last; else None."""
    at_end = asked_now(annotator, now)
    asked = [] if at_end is None else [one for one in fields_asked(annotator.project) if one.at_end == at_end]
    if at_end is None or not asked:
        return None
    earlier = {field: value for (_one, field), value in answers_of([annotator.pk], asked).items()}
    return AnswersForm(data, asked=asked, earlier=earlier), at_end


def to_first(annotator: Annotator) -> HttpResponse:
    open_first(annotator)
    return ToTask(annotator.project_id)


def to_end(annotator: Annotator) -> HttpResponse:
    try:
        finish(annotator=annotator, now=timezone.now())
    except (FieldsFirst, NotFinished):
        return ToTask(annotator.project_id)
    return HttpResponseRedirect(reverse("done", args=[annotator.project_id]))
