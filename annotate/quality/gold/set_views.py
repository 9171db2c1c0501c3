"""One set with its right answer on a page of its own: added from items that were chosen, or changed."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.access import SignedInRequest
from annotate.core import rate_limits
from annotate.models import GoldSet, Project
from annotate.quality.gold.actions import add_gold_sets, change_gold_set
from annotate.quality.gold.forms import GoldSetForm


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Make a gold set; `?item=1&item=2` brings the items that were chosen in the list of items."""
    project = access.project_for(request, project_id, access.MANAGE)
    return page(request, project, None, chosen_keys(request, project))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def change(request: SignedInRequest, project_id: UUID, known_id: int) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    return page(request, project, get_object_or_404(project.known_sets, pk=known_id, retired_at=None), [])


def page(request: SignedInRequest, project: Project, known: GoldSet | None, chosen: list[str]) -> HttpResponse:
    if request.method == "GET" and len(chosen) not in (0, project.k):
        words = _("You chose %(n)d items; a set of this project has %(k)d. Correct it here.")
        messages.warning(request, words % {"n": len(chosen), "k": project.k})
    form = GoldSetForm(request.POST or None, project=project, known=known, chosen=chosen[: project.k])
    if request.method == "POST":
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        if form.is_valid():
            save(request, project, known, form)
            return redirect("known-sets", project.pk)
    context = {"project": project, "form": form, "known": known}
    return render(request, "quality/known_set.html", context, status=400 if form.errors else 200)


def save(request: SignedInRequest, project: Project, known: GoldSet | None, form: GoldSetForm) -> None:
    only, now = form.cleaned_data["only_for_checks"], timezone.now()
    if known:
        change_gold_set(known=known, actor=request.user, row=form.row(), only_for_checks=only, now=now)
    else:
        add_gold_sets(project=project, actor=request.user, rows=[form.row()], only_for_checks=only, now=now)
    messages.success(request, _("The right answer is saved."))


def chosen_keys(request: SignedInRequest, project: Project) -> list[str]:
    ids = [one for one in request.GET.getlist("item")[:50] if one.isdecimal() and len(one) < 19]
    return list(project.items.filter(pk__in=ids).order_by("pk").values_list("key", flat=True))
