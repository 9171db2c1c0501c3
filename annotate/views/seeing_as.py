"""One annotator's own pages as they would find them now, for owners and managers to look at: nothing is written."""

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
from annotate.actions.events import note
from annotate.models import Annotator, Completion, Event
from annotate.queries.entry import consent_text
from annotate.queries.labelling import current_task
from annotate.queries.preview import TOKEN
from annotate.requests import SignedInRequest
from annotate.retention import promise
from annotate.views.entering import ending_of
from annotate.views.labelling import wants_fragment
from annotate.views.own_answers import own_answers_of
from annotate.views.questionnaire import asked_of

NOTED_EVERY = timedelta(hours=1)
SEEN = "seen as an annotator"


@dataclass(frozen=True)
class Seen:
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
    def before(self) -> str:
        return self.here

    @property
    def task(self) -> str:
        return self.at("task")

    @property
    def answers(self) -> str:
        return self.at("answers")


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def see_as(request: SignedInRequest, project_id: UUID, key: UUID) -> HttpResponse:
    """GET shows a page; POST is what a button of it sends: it is told that nothing is stored, and shown again."""
    project = access.project_for(request, project_id, access.MANAGE)
    annotator = get_object_or_404(Annotator.objects.select_related("project"), project=project, key=key)
    page = request.GET.get("see", "task")
    note_look(request, annotator)
    return PAGES.get(page, task_page)(request, annotator, Seen(annotator, page if page in PAGES else "task"))


def note_look(request: SignedInRequest, annotator: Annotator) -> None:
    """The log says who looked; once an hour, however many pages that were."""
    now = timezone.now()
    earlier = Event.objects.filter(project=annotator.project, verb=SEEN, actor=request.user, annotator=annotator)
    if not earlier.filter(at__gt=now - NOTED_EVERY).exists():
        note(annotator.project, request.user, SEEN, now, annotator=annotator)


def task_page(request: HttpRequest, annotator: Annotator, seen: Seen) -> HttpResponse:
    task = current_task(annotator=annotator, now=timezone.now())
    if task.stop and task.stop.page:
        return HttpResponseRedirect(seen.at(task.stop.page))
    # Whoever knows a presentation's token may answer it: the page has none.
    last = replace(task.last, token=TOKEN) if task.last else None
    task = replace(task, token=TOKEN if task.token else "", last=last)
    is_part = wants_fragment(request)
    return shown(request, "labelling/task.html" if is_part else "labelling/label.html", seen, {"task": task})


def answers_page(request: HttpRequest, annotator: Annotator, seen: Seen) -> HttpResponse:
    found = own_answers_of(annotator, timezone.now(), request.GET.get("page"))
    if isinstance(found, str):
        return HttpResponseRedirect(seen.at(found))
    template, context, _status = found
    return shown(request, template, seen, context)


def consent_page(request: HttpRequest, annotator: Annotator, seen: Seen) -> HttpResponse:
    text = consent_text(annotator.project)
    if text is None or annotator.consent_version == text.version:
        return HttpResponseRedirect(seen.task)
    context = {"consent": text, "promise": promise(annotator.project)}
    return shown(request, "labelling/consent.html", seen, context)


def questionnaire_page(request: HttpRequest, annotator: Annotator, seen: Seen) -> HttpResponse:
    found = asked_of(annotator, None, timezone.now())
    if found is None:
        return HttpResponseRedirect(seen.task)
    form, at_end = found
    return shown(request, "labelling/questionnaire.html", seen, {"form": form, "at_end": at_end})


def done_page(request: HttpRequest, annotator: Annotator, seen: Seen) -> HttpResponse:
    completion = Completion.objects.filter(annotator=annotator).first()
    if completion is None:
        return HttpResponseRedirect(seen.task)
    return shown(request, "labelling/done.html", seen, ending_of(annotator, completion))


PAGES = {
    "task": task_page,
    "answers": answers_page,
    "consent": consent_page,
    "questionnaire": questionnaire_page,
    "done": done_page,
}


def shown(request: HttpRequest, template: str, seen: Seen, context: dict[str, Any]) -> HttpResponse:
    """The annotator's page, without their secrets and with no account's menu, for the account here is another's."""
    stand_in = copy.copy(seen.annotator)
    stand_in.key, stand_in.resume_token = seen.annotator.project_id, ""
    more = {
        "project": seen.annotator.project,
        "annotator": stand_in,
        "user": AnonymousUser(),
        "preview": seen,
        "seen": seen,
        "resume_link": request.build_absolute_uri(reverse("resume", args=[TOKEN])),
        "notice": _("You are only looking: nothing was stored.") if request.method == "POST" else "",
    }
    return render(request, template, context | more)
