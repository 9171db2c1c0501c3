"""The task page: what is asked, answering it, undoing; with htmx each answer brings the next task's fragment."""

import math
from datetime import datetime
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotate import access
from annotate.core import rate_limits
from annotate.core.errors import (
    AnnotatorErased,
    AnnotatorExcluded,
    AnsweredTooSoon,
    ProjectNotOpen,
    ScreenedOut,
    UserError,
)
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_and_assign_next
from annotate.labelling.answer_text import describe_answers, summarize_answer, summarize_label_by_criterion
from annotate.labelling.asked_tasks import project_for_task
from annotate.labelling.forms import AnswerForm
from annotate.labelling.known_items import undo_last
from annotate.labelling.last_answers import LastAnswer
from annotate.labelling.navigation import RNG, own_link, redirect_to_task, task_addresses
from annotate.labelling.queries import current_task
from annotate.labelling.requirements import StepRequired
from annotate.labelling.time_left import parse_client_timing
from annotate.labelling.unsent_answers import sign_in_first, unsent_answer
from annotate.labelling.wording import language_choices, requested_wording
from annotate.models import Annotator, Label, Presentation, Project, Purpose


@never_cache
@require_POST
@rate_limits.limit_concurrency
def submit(request: HttpRequest, token: str) -> HttpResponse:
    """Store the answer to one presentation; sent again it is the same answer."""
    try:
        presentation = access.presentation_for(request, token)
    except access.SignInRequired as refusal:
        return sign_in_first(request, token, refusal.project_id)
    annotator = presentation.annotator
    rate_limits.check_rate_limit(request, "answer", who=str(annotator.pk))
    if annotator.user_id is None:  # whose session may have run out
        access.remember_annotator(request, annotator)
    now = timezone.now()
    try:
        answer = AnswerForm(request.POST).to_answer(
            session_code(request), project_for_task(presentation.annotator.project, presentation.task)
        )
        stored, nothing_next = record_and_assign_next(
            presentation=presentation, answer=answer, now=now, rng=RNG, ahead=is_htmx(request)
        )
    except UserError as refusal:
        given = request.POST if presentation.state == Presentation.State.OPEN else None
        return error_page(request, annotator, refusal, _("Your answer was not counted."), given)
    annotator = presentation.annotator
    notice = answer_notice(annotator.project, answer, stored, now)
    last = None
    if stored.created_at == now and not stored.voided_at and presentation.purpose != Purpose.PRACTICE:
        words = requested_wording(request, annotator.project).project
        last = LastAnswer(token, describe_answers(words, summarize_answer(answer)), now)
    return task_or_redirect(request, annotator, nothing_next, notice=notice, last=last)


