"""Importing items: first the upload, then a preview of every row, and only on the owner's word the items."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.access import SignedInRequest
from annotate.core import rate_limits
from annotate.core.errors import UserError
from annotate.imports import table_views, uploads
from annotate.imports.actions import start_import
from annotate.imports.forms import ArchiveForm, FileForm, PasteForm, PicturesForm
from annotate.imports.media import views as media_views
from annotate.imports.media.archives import check_is_zip
from annotate.imports.uploads import Upload, UploadGone
from annotate.items.actions import ImportedBefore, n_imported
from annotate.models import ImportJob, Project

FORMS: dict[str, type[forms.Form]] = {"paste": PasteForm, "file": FileForm, "pictures": PicturesForm}
FORMS["archive"] = ArchiveForm
SHOWN_JOBS = 5
# The field that a refusal of the whole upload is told at.
FIELDS = {"paste": "text", "file": "file", "pictures": "pictures", "archive": "archive"}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def items(request: SignedInRequest, project_id: UUID) -> HttpResponseBase:
    project = access.project_for(request, project_id, access.MANAGE)
    if "picture" not in request.GET:  # of which a preview shows up to a hundred
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
    asked = request.POST if request.method == "POST" else request.GET
    if "upload" in asked:
        return with_upload(request, project, asked["upload"])
    if request.method == "POST":
        return receive(request, project)
    return start(request, project)


def start(request: SignedInRequest, project: Project, refused: dict[str, forms.Form] | None = None) -> HttpResponse:
    """The three ways in; `refused` holds the one that was tried, with its errors."""
    context: dict[str, Any] = {name: form() for name, form in FORMS.items()}
    context |= {**(refused or {}), "project": project, "jobs": project.imports.order_by("-pk")[:SHOWN_JOBS]}
    return render(request, "imports/start.html", context, status=400 if refused else 200)


def receive(request: SignedInRequest, project: Project) -> HttpResponse:
    """Keeps what was pasted or uploaded and leads to its preview, or says why it can't be used."""
    way = request.POST.get("way", "")
    way = way if way in FORMS else "paste"
    form = FORMS[way](request.POST, request.FILES)
    if form.is_valid():
        try:
            if way == "archive":
                return take_archive(request, project, form.cleaned_data["archive"])
            upload = keep(request, project, way, form.cleaned_data)
        except UserError as refusal:
            form.add_error(FIELDS[way], str(refusal))
        else:
            return redirect(table_views.address(project, upload))
    return start(request, project, {way: form})


def take_archive(request: SignedInRequest, project: Project, file: UploadedFile) -> HttpResponse:
    """The engine looks into it; nothing is imported before its owner has seen what it found."""
    check_is_zip(file)
    job = start_import(
        project=project,
        actor=request.user,
        kind=ImportJob.Kind.MEDIA,
        source=file.name or "zip",
        file=file,
        mapping={},
        now=timezone.now(),
    )
    return redirect("import-job", project.pk, job.pk)


def keep(request: SignedInRequest, project: Project, way: str, values: dict[str, Any]) -> Upload:
    if way == "pictures":
        return media_views.keep(request.user, project, values["pictures"], values["context"])
    if way == "file":
        return table_views.keep_file(request.user, project, values["file"])
    return table_views.keep_paste(request.user, project, values["text"], values["written"])


def with_upload(request: SignedInRequest, project: Project, upload_id: str) -> HttpResponseBase:
    try:
        upload = uploads.load(upload_id=upload_id, user=request.user, project=project, now=timezone.now())
    except UploadGone as refusal:
        n = n_imported(project, upload_id) if uploads.ID.fullmatch(upload_id) else None
        if n is not None:  # the confirmation, sent twice
            messages.info(request, str(ImportedBefore(n)))
            return redirect("items", project.pk)
        messages.warning(request, str(refusal))
        return redirect("items-import", project.pk)
    view = media_views if upload.kind == "images" else table_views
    return (
        view.confirm(request, project, upload) if request.method == "POST" else view.preview(request, project, upload)
    )
