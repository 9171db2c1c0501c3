"""The task page: what is asked, answering it, undoing; with htmx each answer brings the next task's fragment."""

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
from django.views.decorators.http import require_http_methods, require_POST

from annotate import access, assigning, limits
from annotate.actions.labels import Answer, record_and_go_on, undo_label
from annotate.entering import Detour
from annotate.errors import Erased, Excluded, NotOpen, Refusal, ScreenedOut
from annotate.forms.labelling import AnswerForm
from annotate.models import Annotator, Label, Presentation, Project, Purpose
from annotate.pace import hints_in
from annotate.queries.answer_words import all_in_words, said_by_all, said_in
from annotate.queries.labelling import LastAnswer, current_task
from annotate.views.joining import RNG, ToTask, enter
from annotate.views.unsent import sign_in_first, unsent_answer


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@limits.few_at_once
def label(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """GET shows the open task, or what there is instead of one; POST opens the next."""
    annotator = access.annotator_for(request, project_id)
    if annotator is None:
        return stranger(request, project_id)
    if request.method == "POST":
        limits.limit(request, "answer", who=str(annotator.pk))
        return following(request, annotator)
    return task_page(request, annotator)


def stranger(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """A member who is no annotator yet may become one; whoever is not known is told how to be."""
    if not request.user.is_authenticated:
        return render(request, "labelling/unknown.html", status=403)
    project = access.project_for(request, project_id, access.ANNOTATE, in_archive=True)
    return enter(request, project, user=request.user)


@never_cache
@require_POST
@limits.few_at_once
def submit(request: HttpRequest, token: str) -> HttpResponse:
    """Stores the answer to one presentation; sent again it is the same answer."""
    try:
        presentation = access.presentation_for(request, token)
    except access.SignInFirst as refusal:
        return sign_in_first(request, token, refusal.project_id)
    annotator = presentation.annotator
    limits.limit(request, "answer", who=str(annotator.pk))
    if annotator.user_id is None:  # whose session may have run out
        access.remember_annotator(request, annotator)
    now = timezone.now()
    try:
        answer = AnswerForm(request.POST).to_answer(session_code(request), presentation.annotator.project)
        stored, nothing_next = record_and_go_on(presentation=presentation, answer=answer, now=now, rng=RNG)
    except Refusal as refusal:
        given = request.POST if presentation.state == Presentation.State.OPEN else None
        return refused(request, annotator, refusal, _("Your answer was not counted."), given)
    annotator = presentation.annotator
    notice = what_became_of(annotator.project, answer, stored, now)
    last = None
    if stored.created_at == now and not stored.voided_at and presentation.purpose != Purpose.PRACTICE:
        last = LastAnswer(token, all_in_words(annotator.project, said_in(answer)), now)
    return next_page(request, annotator, nothing_next, notice=notice, last=last)


@never_cache
@require_POST
@limits.few_at_once
def undo(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """Takes the named answer back and asks the same again."""
    annotator = access.known_annotator(request, project_id)
    limits.limit(request, "answer", who=str(annotator.pk))
    try:
        undo_label(annotator=annotator, now=timezone.now(), token=request.POST.get("token"))
    except Refusal as refusal:
        return refused(request, annotator, refusal, _("Nothing was undone."))
    return following(request, annotator)


def wants_fragment(request: HttpRequest) -> bool:
    return bool(getattr(request, "htmx", False))


def session_code(request: HttpRequest) -> str:
    """Tells the sessions of an annotator apart without giving any of them away."""
    if request.session.session_key is None:
        request.session.save()
    return salted_hmac("annotate.session", str(request.session.session_key), algorithm="sha256").hexdigest()[:16]


def following(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Opens the next presentation and shows it, or why there is none."""
    try:
        assigning.next_presentation(annotator=annotator, now=timezone.now(), rng=RNG)
    except Refusal as refusal:
        return next_page(request, annotator, refusal)
    return next_page(request, annotator, None)


def next_page(
    request: HttpRequest,
    annotator: Annotator,
    refusal: Refusal | None,
    *,
    notice: str = "",
    last: LastAnswer | None = None,
) -> HttpResponse:
    """The task page, at once with htmx, else by a redirect."""
    if wants_fragment(request):
        return task_page(request, annotator, refusal=refusal, notice=notice, last=last)
    if notice:
        messages.warning(request, notice)
    return ToTask(annotator.project_id)


def refused(
    request: HttpRequest, annotator: Annotator, refusal: Refusal, what: str, given: QueryDict | None = None
) -> HttpResponse:
    """The task page with what was refused and why, in place; to somebody erased meanwhile a page of its own."""
    if isinstance(refusal, Erased):
        raise refusal
    if isinstance(refusal, NotOpen | Excluded | ScreenedOut | Detour):
        return task_page(request, annotator, refusal=refusal, notice=what, status=refusal.status)
    return task_page(request, annotator, notice=f"{what} {refusal}", status=refusal.status, given=given)


def task_page(
    request: HttpRequest,
    annotator: Annotator,
    *,
    refusal: Refusal | None = None,
    notice: str = "",
    status: int = 200,
    given: QueryDict | None = None,
    last: LastAnswer | None = None,
) -> HttpResponse:
    task = current_task(
        annotator=annotator,
        now=timezone.now(),
        refusal=refusal,
        given=given,
        last=last,
        hints=hints_in(request.POST) if wants_fragment(request) else None,
    )
    if task.stop and task.stop.page:
        return to_page(request, reverse(task.stop.page, args=[annotator.project_id]))
    context = {
        "annotator": annotator,
        "project": annotator.project,
        "task": task,
        "notice": notice,
    }
    if wants_fragment(request):
        return render(request, "labelling/task.html", context, status=status)
    context["unsent"] = unsent_answer(request, annotator)
    context["resume_link"] = request.build_absolute_uri(reverse("resume", args=[annotator.resume_token]))
    return render(request, "labelling/label.html", context, status=status)


def to_page(request: HttpRequest, address: str) -> HttpResponse:
    """To another page: htmx loads it as a whole."""
    if wants_fragment(request):
        return HttpResponse(headers={"HX-Redirect": address})
    return HttpResponseRedirect(address)


def what_became_of(project: Project, answer: Answer, stored: Label, now: datetime) -> str:
    """What the annotator should know about an answer that was not simply stored."""
    if stored.void_reason == Label.VoidReason.LATE:
        return _("Your last answer came late: others had answered it meanwhile. It is kept, but not counted.")
    if stored.created_at == now:
        return ""
    if stored.void_reason == Label.VoidReason.UNDONE:
        return _("You had taken that answer back, so what you sent for it now was not stored.")
    said = said_by_all(project, stored)
    if said[:1] == said_in(answer)[:1] and (stored.outcome == Label.Outcome.SKIP or said == said_in(answer)):
        return ""
    return _("That task had your answer already (%(answer)s), and it stands.") % {"answer": all_in_words(project, said)}
