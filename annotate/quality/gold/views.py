"""The owner's page of sets with a right answer: adding them from a table, seeing how they are answered, removing."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotate import access
from annotate.access import SignedInRequest
from annotate.core import rate_limits
from annotate.criteria import Criterion
from annotate.files.limits import BadFile
from annotate.files.row_errors import RowError
from annotate.models import Project
from annotate.quality.gold.actions import add_gold_sets, remove_gold_set
from annotate.quality.gold.forms import GoldTableForm
from annotate.quality.gold.queries import gold_set_page as query
from annotate.quality.gold.table import columns_of, parse_table


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def gold_sets(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """List gold sets; POST adds all rows of a table, or none where one of them is wrong."""
    project = access.project_for(request, project_id, access.MANAGE)
    form = GoldTableForm(request.POST or None, request.FILES or None)
    problems: list[RowError] = []
    if request.method == "POST":
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        if form.is_valid():
            try:
                rows, problems = parse_table(
                    project, form.cleaned_data["table"], dict(project.items.values_list("key", "pk"))
                )
            except BadFile as refusal:
                form.add_error("table", str(refusal))
            else:
                if not problems:
                    only = form.cleaned_data["only_for_checks"]
                    n = add_gold_sets(
                        project=project, actor=request.user, rows=rows, only_for_checks=only, now=timezone.now()
                    )
                    text = ngettext("%(n)d set is added.", "%(n)d sets are added.", n)
                    messages.success(request, text % {"n": n})
                    return redirect("known-sets", project.pk)
    return render_gold_sets(request, project, form, problems)


def render_gold_sets(
    request: SignedInRequest, project: Project, form: GoldTableForm, problems: list[RowError]
) -> HttpResponse:
    keys = list(project.items.order_by("pk").values_list("key", flat=True)[: project.k])
    keys += [f"key-{n}" for n in range(len(keys) + 1, project.k + 1)]
    context = {
        "project": project,
        "criterion": Criterion(project),  # the first: gold sets are answered by it
        "form": form,
        "problems": problems,
        "sets": query(project, request.GET.get("page")),
        "columns": columns_of(project),
        "example": ",".join(["gold", *keys, keys[0], ""]),
    }
    return render(request, "quality/known_sets.html", context, status=400 if form.errors or problems else 200)


@login_required
@require_POST
def remove(request: SignedInRequest, project_id: UUID, known_id: int) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    known = get_object_or_404(project.known_sets, pk=known_id)
    remove_gold_set(known=known, actor=request.user, now=timezone.now())
    messages.success(
        request, _("The set is removed and no longer shown for this purpose. Answers to it stay in the export.")
    )
    return redirect("known-sets", project.pk)
