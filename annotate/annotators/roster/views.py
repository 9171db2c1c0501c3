"""Page of the people whom the owner expects: adding them, sending their links, seeing who has come."""

from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate import access
from annotate.access import SignedInRequest
from annotate.annotators.conflicts.actions import add_conflicts
from annotate.annotators.conflicts.views import describe_added
from annotate.annotators.roster import queries
from annotate.annotators.roster.actions import (
    MAX_MESSAGES,
    SentLink,
    add_people,
    personal_link,
    remove_person,
    send_links,
    shown_link,
)
from annotate.annotators.roster.courses import import_course
from annotate.annotators.roster.forms import MessageForm, RosterForm
from annotate.annotators.roster.table import NewPerson, RosterCheck, read_roster
from annotate.annotators.roster.unfinished import CannotGoOn, why_not_now
from annotate.audit import record_export
from annotate.core import rate_limits
from annotate.core.errors import UserError
from annotate.files.downloads import sent
from annotate.files.row_errors import RowError
from annotate.files.writers import FORMATS, csv_chunks
from annotate.lti.courses import courses_of, disconnect
from annotate.models import ExpectedPerson, Project

PAGE_SIZE = 50
SHOWN = 50  # rows of the preview, and rows with a problem


@dataclass
class Preview:
    """A table that was read: its text, the people in it, what is wrong with it."""

    form: RosterForm
    text: str = ""
    people: list[NewPerson] = field(default_factory=list)
    problems: list[RowError] = field(default_factory=list)

    @property
    def shown(self) -> list[NewPerson]:
        return self.people[:SHOWN]


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def expected_people(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """List the people expected; POST reads a table and shows its rows, or adds them once they are confirmed."""
    project = access.project_for(request, project_id, access.MANAGE)
    preview = None
    if request.method == "POST":
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        preview = read_table(request, project)
        if "add" in request.POST and preview.people and not preview.problems:
            try:
                n = add_people(project=project, actor=request.user, rows=preview.people, now=timezone.now())
            except UserError as refusal:
                preview.form.add_error("table", str(refusal))
            else:
                text = ngettext("%(n)d person is on the list now.", "%(n)d people are on the list now.", n)
                messages.success(request, text % {"n": n})
                return redirect("expected-people", project.pk)
    return roster_page(request, project, preview=preview)


def read_table(request: SignedInRequest, project: Project) -> Preview:
    preview = Preview(RosterForm(request.POST, request.FILES))
    if preview.form.is_valid():
        preview.text = preview.form.cleaned_data["table"]
        try:
            preview.people, preview.problems = read_roster(preview.text, RosterCheck.of_project(project))
        except UserError as refusal:
            preview.form.add_error("table", str(refusal))
        else:
            if not preview.people and not preview.problems:
                preview.form.add_error("table", _("The table has no rows below the names of its columns. Add people."))
    return preview


def roster_page(
    request: SignedInRequest,
    project: Project,
    *,
    preview: Preview | None = None,
    results: list[SentLink] | None = None,
    message: MessageForm | None = None,
) -> HttpResponse:
    page = Paginator(queries.roster(project), PAGE_SIZE).get_page(request.GET.get("page"))
    refused = preview is not None and (preview.form.errors or preview.problems)
    form = preview.form if preview and preview.form.errors else RosterForm(initial={"table": preview and preview.text})
    now = timezone.now()
    context = {
        "project": project,
        "page": page,
        "rows": [(one, queries.conflict_names(one), shown_link(request, project, one)) for one in page],
        "shows_links": project.role in access.OWN,
        "courses": courses_of(project),
        "totals": queries.roster_totals(project, now),
        "no_reminders": why_not_now(project, now),
        "n_missing_conflicts": len(queries.missing_conflicts(project)),
        "preview": preview,
        "is_ready": bool(preview and preview.people and not refused),
        "form": form,
        "message": message or MessageForm(),
        "results": results or [],
        "max_messages": MAX_MESSAGES,
        "now": now,
    }
    refused = refused or (message is not None and message.errors)
    return render(request, "annotators/roster.html", context, status=400 if refused else 200)


@login_required
@require_POST
def send(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Send links to one group (`to`): who was never written to, who has not come, who has not finished."""
    project = access.project_for(request, project_id, access.MANAGE)
    message = MessageForm(request.POST)
    if not message.is_valid():
        return roster_page(request, project, message=message)
    to, words = queries.Group(message.cleaned_data["to"]), message.cleaned_data["words"]
    try:
        results = send_links(request, project, request.user, to, words, timezone.now())
    except CannotGoOn as refusal:
        messages.error(request, str(refusal))
        return redirect("expected-people", project.pk)
    if not results:
        messages.info(request, _("There is nobody to write to now. Nobody gets two messages within an hour."))
        return redirect("expected-people", project.pk)
    return roster_page(request, project, results=results, message=MessageForm(initial={"words": words}))


@login_required
@require_POST
def remove(request: SignedInRequest, project_id: UUID, person_id: int) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    person = get_object_or_404(ExpectedPerson.objects.select_related("project"), pk=person_id, project=project)
    remove_person(person=person, actor=request.user, now=timezone.now())
    text = _("%(name)s is off the list, and the personal link no longer works. Answers given stay.")
    messages.success(request, text % {"name": person.name})
    return redirect("expected-people", project.pk)


@login_required
@require_POST
def course(request: SignedInRequest, project_id: UUID, course_id: int) -> HttpResponse:
    """Bring the people of a connected course in, or disconnect it."""
    project = access.project_for(request, project_id, access.MANAGE)
    found = get_object_or_404(courses_of(project), pk=course_id)
    if "disconnect" in request.POST:
        disconnect(course=found, actor=request.user, now=timezone.now())
        messages.success(request, _("The course is disconnected. Who was brought in from it stays on the list."))
        return redirect("expected-people", project.pk)
    rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
    try:
        imported = import_course(project=project, course=found, actor=request.user, now=timezone.now())
    except UserError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, " ".join(imported.sentences))
    return redirect("expected-people", project.pk)


@login_required
@require_POST
def add_missing_conflicts(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Add the conflicts by organisation or domain of people who had joined before items got the tag."""
    project = access.project_for(request, project_id, access.MANAGE)
    rows = queries.missing_conflicts(project)
    added = add_conflicts(
        project=project, actor=request.user, rows=rows, now=timezone.now(), void="void" in request.POST
    )
    messages.success(request, describe_added(added))
    return redirect("expected-people", project.pk)


@login_required
@require_safe
def download(request: SignedInRequest, project_id: UUID) -> StreamingHttpResponse:
    """Send everybody's personal link, for a mail merge of one's own."""
    project = access.project_for(request, project_id, access.OWN)
    rate_limits.check_rate_limit(request, "export", who=str(request.user.pk))
    if request.method == "GET":
        now = timezone.now()
        record_export(project=project, actor=request.user, table="personal links", file_format="csv", now=now)
    rows = list(queries.link_rows(project, partial(personal_link, request)))
    response = sent(request, csv_chunks(queries.LINK_COLUMNS, rows), FORMATS["csv"][0])
    response["Content-Disposition"] = 'attachment; filename="personal-links.csv"'
    response["Cache-Control"] = "no-store"
    return response
