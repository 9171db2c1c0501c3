"""What the site holds about a person: the page that tells it, taking it away, and erasing it."""

from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotate import access
from annotate.access import SignedInRequest
from annotate.core.rate_limits import check_rate_limit
from annotate.models import Annotator, Project, User
from annotate.models.retention import retention_notice
from annotate.privacy.erasure.accounts import StillOwner, erase_account, projects_owned_alone
from annotate.privacy.erasure.actions import BY_THEMSELF, erase_annotator
from annotate.privacy.erasure.forms import ConfirmForm, PasswordForm
from annotate.privacy.own_data.download import zip_response

MOST_SHOWN = 100  # projects listed on the page; the download has all


@never_cache
@login_required
@require_safe
def account_data(request: SignedInRequest) -> HttpResponse:
    mine = annotators_of(request.user)
    context = {
        "annotators": mine.select_related("project").annotate(n=Count("labels")).order_by("project__name")[:MOST_SHOWN],
        "n_projects": request.user.memberships.count(),
        "n_tokens": request.user.api_tokens.count(),
    }
    return render(request, "privacy/account_data.html", context)


def annotators_of(user: User) -> QuerySet[Annotator]:
    return Annotator.objects.filter(user=user)


@never_cache
@login_required
@require_safe
def account_export(request: SignedInRequest) -> StreamingHttpResponse:
    check_rate_limit(request, "export")
    return zip_response(request, annotators_of(request.user), request.user)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def account_erase(request: SignedInRequest) -> HttpResponse:
    user = request.user
    form = PasswordForm(request.POST if request.method == "POST" else None, user=user)
    if request.method == "POST":
        check_rate_limit(request, "password", who=str(user.pk))
    if form.is_valid():
        try:
            n_labels = erase_account(user=user, now=timezone.now())
        except StillOwner as refusal:
            form.add_error(None, str(refusal))
        else:
            logout(request)
            messages.success(request, erased_message(n_labels))
            return redirect("account_login")
    context = {"form": form, "owned": projects_owned_alone(user), "n_labels": n_labels_of(annotators_of(user))}
    return render(request, "privacy/account_erase.html", context, status=400 if form.errors else 200)


def n_labels_of(annotators: QuerySet[Annotator]) -> int:
    return int(annotators.aggregate(n=Count("labels"))["n"])


def erased_message(n_labels: int) -> str:
    return ngettext(
        "Everything about you is erased, including %(n)d answer.",
        "Everything about you is erased, including %(n)d answers.",
        n_labels,
    ) % {"n": n_labels}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def own_data(request: HttpRequest, token: str) -> HttpResponse:
    """Show the data of an annotator without account, by their personal link."""
    annotator = annotator_by_link(request, token)
    project = annotator.project
    form = ConfirmForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        check_rate_limit(request, "answer", who=str(annotator.pk))
        n_labels = erase_annotator(annotator=annotator, by=BY_THEMSELF, now=timezone.now())
        forget_in_session(request, project)
        return render(request, "privacy/erased.html", {"project": project, "message": erased_message(n_labels)})
    context = {
        "project": project,
        "annotator": annotator,
        "form": form,
        "n_labels": annotator.labels.count(),
        "retention_notice": retention_notice(project),
    }
    return render(request, "privacy/own_data.html", context, status=400 if form.errors else 200)


def annotator_by_link(request: HttpRequest, token: str) -> Annotator:
    try:
        return access.annotator_to_resume(token)
    except Http404:
        check_rate_limit(request, "join")
        raise


def forget_in_session(request: HttpRequest, project: Project) -> None:
    known = request.session.get(access.SESSION_KEY, {})
    if known.pop(str(project.pk), None):
        request.session[access.SESSION_KEY] = known


@never_cache
@require_safe
def own_export(request: HttpRequest, token: str) -> StreamingHttpResponse:
    annotator = annotator_by_link(request, token)
    check_rate_limit(request, "export")
    return zip_response(request, Annotator.objects.filter(pk=annotator.pk))
