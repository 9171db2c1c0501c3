"""Shows owners and managers one annotator's own pages as they are now, without storing anything."""

import copy
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.access import SignedInRequest
from annotate.audit import record_event
from annotate.labelling.navigation import TaskAddresses
from annotate.labelling.own_answers.views import own_answers_page
from annotate.labelling.preview.queries import TOKEN
from annotate.labelling.queries import current_task
from annotate.labelling.views import is_htmx
from annotate.labelling.wording import content_language, requested_wording
from annotate.models import Annotator, Completion, Event, EventVerb
from annotate.models.retention import retention_notice
from annotate.participation.consent.queries import consent_text
from annotate.participation.consent.views import completion_context
from annotate.participation.questionnaire.views import current_question_form

LOG_INTERVAL = timedelta(hours=1)
VIEW_ACTIONS = EventVerb.SEEN_AS_AN_ANNOTATOR


@dataclass(frozen=True)
class ViewedPage:
    """Where the page is; its templates send everything to `here` in place of the real addresses."""

    annotator: Annotator
    page: str

    def at(self, page: str) -> str:
        address = reverse("see-as", args=[self.annotator.project_id, self.annotator.key])
        return address if page == "task" else f"{address}?see={page}"

    @property
    def here(self) -> str:
        return self.at(self.page)

    @property
    def addresses(self) -> TaskAddresses:
        return TaskAddresses(label=self.here, ahead="", undo=self.here, done=self.here)

    @property
    def task(self) -> str:
        return self.at("task")

    @property
    def answers(self) -> str:
        return self.at("answers")


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def view_as(request: SignedInRequest, project_id: UUID, key: UUID) -> HttpResponse:
    """Show a page; a button on it sends POST, which stores nothing, says so and shows the page again."""
    project = access.project_for(request, project_id, access.MANAGE)
    annotator = get_object_or_404(Annotator.objects.select_related("project"), project=project, key=key)
    page = request.GET.get("see", "task")
    record_view(request, annotator)
    return PAGES.get(page, task_page)(request, annotator, ViewedPage(annotator, page if page in PAGES else "task"))


def record_view(request: SignedInRequest, annotator: Annotator) -> None:
    """Record in the log who looked, at most once an hour."""
    now = timezone.now()
    earlier = Event.objects.filter(
        project=annotator.project, verb=VIEW_ACTIONS, actor=request.user, annotator=annotator
    )
    if not earlier.filter(at__gt=now - LOG_INTERVAL).exists():
        record_event(annotator.project, request.user, VIEW_ACTIONS, now, annotator=annotator)


def task_page(request: HttpRequest, annotator: Annotator, seen: ViewedPage) -> HttpResponse:
    task = current_task(annotator=annotator, now=timezone.now())
    if task.stop and task.stop.page:
        return HttpResponseRedirect(seen.at(task.stop.page))
    # Whoever knows a presentation's token may answer it: the page has none.
    last = replace(task.last, token=TOKEN) if task.last else None
    task = replace(task, token=TOKEN if task.token else "", last=last)
    is_part = is_htmx(request)
    return shown(request, "labelling/task.html" if is_part else "labelling/label.html", seen, {"task": task})


def answers_page(request: HttpRequest, annotator: Annotator, seen: ViewedPage) -> HttpResponse:
    wording = requested_wording(request, annotator.project)
    found = own_answers_page(annotator, timezone.now(), request.GET.get("page"), wording)
    if isinstance(found, str):
        return HttpResponseRedirect(seen.at(found))
    template, context, _status = found
    return shown(request, template, seen, context)


def consent_page(request: HttpRequest, annotator: Annotator, seen: ViewedPage) -> HttpResponse:
    project = annotator.project
    text = consent_text(project, content_language(request, project))
    if text is None or annotator.consent_version == project.consent_version:
        return HttpResponseRedirect(seen.task)
    context = {"consent": text, "retention_notice": retention_notice(annotator.project)}
    return shown(request, "participation/consent.html", seen, context)


def questionnaire_page(request: HttpRequest, annotator: Annotator, seen: ViewedPage) -> HttpResponse:
    found = current_question_form(annotator, None, timezone.now(), content_language(request, annotator.project))
    if found is None:
        return HttpResponseRedirect(seen.task)
    form, at_end = found
    return shown(request, "participation/questionnaire.html", seen, {"form": form, "at_end": at_end})


def done_page(request: HttpRequest, annotator: Annotator, seen: ViewedPage) -> HttpResponse:
    completion = Completion.objects.filter(annotator=annotator).first()
    if completion is None:
        return HttpResponseRedirect(seen.task)
    return shown(
        request,
        "participation/done.html",
        seen,
        completion_context(annotator, completion, content_language(request, annotator.project)),
    )


PAGES = {
    "task": task_page,
    "answers": answers_page,
    "consent": consent_page,
    "questionnaire": questionnaire_page,
    "done": done_page,
}


def shown(request: HttpRequest, template: str, seen: ViewedPage, context: dict[str, Any]) -> HttpResponse:
    """Render the annotator's page without their secrets and without an account menu, for the account here
    is another's."""
    stand_in = copy.copy(seen.annotator)
    stand_in.key, stand_in.resume_token = seen.annotator.project_id, ""
    more = {
        "project": seen.annotator.project,
        "annotator": stand_in,
        "user": AnonymousUser(),
        "addresses": seen.addresses,
        "preview": seen,
        "seen": seen,
        "resume_link": request.build_absolute_uri(reverse("resume", args=[TOKEN])),
        "notice": _("You are only viewing: nothing was saved.") if request.method == "POST" else "",
    }
    return render(request, template, context | more)
