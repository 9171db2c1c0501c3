"""The page behind “Enough for now”: thanks, and what others think where the owner shows that."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotate import access
from annotate.annotators.own_result.queries import check_may_view, own_result
from annotate.core.errors import UserError
from annotate.criteria import Criterion, criterion_from_query
from annotate.labelling.requirements import StepRequired
from annotate.labelling.stop_pages import stop_page
from annotate.labelling.wording import requested_wording


@never_cache
@require_safe
def enough(request: HttpRequest, project_id: UUID) -> HttpResponse:
    annotator = access.annotator_or_404(request, project_id)
    project, now = annotator.project, timezone.now()
    criterion = criterion_from_query(project, request.GET.get("criterion"))
    if criterion is None:
        raise Http404
    try:
        check_may_view(annotator, now)
    except StepRequired as step:
        return redirect(step.page, project_id)
    except UserError as refusal:
        context = {"project": project, "stop": stop_page(refusal, n_done=0)}
        return render(request, "labelling/not_open.html", context, status=refusal.status)
    number = request.GET.get("page", "")
    wording = requested_wording(request, project)
    page = int(number) if number.isdecimal() and len(number) < 7 else 1
    context = {
        "project": wording.project,
        "wording": wording,
        "annotator": annotator,
        "criterion": Criterion(wording.project, criterion.number),
        "result": own_result(criterion, annotator, now, page, wording.language),
    }
    return render(request, "labelling/enough.html", context)
