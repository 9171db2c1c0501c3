"""Page where owners tag annotators, by ticking them or with a table."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.access import SignedInRequest
from annotate.annotators.tags.actions import tag_annotators, untag_annotators
from annotate.annotators.tags.forms import SearchForm, SelectedForm, TableForm
from annotate.annotators.tags.queries import annotators_by_name, tags_of
from annotate.annotators.tags.table import read_tags
from annotate.core import rate_limits
from annotate.core.errors import UserError
from annotate.files.limits import BadFile
from annotate.files.row_errors import RowError
from annotate.models import Annotator, Project

PAGE_SIZE = 50


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def annotator_tags(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """List tags; POST changes the tags of those ticked, or adds all rows of a table, or none where one of them is
    wrong."""
    project = access.project_for(request, project_id, access.MANAGE)
    is_table = "table" in request.POST
    chosen = SelectedForm(request.POST if request.method == "POST" and not is_table else None)
    table = TableForm(request.POST if is_table else None)
    problems: list[RowError] = []
    if table.is_valid():
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        problems = add_table(request, project, table)
    elif chosen.is_valid():
        change_selected(request, project, chosen)
    is_wrong = table.errors or chosen.errors or problems
    if request.method == "POST" and not is_wrong:
        query = request.GET.urlencode()
        return redirect(request.path + (f"?{query}" if query else ""))
    return shown(request, project, chosen, table, problems)


def add_table(request: SignedInRequest, project: Project, form: TableForm) -> list[RowError]:
    """Return what is wrong with the rows; what is wrong with the table is added to the form."""
    try:
        pairs, problems = read_tags(form.cleaned_data["table"], annotators_by_name(project))
        if not problems:
            n = tag_annotators(project=project, actor=request.user, pairs=pairs, now=timezone.now())
            messages.success(request, ngettext("%(n)d tag was added.", "%(n)d tags were added.", n) % {"n": n})
    except (BadFile, UserError) as refusal:
        form.add_error("table", str(refusal))
        return []
    return problems


def change_selected(request: SignedInRequest, project: Project, form: SelectedForm) -> None:
    keys = [key for key in request.POST.getlist("annotators")[:PAGE_SIZE] if is_uuid(key)]
    people = list(project.annotators.filter(key__in=keys).values_list("pk", flat=True))
    if not people:
        form.add_error(None, _("Nobody is selected, so nothing was changed. Select people in the list first."))
        return
    pairs = [(annotator, name) for annotator in people for name in form.cleaned_data["tags"]]
    change = tag_annotators if form.cleaned_data["action"] == "tag" else untag_annotators
    try:
        n = change(project=project, actor=request.user, pairs=pairs, now=timezone.now())
    except UserError as refusal:
        form.add_error(None, str(refusal))
        return
    if change is tag_annotators:
        text = ngettext("%(n)d tag was added.", "%(n)d tags were added.", n)
    else:
        text = ngettext("%(n)d tag was removed.", "%(n)d tags were removed.", n)
    messages.success(request, text % {"n": n})


def is_uuid(key: str) -> bool:
    try:
        UUID(key)
    except ValueError:
        return False
    return True


def shown(
    request: SignedInRequest, project: Project, chosen: SelectedForm, table: TableForm, problems: list[RowError]
) -> HttpResponse:
    find = SearchForm(request.GET, project=project)
    asked = find.asked()
    found = Annotator.objects.filter(project=project)
    if asked["q"]:
        found = found.filter(Q(pseudonym__icontains=asked["q"]) | Q(platform_id=asked["q"]))
    if asked["tag"]:
        found = found.filter(tags__name=asked["tag"])
    page = Paginator(found.order_by("pseudonym", "pk"), PAGE_SIZE).get_page(request.GET.get("page"))
    tags = tags_of([one.pk for one in page])
    context = {
        "project": project,
        "find": find,
        "chosen": chosen,
        "table": table,
        "problems": problems,
        "page": page,
        "lines": [(one, tags.get(one.pk, [])) for one in page],
        "is_filtered": any(asked.values()),
    }
    return render(request, "annotators/tags.html", context, status=400 if request.method == "POST" else 200)
