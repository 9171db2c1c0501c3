"""The pages that imports start at: items, comparisons, features of items and of annotators."""

from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotate import access
from annotate.access import SignedInRequest
from annotate.core import rate_limits
from annotate.core.errors import UserError
from annotate.fitting.stored_gain import list_gains
from annotate.imports.actions import measure_pictures, measure_texts
from annotate.imports.annotator_table import annotators_given
from annotate.imports.comparisons.forms import ComparisonsFileForm
from annotate.imports.comparisons.tables import FORMATS
from annotate.imports.comparisons_wizard import ComparisonsWizard, comparisons_contents
from annotate.imports.counts.forms import CountsFileForm
from annotate.imports.counts_wizard import CountsWizard, counts_contents
from annotate.imports.evidence import check_evidence
from annotate.imports.feature_table import features_given
from annotate.imports.forms import (
    AnnotatorsForm,
    ArchiveForm,
    DocumentsForm,
    FeaturesForm,
    FileForm,
    PasteForm,
    PicturesForm,
)
from annotate.imports.media.archives import check_is_zip
from annotate.imports.media.packing import pack_documents
from annotate.imports.media_wizard import MediaWizard, media_contents
from annotate.imports.pictures import pictures_of
from annotate.imports.questions.forms import QuestionsFileForm
from annotate.imports.questions_wizard import QuestionsWizard, question_examples, questions_contents
from annotate.imports.table_wizard import TableWizard, file_contents, paste_contents
from annotate.imports.texts import texts_of
from annotate.imports.wizard import Start, Wizard, resume, staging, starting
from annotate.models import FeatureNames, ImportJob, ItemFeatures, Project, QuestionField
from annotate.participation.questionnaire.queries import active_questions

JobValues = dict[str, Any]
SHOWN_JOBS = 5


def archive_job(archive: UploadedFile) -> JobValues:
    """Nothing is imported before its owner has seen what the check found. Raises BadFile."""
    check_is_zip(archive)
    return {"kind": ImportJob.Kind.MEDIA, "source": archive.name or "zip", "file": archive, "mapping": {}}


def documents_job(documents: list[UploadedFile]) -> JobValues:
    """Raise BadFile."""
    source = documents[0].name or "" if len(documents) == 1 else _("%(n)d documents") % {"n": len(documents)}
    return {"kind": ImportJob.Kind.MEDIA, "source": source, "file": pack_documents(documents), "mapping": {}}


def features_job(file: UploadedFile, keys: UploadedFile | None, called: str) -> JobValues:
    """Raise BadFile."""
    content, mapping, given_keys = features_given(file, keys, called)
    values = {"kind": ImportJob.Kind.FEATURES, "source": file.name, "file": content, "mapping": mapping}
    return {**values, "at_once": True, "keys": given_keys}


def annotators_job(project: Project, file: UploadedFile) -> JobValues:
    """Raise BadFile and NotAnImportedNumber."""
    content, mapping = annotators_given(project, file)
    return {
        "kind": ImportJob.Kind.ANNOTATORS,
        "source": file.name,
        "file": content,
        "mapping": mapping,
        "at_once": True,
    }


WIZARDS: dict[str, type[Wizard[Any]]] = {
    one.kind: one for one in (TableWizard, MediaWizard, ComparisonsWizard, QuestionsWizard, CountsWizard)
}
# By the `way` that the form names.
ITEMS = {
    "paste": Start(PasteForm, "text", staging(TableWizard, paste_contents)),
    "file": Start(FileForm, "file", staging(TableWizard, file_contents)),
    "pictures": Start(PicturesForm, "pictures", staging(MediaWizard, media_contents)),
    "documents": Start(DocumentsForm, "documents", starting(documents_job)),
    "archive": Start(ArchiveForm, "archive", starting(archive_job)),
}
COMPARISONS = Start(ComparisonsFileForm, "file", staging(ComparisonsWizard, comparisons_contents))
QUESTIONS = Start(QuestionsFileForm, "file", staging(QuestionsWizard, questions_contents))
COUNTS = Start(CountsFileForm, "file", staging(CountsWizard, counts_contents))
FEATURES = Start(FeaturesForm, "file", starting(features_job))


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
    form, response = COMPARISONS.submit(request, project)
    if response:
        return response
    context = {"project": project, "form": form, "formats": FORMATS.values(), "has_items": project.items.exists()}
    return render(request, "imports/comparisons.html", context, status=400 if form.errors else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def questions(request: SignedInRequest, project_id: UUID) -> HttpResponseBase:
    project = access.project_for(request, project_id, access.MANAGE)
    rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
    sent = request.POST if request.method == "POST" else request.GET
    if "upload" in sent:
        return resume(request, project, sent["upload"], WIZARDS, "questions-import")
    form, response = QUESTIONS.submit(request, project)
    if response:
        return response
    examples = question_examples(project)
    context = {"project": project, "form": form, "examples": examples}
    return render(request, "imports/questions.html", context, status=400 if form.errors else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def counts(request: SignedInRequest, project_id: UUID) -> HttpResponseBase:
    project = access.project_for(request, project_id, access.MANAGE)
    rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
    sent = request.POST if request.method == "POST" else request.GET
    if "upload" in sent:
        return resume(request, project, sent["upload"], WIZARDS, "counts-import")
    form, response = COUNTS.submit(request, project)
    if response:
        return response
    context = {"project": project, "form": form, "has_items": project.items.exists(), "refusal": refused_now(project)}
    return render(request, "imports/counts.html", context, status=400 if form.errors else 200)


def refused_now(project: Project) -> str:
    """Return why no counts can be imported at present; "" where they can."""
    try:
        check_evidence(project, ImportJob.Kind.COUNTS)
    except UserError as refusal:
        return str(refusal)
    return ""


@login_required
@require_POST
def measure(request: SignedInRequest, project_id: UUID) -> HttpResponseBase:
    """Have the engine measure the pictures, 24 features of each; or the texts, where `what` says so: 51 of each."""
    project = access.project_for(request, project_id, access.MANAGE)
    rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
    start = measure_texts if request.POST.get("what") == "texts" else measure_pictures
    try:
        job = start(project=project, actor=request.user, now=timezone.now())
    except UserError as refusal:
        messages.error(request, str(refusal))
        return redirect("features-import", project.pk)
    return redirect("import-job", project.pk, job.pk)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def features(request: SignedInRequest, project_id: UUID) -> HttpResponseBase:
    """Features have no preview: the worker checks every row before it writes the first."""
    project = access.project_for(request, project_id, access.MANAGE)
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
        "n_pictures": pictures_of(project).count(),
        "n_texts": texts_of(project).count(),
        "gains": list_gains(project),
    }
    return render(request, "imports/features.html", context, status=400 if form.errors else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def annotators(request: SignedInRequest, project_id: UUID) -> HttpResponseBase:
    """Features of annotators, as those of items, have no preview."""
    project = access.project_for(request, project_id, access.MANAGE)
    if request.method == "POST":
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
    form, response = Start(AnnotatorsForm, "file", starting(partial(annotators_job, project))).submit(request, project)
    if response:
        return response
    names = [one.label for one in active_questions(project) if one.kind == QuestionField.Kind.IMPORTED]
    context = {"project": project, "form": form, "names": names}
    return render(request, "imports/annotators.html", context, status=400 if form.errors else 200)