@never_cache
@require_POST
@rate_limits.limit_concurrency
def undo(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """Take the named answer back and ask the same again."""
    annotator = access.annotator_or_404(request, project_id)
    rate_limits.check_rate_limit(request, "answer", who=str(annotator.pk))
    try:
        undo_last(annotator=annotator, now=timezone.now(), token=request.POST.get("token"))
    except UserError as refusal:
        return error_page(request, annotator, refusal, _("Nothing was undone."))
    return show_next_task(request, annotator)


@never_cache
@require_POST
@rate_limits.limit_concurrency
def ahead(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """Leases the question after the open one, for a page that holds none ready; nothing but it is shown anew."""
    annotator = access.annotator_or_404(request, project_id)
    rate_limits.check_rate_limit(request, "answer", who=str(annotator.pk))
    return show_next_task(request, annotator)


def is_htmx(request: HttpRequest) -> bool:
    return bool(getattr(request, "htmx", False))


def session_code(request: HttpRequest) -> str:
    """Tells the sessions of an annotator apart without giving any of them away."""
    if request.session.session_key is None:
        request.session.save()
    return salted_hmac("annotate.session", str(request.session.session_key), algorithm="sha256").hexdigest()[:16]


def show_next_task(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Open the next presentation and show it, or why there is none."""
    try:
        assignment.next_presentation(annotator=annotator, now=timezone.now(), rng=RNG, ahead=is_htmx(request))
    except UserError as refusal:
        return task_or_redirect(request, annotator, refusal)
    return task_or_redirect(request, annotator, None)


def task_or_redirect(
    request: HttpRequest,
    annotator: Annotator,
    refusal: UserError | None,
    *,
    notice: str = "",
    last: LastAnswer | None = None,
) -> HttpResponse:
    """Return the task page at once with htmx, else a redirect to it."""
    if is_htmx(request):
        return task_page(request, annotator, refusal=refusal, notice=notice, last=last)
    if notice:
        messages.warning(request, notice)
    return redirect_to_task(annotator.project_id)


def error_page(
    request: HttpRequest, annotator: Annotator, refusal: UserError, what: str, given: QueryDict | None = None
) -> HttpResponse:
    """Return the task page with what was refused and why, in place; to somebody erased meanwhile a page of its own."""
    if isinstance(refusal, AnnotatorErased):
        raise refusal
    if isinstance(refusal, ProjectNotOpen | AnnotatorExcluded | ScreenedOut | StepRequired):
        return task_page(request, annotator, refusal=refusal, notice=what, status=refusal.status)
    page = task_page(request, annotator, notice=f"{what} {refusal}", status=refusal.status, given=given)
    if isinstance(refusal, AnsweredTooSoon):  # the page sends an answer that had waited again by itself
        page.headers["Retry-After"] = str(math.ceil(refusal.left.total_seconds()))
    return page


def task_page(
    request: HttpRequest,
    annotator: Annotator,
    *,
    refusal: UserError | None = None,
    notice: str = "",
    status: int = 200,
    given: QueryDict | None = None,
    last: LastAnswer | None = None,
) -> HttpResponse:
    wording = requested_wording(request, annotator.project)
    task = current_task(
        annotator=annotator,
        wording=wording,
        now=timezone.now(),
        refusal=refusal,
        given=given,
        last=last,
        hints=parse_client_timing(request.POST) if is_htmx(request) else None,
        shown=request.POST.get("shown", "") if is_htmx(request) else "",
        holds_ahead=True,
    )
    if task.stop and task.stop.page:
        return redirect_page(request, reverse(task.stop.page, args=[annotator.project_id]))
    context = {
        "annotator": annotator,
        "project": wording.project,
        "wording": wording,
        "task": task,
        "notice": notice,
        "addresses": task_addresses(annotator.project_id),
        "preview": None,
    }
    if is_htmx(request):
        template = "labelling/answered.html" if task.is_shown else "labelling/task.html"
        return render(request, template, context, status=status)
    context["languages"] = language_choices(annotator.project, wording.language)
    context["unsent"] = unsent_answer(request, annotator)
    context["resume_link"] = own_link(request, annotator)
    return render(request, "labelling/label.html", context, status=status)


def redirect_page(request: HttpRequest, address: str) -> HttpResponse:
    """Redirect to another page: htmx loads it as a whole."""
    if is_htmx(request):
        return HttpResponse(headers={"HX-Redirect": address})
    return HttpResponseRedirect(address)


def answer_notice(project: Project, answer: Answer, stored: Label, now: datetime) -> str:
    """Return what the annotator should know about an answer that was not simply stored."""
    if stored.void_reason == Label.VoidReason.LATE:
        return _(
            "Your last answer came too late: others had already answered that task. It is stored but does not count."
        )
    if stored.created_at == now:
        return ""
    if stored.void_reason == Label.VoidReason.UNDONE:
        return _("You had already undone that answer, so the one you sent now was not stored.")
    summary = summarize_label_by_criterion(project, stored)
    if summary[:1] == summarize_answer(answer)[:1] and (
        stored.outcome == Label.Outcome.SKIP or summary == summarize_answer(answer)
    ):
        return ""
    return _("You had already answered that task (%(answer)s). Your first answer counts.") % {
        "answer": describe_answers(project, summary)
    }


def open_first_task(annotator: Annotator) -> None:
    """Open the first presentation if there is one; if not, the label page says why."""
    try:
        assignment.next_presentation(annotator=annotator, now=timezone.now(), rng=RNG)
    except UserError:
        return
