"""The page where annotators look back at their own answers while the project takes answers."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotate import access
from annotate.core.qr_codes import qr_svg
from annotate.labelling.navigation import own_link
from annotate.labelling.own_answers import queries
from annotate.labelling.refusals import refusal_of_task
from annotate.labelling.stop_pages import stop_page
from annotate.labelling.wording import Wording, requested_wording
from annotate.models import Annotator


@never_cache
@require_safe
def own_answers(request: HttpRequest, project_id: UUID) -> HttpResponse:
    annotator = access.annotator_or_404(request, project_id)
    wording = requested_wording(request, annotator.project)
    found = own_answers_page(annotator, timezone.now(), request.GET.get("page"), wording)
    if isinstance(found, str):
        return redirect(found, annotator.project_id)
    template, context, status = found
    if annotator.user_id is None:  # here alone: whoever views the page as somebody else is not told the link
        link = own_link(request, annotator)
        context |= {"resume_link": link, "resume_code": qr_svg(link, "share-code")}
    return render(request, template, context, status=status)


def own_answers_page(
    annotator: Annotator, now: datetime, number: str | None, wording: Wording
) -> str | tuple[str, dict[str, Any], int]:
    """Return template, context and status of the page of this number; or the name of the page that comes before it."""
    refusal = refusal_of_task(annotator, now)
    if refusal:
        stop = stop_page(refusal, n_done=0)
        context = {"project": annotator.project, "stop": stop}
        return stop.page or ("labelling/not_open.html", context, refusal.status)
    own = queries.own_answers(annotator, number=number, wording=wording)
    context = {"project": annotator.project, "wording": wording, "own": own, "now": now}
    return "labelling/own_answers.html", context, 200
