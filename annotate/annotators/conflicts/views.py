"""Page where owners list, add and remove conflicts of interest."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotate import access
from annotate.access import SignedInRequest
from annotate.annotators.conflicts.actions import AddedConflicts, add_conflicts, remove_conflict
from annotate.annotators.conflicts.forms import NeverShownForm
from annotate.annotators.conflicts.queries import people_by_name
from annotate.annotators.conflicts.table import NewNeverShown, read_conflicts
from annotate.core import rate_limits
from annotate.files.limits import BadFile
from annotate.files.row_errors import RowError
from annotate.models import ConflictOfInterest, Project

PAGE_SIZE = 50


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def never_shown(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """List conflicts of interest; POST adds all rows of a table, or none where one of them is wrong."""
    project = access.project_for(request, project_id, access.MANAGE)
    form = NeverShownForm(request.POST if request.method == "POST" else None)
    problems: list[RowError] = []
    if request.method == "POST":
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        if form.is_valid():
            try:
                rows, problems = rows_in(project, form.cleaned_data["table"])
            except BadFile as refusal:
                form.add_error("table", str(refusal))
            else:
                if not problems:
                    void = form.cleaned_data["void"]
                    added = add_conflicts(project=project, actor=request.user, rows=rows, now=timezone.now(), void=void)
                    messages.success(request, describe_added(added))
                    return redirect("never-shown", project.pk)
    entries = ConflictOfInterest.objects.filter(annotator__project=project).select_related("annotator", "item", "tag")
    context = {
        "project": project,
        "form": form,
        "problems": problems,
        "page": Paginator(entries.order_by("annotator__pseudonym", "pk"), PAGE_SIZE).get_page(request.GET.get("page")),
    }
    return render(request, "annotators/conflicts.html", context, status=400 if form.errors or problems else 200)


def describe_added(added: AddedConflicts) -> str:
    """Return how many rows were added and what became of the answers given before."""
    text = ngettext("%(n)d row was added.", "%(n)d rows were added.", added.n_rows) % {"n": added.n_rows}
    if added.n_voided:
        text += " " + ngettext(
            "%(n)d answer about these items was voided.", "%(n)d answers about these items were voided.", added.n_voided
        ) % {"n": added.n_voided}
    if added.n_answers:
        text += " " + ngettext(
            "%(n)d answer given before about these items stays and counts. To void it, send the rows again and tick "
            "“Also void the answers”.",
            "%(n)d answers given before about these items stay and count. To void them, send the rows again and tick "
            "“Also void the answers”.",
            added.n_answers,
        ) % {"n": added.n_answers}
    return text


def rows_in(project: Project, text: str) -> tuple[list[NewNeverShown], list[RowError]]:
    return read_conflicts(
        text,
        people_by_name(project),
        dict(project.items.values_list("key", "pk")),
        dict(project.tags.values_list("name", "pk")),
    )


@login_required
@require_POST
def remove(request: SignedInRequest, project_id: UUID, entry_id: int) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    entry = get_object_or_404(
        ConflictOfInterest.objects.select_related("annotator__project"), pk=entry_id, annotator__project=project
    )
    remove_conflict(entry=entry, actor=request.user, now=timezone.now())
    messages.success(request, _("The row is removed: the annotator can be shown the item or tag again."))
    return redirect("never-shown", project.pk)
