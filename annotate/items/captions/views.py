"""The owner's page of one recording: listening to it, its captions, giving it others, taking them away."""

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
from annotate.core.languages import language_name
from annotate.items.actions import set_captions
from annotate.items.captions.forms import CaptionsForm
from annotate.models import Captions, Item


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def captions(request: SignedInRequest, project_id: UUID, item_id: int) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    item = get_object_or_404(project.items, pk=item_id, kind__in=Item.RECORDINGS)
    form = CaptionsForm(request.POST or None, request.FILES or None)
    if request.method == "POST":
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        if "remove" in request.POST:
            set_captions(item=item, actor=request.user, text="", language="", now=timezone.now())
            messages.success(request, _("The captions are removed."))
            return redirect("captions", project.pk, item.pk)
        if form.is_valid():
            text, language = form.cleaned_data["file"], form.cleaned_data["language"]
            set_captions(item=item, actor=request.user, text=text, language=language, now=timezone.now())
            messages.success(request, _("The captions are saved."))
            return redirect("captions", project.pk, item.pk)
    has = Captions.objects.filter(item=item).first()
    context = {
        "project": project,
        "item": item,
        "form": form,
        "captions": has,
        "captions_name": language_name(has.language) if has else "",
    }
    return render(request, "items/captions.html", context, status=400 if form.errors else 200)
