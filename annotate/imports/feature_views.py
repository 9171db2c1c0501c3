"""Bringing in features of items as a .npy matrix; the engine checks and writes them."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.access import SignedInRequest
from annotate.core import rate_limits
from annotate.core.errors import UserError
from annotate.files.decoding import decode
from annotate.imports.actions import start_import
from annotate.imports.comparisons.forms import FeaturesForm
from annotate.models import FeatureNames, ImportJob, ItemFeatures


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def features(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    form = FeaturesForm(request.POST or None, request.FILES or None)
    if request.method == "POST":
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        if form.is_valid():
            given = form.cleaned_data
            try:
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
            except UserError as refusal:
                form.add_error("file", str(refusal))
            else:
                return redirect("import-job", project.pk, job.pk)
    names = FeatureNames.objects.filter(project=project).values_list("names", flat=True).first() or []
    context = {
        "project": project,
        "form": form,
        "names": names,
        "n_with": ItemFeatures.objects.filter(item__project=project).count() if names else 0,
        "n_items": project.items.count(),
    }
    return render(request, "imports/features.html", context, status=400 if form.errors else 200)
