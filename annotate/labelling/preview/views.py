"""The owner's preview: the task page with samples of the project's items, on this screen or a phone's."""

from dataclasses import dataclass
from uuid import UUID

from csp.constants import SELF
from csp.decorators import csp_replace
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.core.errors import UserError
from annotate.labelling.actions import Answer, check_answers
from annotate.labelling.answer_text import describe_answers, summarize_answer
from annotate.labelling.forms import AnswerForm
from annotate.labelling.last_answers import LastAnswer
from annotate.labelling.navigation import TaskAddresses
from annotate.labelling.preview.queries import MAX_PREVIEW_ANSWERS, TOKEN, sample_task
from annotate.labelling.views import is_htmx
from annotate.labelling.wording import language_choices, requested_wording
from annotate.models import Annotator, Project


@dataclass(frozen=True)
class PreviewPosition:
    """Where the page is."""

    project: Project
    n: int
    in_frame: bool

    def at(self, n: int) -> str:
        query = {"n": n, **({"frame": 1} if self.in_frame else {})}
        return f"{reverse('preview', args=[self.project.pk])}?{urlencode(query)}"

    @property
    def here(self) -> str:
        return self.at(self.n)

    @property
    def addresses(self) -> TaskAddresses:
        """Return where the page's forms lead in place of the real ones: nothing is ahead, and undoing goes back."""
        return TaskAddresses(label=self.here, ahead="", undo=self.at(max(0, self.n - 1)), done=self.here)


@login_required
@never_cache
@xframe_options_sameorigin  # the phone is a frame on this view's own page
@csp_replace({"frame-ancestors": [SELF], "frame-src": [SELF, *(f"https://{host}" for host in settings.EMBED_HOSTS)]})  # type: ignore[arg-type]
@require_http_methods(["GET", "HEAD", "POST"])
def preview(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """Show a task; POST takes an answer as the task page would, stores nothing and shows the next task."""
    project = access.project_for(request, project_id, access.SEE)
    n = request.GET.get("n", "")
    at = PreviewPosition(
        project, min(int(n), MAX_PREVIEW_ANSWERS) if n.isdecimal() and len(n) < 9 else 0, "frame" in request.GET
    )
    if request.GET.get("screen") == "phone":
        return render(request, "labelling/preview_phone.html", {"project": project, "preview": at})
    if "answer" not in request.POST:
        return task_page(request, at)
    try:
        answer = AnswerForm(request.POST).to_answer("", project)
        check_answers(project, answer, project.k)
    except UserError as refusal:
        return task_page(request, at, refusal=refusal)
    return task_page(request, PreviewPosition(project, at.n + 1, at.in_frame), answer=answer)


def task_page(
    request: HttpRequest, at: PreviewPosition, *, answer: Answer | None = None, refusal: UserError | None = None
) -> HttpResponse:
    now, project, last = timezone.now(), at.project, None
    if answer:
        last = LastAnswer(TOKEN, describe_answers(project, summarize_answer(answer)), now)
    wording = requested_wording(request, project)
    # Whoever it would be: a row that is never saved.
    annotator = Annotator(project=project, key=project.pk, pseudonym=_("Quiet Otter"))
    context = {
        "annotator": annotator,
        "project": wording.project,
        "wording": wording,
        "languages": language_choices(project, wording.language),
        "task": sample_task(wording, at.n, now=now, given=request.POST if refusal else None, last=last),
        "notice": f"{_('Your answer was not counted.')} {refusal}" if refusal else "",
        "resume_link": request.build_absolute_uri(reverse("resume", args=[TOKEN])),
        "addresses": at.addresses,
        "preview": at,
    }
    template = "labelling/task.html" if is_htmx(request) else "labelling/preview.html"
    return render(request, template, context, status=refusal.status if refusal else 200)
