"""Who took part by links: how each part ended, checking codes, and the list as a file; for managers alone."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.handlers.asgi import ASGIRequest
from django.core.paginator import Paginator
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotate import access
from annotate.access import SignedInRequest
from annotate.audit import record_export
from annotate.core import rate_limits
from annotate.files.downloads import stepwise
from annotate.files.writers import FORMATS, csv_chunks
from annotate.models import Completion
from annotate.participation.completion.actions import CodeCheck, check_code, use_code
from annotate.participation.forms import CodeForm
from annotate.participation.queries import COLUMNS, participant_rows, participants
from annotate.participation.rules import participation_rules

PAGE_SIZE = 50


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    form = CodeForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        rate_limits.check_rate_limit(request, "code", who=str(request.user.pk))
        code = form.cleaned_data["code"]
        if "use" in request.POST:
            checked = use_code(project=project, actor=request.user, code=code, now=timezone.now())
            code_message(request, code, checked, used=True)
        else:
            code_message(request, code, check_code(project=project, code=code), used=False)
        return redirect("participants", project.pk)
    page = Paginator(participants(project), PAGE_SIZE).get_page(request.GET.get("page"))
    kinds = {kind.value: kind.label for kind in Completion.Kind}
    context = {
        "project": project,
        "page": page,
        "rows": [(one, kinds.get(one.ended, "")) for one in page],
        "n_refused": sum(one.refused_at is not None for one in page),  # type: ignore[attr-defined]  # by the query
        "n_turned_away": Completion.objects.filter(project=project, annotator=None).count(),
        "entry": participation_rules(project),
        "form": form,
        "now": timezone.now(),
    }
    return render(request, "participation/participants.html", context, status=400 if form.errors else 200)


def code_message(request: SignedInRequest, code: str, checked: CodeCheck, *, used: bool) -> None:
    if checked.completion is None:
        messages.error(request, _("“%(code)s” is not a code of this project.") % {"code": code[:50]})
        return
    values = {
        "code": checked.completion.code,
        "who": checked.completion.annotator or checked.completion.platform_id,
        "kind": checked.completion.get_kind_display(),
    }
    if checked.used_before:
        messages.warning(
            request, _("%(code)s (%(who)s, %(kind)s) has already been used. Each code is valid once.") % values
        )
    elif used:
        messages.success(request, _("%(code)s is genuine (%(who)s, %(kind)s). It is now marked as used.") % values)
    else:
        messages.success(request, _("%(code)s is genuine (%(who)s, %(kind)s) and has not been used.") % values)


@login_required
@require_safe
def download(request: SignedInRequest, project_id: UUID) -> StreamingHttpResponse:
    """Send participants' numbers; they are in no other export, because viewers may take those."""
    project = access.project_for(request, project_id, access.MANAGE)
    rate_limits.check_rate_limit(request, "export", who=str(request.user.pk))
    if request.method == "GET":
        now = timezone.now()
        record_export(project=project, actor=request.user, table="participants", file_format="csv", now=now)
    chunks = csv_chunks(COLUMNS, participant_rows(project))
    content = stepwise(chunks) if isinstance(request, ASGIRequest) else chunks
    response = StreamingHttpResponse(content, content_type=FORMATS["csv"][0])
    response["Content-Disposition"] = 'attachment; filename="participants.csv"'
    response["Cache-Control"] = "no-store"
    return response
