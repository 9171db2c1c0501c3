"""Pages that list annotators, exclude and readmit them."""

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_POST, require_safe

from annotate import access
from annotate.access import SignedInRequest
from annotate.annotators.exclusion import exclude_annotator, readmit_annotator
from annotate.annotators.forms import AnnotatorsForm, ExcludeForm
from annotate.annotators.queries import annotators as annotators_page
from annotate.core.errors import UserError
from annotate.criteria import Criterion
from annotate.dashboard.pages import render_page
from annotate.dashboard.project_lookup import requested_criterion
from annotate.fitting.published import published_fit
from annotate.models import Annotator
from annotate.quality.gold.actions import admit_annotator


def redirect_to_list(request: SignedInRequest, criterion: Criterion, key: UUID) -> HttpResponse:
    """Redirect to the list, or to the annotator's own page for who came from there."""
    if "stay" in request.POST:
        return redirect(reverse("annotator", args=[criterion.project.pk, key]) + criterion.query)
    return redirect(reverse("annotators", args=[criterion.project.pk]) + criterion.query)


def redirect_to_comparison(text: str, criterion: Criterion, annotator: Annotator) -> SafeString:
    """Return what was done, with the way to what it changes."""
    number = {"criterion": criterion.number} if criterion.number > 1 else {}
    query = urlencode({"annotator": annotator.key, **number})
    address = f"{reverse('compare', args=[criterion.project.pk])}?{query}"
    return format_html('{} <a href="{}">{}</a>', text, address, _("Ranking before and after"))


@login_required
@require_POST
def exclude(request: SignedInRequest, project_id: UUID, key: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id, access.MANAGE)
    annotator = get_object_or_404(criterion.project.annotators, key=key)
    form = ExcludeForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
        return redirect_to_list(request, criterion, key)
    try:
        n = exclude_annotator(
            annotator=annotator, actor=request.user, reason=form.cleaned_data["reason"], now=timezone.now()
        )
    except UserError as refusal:
        messages.info(request, str(refusal))
    else:
        text = ngettext(
            "%(name)s is excluded: %(n)d answer no longer counts.",
            "%(name)s is excluded: %(n)d answers no longer count.",
            n,
        )
        messages.success(
            request, redirect_to_comparison(text % {"name": annotator.pseudonym, "n": n}, criterion, annotator)
        )
    return redirect_to_list(request, criterion, key)


@login_required
@require_POST
def admit(request: SignedInRequest, project_id: UUID, key: UUID) -> HttpResponse:
    """Admits an annotator who failed the practice."""
    criterion = requested_criterion(request, project_id, access.MANAGE)
    annotator = get_object_or_404(criterion.project.annotators, key=key)
    try:
        admit_annotator(annotator=annotator, actor=request.user, now=timezone.now())
    except UserError as refusal:
        messages.info(request, str(refusal))
    else:
        messages.success(request, _("%(name)s can now answer.") % {"name": annotator.pseudonym})
    return redirect_to_list(request, criterion, key)


@login_required
@require_POST
def readmit(request: SignedInRequest, project_id: UUID, key: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id, access.MANAGE)
    annotator = get_object_or_404(criterion.project.annotators, key=key)
    try:
        result = readmit_annotator(annotator=annotator, actor=request.user, now=timezone.now())
    except UserError as refusal:
        messages.info(request, str(refusal))
        return redirect_to_list(request, criterion, key)
    text = ngettext(
        "%(name)s is readmitted: %(n)d answer counts again.",
        "%(name)s is readmitted: %(n)d answers count again.",
        result.restored,
    ) % {"name": annotator.pseudonym, "n": result.restored}
    if result.kept_voided:
        text += " " + ngettext(
            "%(n)d answer stays void, because others have answered that set since.",
            "%(n)d answers stay void, because others have answered those sets since.",
            result.kept_voided,
        ) % {"n": result.kept_voided}
    messages.success(request, redirect_to_comparison(text, criterion, annotator))
    return redirect_to_list(request, criterion, key)


@login_required
@require_safe
@gzip_page
def annotators(request: HttpRequest, project_id: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id)
    form = AnnotatorsForm(request.GET)
    query = form.query()
    fit = published_fit(criterion)
    context = {"form": form, "query": query, "fit": fit, "annotators": annotators_page(criterion, fit, query)}
    return render_page(request, criterion, "annotators/annotators", context)
