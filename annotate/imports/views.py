"""The pages that imports start at: items, comparisons and features of items."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_required
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.access import SignedInRequest
from annotate.core import rate_limits
from annotate.files.decoding import decode
from annotate.imports.actions import start_import
from annotate.imports.comparisons.forms import ComparisonsFileForm
from annotate.imports.comparisons.tables import FORMATS
from annotate.imports.comparisons_wizard import ComparisonsWizard, comparisons_contents
from annotate.imports.forms import ArchiveForm, FeaturesForm, FileForm, PasteForm, PicturesForm
from annotate.imports.media.archives import check_is_zip
from annotate.imports.media_wizard import MediaWizard, media_contents
from annotate.imports.table_wizard import TableWizard, file_contents, paste_contents
from annotate.imports.wizard import Start, Wizard, resume
from annotate.models import FeatureNames, ImportJob, ItemFeatures, Project

Given = dict[str, Any]
SHOWN_JOBS = 5


def receive_paste(request: SignedInRequest, project: Project, given: Given) -> HttpResponseBase:
    return TableWizard(request, project).stage(paste_contents(given["text"], given["written"]))


def receive_file(request: SignedInRequest, project: Project, given: Given) -> HttpResponseBase:
    return TableWizard(request, project).stage(file_contents(given["file"]))


def receive_media(request: SignedInRequest, project: Project, given: Given) -> HttpResponseBase:
    return MediaWizard(request, project).stage(media_contents(given["pictures"], given["context"]))


def receive_comparisons(request: SignedInRequest, project: Project, given: Given) -> HttpResponseBase:
    return ComparisonsWizard(request, project).stage(comparisons_contents(given["file"]))


def receive_archive(request: SignedInRequest, project: Project, given: Given) -> HttpResponseBase:
    """Has a worker check the archive; nothing is imported before its owner has seen what it found."""
    file = given["archive"]
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


def receive_features(request: SignedInRequest, project: Project, given: Given) -> HttpResponseBase:
    keys = decode(given["keys"].read(), given["keys"].name).text if given["keys"] else ""
    job = start_import(
        project=project,
        actor=request.user,
        kind=ImportJob.Kind.FEATURES,
        source=given["file"].name,
        file=given["file"],
        mapping={"prefix": given["called"]},
        now=timezone.now(),
        at_once=True,
        keys=keys.encode(),
    )
    return redirect("import-job", project.pk, job.pk)


WIZARDS: dict[str, type[Wizard[Any]]] = {one.kind: one for one in (TableWizard, MediaWizard, ComparisonsWizard)}
# By the `way` that the form names.
ITEMS = {
    "paste": Start(PasteForm, "text", receive_paste),
    "file": Start(FileForm, "file", receive_file),
    "pictures": Start(PicturesForm, "pictures", receive_media),
    "archive": Start(ArchiveForm, "archive", receive_archive),
}
COMPARISONS = Start(ComparisonsFileForm, "file", receive_comparisons)
FEATURES = Start(FeaturesForm, "file", receive_features)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def items(request: SignedInRequest, project_id: UUID) -> HttpResponseBase:
    project = access.project_for(request, project_id, access.MANAGE)
    if request.method == "POST" or "picture" not in request.GET:  # of which a preview shows up to a hundred
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
    sent = request.POST if request.method == "POST" else request.GET
    if "upload" in sent:
        return resume(request, project, sent["upload"], WIZARDS, "items-import")
    refused: dict[str, forms.Form] = {}
    if request.method == "POST":
        way = request.POST.get("way", "")
        way = way if way in ITEMS else "paste"
        refused[way], response = ITEMS[way].submit(request, project)
        if response:
            return response
    context: dict[str, Any] = {way: start.form() for way, start in ITEMS.items()} | refused
    context |= {"project": project, "jobs": project.imports.order_by("-pk")[:SHOWN_JOBS]}
    return render(request, "imports/start.html", context, status=400 if refused else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def comparisons(request: SignedInRequest, project_id: UUID) -> HttpResponseBase:
    project = access.project_for(request, project_id, access.MANAGE)
    rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
    sent = request.POST if request.method == "POST" else request.GET
    if "upload" in sent:
        return resume(request, project, sent["upload"], WIZARDS, "comparisons-import")
    form = COMPARISONS.form()
    if request.method == "POST":
        form, response = COMPARISONS.submit(request, project)
        if response:
            return response
    context = {"project": project, "form": form, "formats": FORMATS.values(), "has_items": project.items.exists()}
    return render(request, "imports/comparisons.html", context, status=400 if form.errors else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def features(request: SignedInRequest, project_id: UUID) -> HttpResponseBase:
    """A matrix has no preview: the worker checks every row before it writes the first."""
    project = access.project_for(request, project_id, access.MANAGE)
    form = FEATURES.form()
    if request.method == "POST":
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        form, response = FEATURES.submit(request, project)
        if response:
            return response
    names = FeatureNames.objects.filter(project=project).values_list("names", flat=True).first() or []
    context = {
        "project": project,
        "form": form,
        "names": names,
        "n_with": ItemFeatures.objects.filter(item__project=project).count() if names else 0,
        "n_items": project.items.count(),
    }
    return render(request, "imports/features.html", context, status=400 if form.errors else 200)
