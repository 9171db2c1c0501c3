"""The owner's page of conflicts of interest: who is never shown what."""

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

from annotate import access, limits
from annotate.actions.never_shown import never_show, show_again
from annotate.forms.never_shown import NeverShownForm
from annotate.importing.bounds import BadFile
from annotate.importing.never_shown import NewNeverShown, read
from annotate.importing.rows import RowError
from annotate.models import NeverShown, Project
from annotate.requests import SignedInRequest

PAGE_SIZE = 100
SHOWN_PROBLEMS = 50


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def never_shown(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """POST adds all rows of a table, or none where one of them is wrong."""
    project = access.project_for(request, project_id, access.MANAGE)
    form = NeverShownForm(request.POST if request.method == "POST" else None)
    problems: list[RowError] = []
    if request.method == "POST":
        limits.limit(request, "import", who=str(request.user.pk))
        if form.is_valid():
            try:
                rows, problems = rows_in(project, form.cleaned_data["table"])
            except BadFile as refusal:
                form.add_error("table", str(refusal))
            else:
                if not problems:
                    n = never_show(project=project, actor=request.user, rows=rows, now=timezone.now())
                    text = ngettext("%(n)d line is added.", "%(n)d lines are added.", n) % {"n": n}
                    messages.success(request, f"{text} {_('Answers given before stay.')}")
                    return redirect("never-shown", project.pk)
    entries = NeverShown.objects.filter(annotator__project=project).select_related("annotator", "item", "tag")
    context = {
        "project": project,
        "form": form,
        "problems": problems[:SHOWN_PROBLEMS],
        "n_problems": len(problems),
        "page": Paginator(entries.order_by("annotator__pseudonym", "pk"), PAGE_SIZE).get_page(request.GET.get("page")),
    }
    return render(request, "projects/never_shown.html", context, status=400 if form.errors or problems else 200)


def rows_in(project: Project, text: str) -> tuple[list[NewNeverShown], list[RowError]]:
    return read(
        text,
        dict(project.annotators.values_list("pseudonym", "pk")),
        dict(project.items.values_list("key", "pk")),
        dict(project.tags.values_list("name", "pk")),
    )


@login_required
@require_POST
def remove(request: SignedInRequest, project_id: UUID, entry_id: int) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    entry = get_object_or_404(
        NeverShown.objects.select_related("annotator__project"), pk=entry_id, annotator__project=project
    )
    show_again(entry=entry, actor=request.user, now=timezone.now())
    messages.success(request, _("The line is removed: they may be shown it from now on."))
    return redirect("never-shown", project.pk)
