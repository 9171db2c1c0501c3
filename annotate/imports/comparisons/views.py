"""Bringing in comparisons made elsewhere: the file, how it is read and what its first rows give, then the import."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from io import StringIO
from itertools import islice
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.base import ContentFile
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.access import SignedInRequest
from annotate.core import rate_limits
from annotate.core.errors import UserError
from annotate.files.decoding import decode_upload
from annotate.files.limits import SMALL, BadFile
from annotate.files.sheets import Sheet
from annotate.imports import job as imports_job
from annotate.imports import uploads
from annotate.imports.actions import start_import
from annotate.imports.comparisons.forms import ComparisonsFileForm, VotingForm, initial_of, voting_of
from annotate.imports.comparisons.tables import FORMATS
from annotate.imports.guessing import check_votes, first_rows, guess_votes, sheet_of
from annotate.imports.prepared import Read
from annotate.imports.sources import Votes
from annotate.imports.uploads import Upload, UploadGone
from annotate.models import ImportJob, Project

SHOWN_ERRORS = 100


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def comparisons(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
    asked = request.POST if request.method == "POST" else request.GET
    if "upload" in asked:
        return with_upload(request, project, asked["upload"], asked)
    form = ComparisonsFileForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            upload = keep(request, project, form.cleaned_data["file"])
        except BadFile as refusal:
            form.add_error("file", str(refusal))
        else:
            return redirect(f"{request.path}?upload={upload.id}")
    context = {"project": project, "form": form, "formats": FORMATS.values(), "has_items": project.items.exists()}
    return render(request, "imports/comparisons.html", context, status=400 if form.errors else 200)


def keep(request: SignedInRequest, project: Project, file: Any) -> Upload:
    """Raises BadFile."""
    name = file.name or _("a file")
    text = decode_upload(file).text
    return uploads.keep(
        user=request.user,
        project=project,
        kind="comparisons",
        name=name,
        details={"mapping": guess_votes(text, name)},
        files={"text": text.encode()},
        now=timezone.now(),
    )


@dataclass
class Look:
    """What the first rows give."""

    mapping: dict[str, Any]
    names: list[str]
    problem: str = ""
    n_rows: int = 0
    n_comparisons: int = 0
    n_new: int = 0
    errors: list[Read] = field(default_factory=list)
    is_whole: bool = True

    @property
    def n_good(self) -> int:
        return self.n_rows - len(self.errors)


def look(project: Project, text: bytes, upload: Upload, data: Mapping[str, Any]) -> Look:
    mapping = upload.details["mapping"]
    if data.get("format") in FORMATS:
        mapping = mapping | {"voting": mapping["voting"] | {"format": data["format"]}}
    found = Look(mapping, [])
    try:
        found.names = sheet_of(text.decode(), mapping).columns
        mapping["voting"] = voting_of(found.names, mapping["voting"], data)
        check_votes(mapping, found.names)
        items = dict(project.items.order_by("pk").values_list("key", "pk"))
        source = Votes(StringIO(text.decode(), newline=""), project, mapping, items, seed=upload.id)
        rows = iter(source.sheet.rows)
        source.sheet = Sheet(source.sheet.columns, islice(rows, SMALL))
        for read in source.rows():
            found.n_rows += 1
            found.n_comparisons += len(read.lines)
            if read.problem:
                found.errors.append(read)
        found.is_whole, found.n_new = next(rows, None) is None, len(source.new)
        if not found.n_rows:
            raise BadFile(_("The file contains no comparisons when read this way. Read it another way below."))
    except BadFile as refusal:
        found.problem = str(refusal)
    return found


def with_upload(request: SignedInRequest, project: Project, upload_id: str, asked: Mapping[str, Any]) -> HttpResponse:
    try:
        upload = uploads.load(upload_id=upload_id, user=request.user, project=project, now=timezone.now())
    except UploadGone as refusal:
        messages.warning(request, str(refusal))
        return redirect("comparisons-import", project.pk)
    text = upload.read("text")
    seen = look(project, text, upload, asked)
    if request.method == "POST" and not seen.problem:
        try:
            return redirect("import-job", project.pk, started(request, project, upload, text, seen).pk)
        except UserError as refusal:
            messages.error(request, str(refusal))
    return preview(request, project, upload, text, seen)


def started(request: SignedInRequest, project: Project, upload: Upload, text: bytes, seen: Look) -> ImportJob:
    """A file of a few rows is imported at once; a longer one is the engine's."""
    job = start_import(
        project=project,
        actor=request.user,
        kind=ImportJob.Kind.COMPARISONS,
        source=upload.name,
        file=ContentFile(text),
        mapping=seen.mapping,
        now=timezone.now(),
        at_once=True,
        # Only who has seen how many rows are left out can have said so.
        leave_out=seen.is_whole and request.POST.get("left_out") == str(len(seen.errors)),
    )
    uploads.discard(upload.id)
    if seen.is_whole:
        imports_job.import_now(job)
    return job


def preview(request: SignedInRequest, project: Project, upload: Upload, text: bytes, seen: Look) -> HttpResponse:
    voting = seen.mapping["voting"]
    form = VotingForm(seen.names, voting["format"], initial=initial_of(voting))
    context = {
        "project": project,
        "upload": upload,
        "look": seen,
        "form": form,
        "errors": [{"place": read.place, "message": read.problem} for read in seen.errors[:SHOWN_ERRORS]],
        "first": [] if seen.problem and not seen.names else first_rows(sheet_of(text.decode(), seen.mapping)),
        "fields": fields_of(form, voting),
    }
    return render(request, "imports/comparisons_check.html", context)


def fields_of(form: VotingForm, voting: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The same reading as fields of a form."""
    values = initial_of(voting)
    named = [(name, values.get(name)) for name in form.fields]
    return [
        ("cut", voting["format"]),
        *((name, str(value)) for name, value in named if value is not None and value is not False and value != ""),
    ]
