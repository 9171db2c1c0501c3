"""An annotator's own keys: switched off and on, chosen one by one, or the usual ones again."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotate import access
from annotate.core import rate_limits
from annotate.labelling.keys.actions import set_keys, set_shortcuts
from annotate.labelling.keys.bindings import Keys
from annotate.labelling.keys.forms import KeysForm
from annotate.labelling.keys.queries import key_actions
from annotate.labelling.navigation import redirect_to_task


@never_cache
@require_POST
def shortcuts(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """Switches the keys on or off."""
    annotator = access.annotator_or_404(request, project_id)
    set_shortcuts(annotator=annotator, on=request.POST.get("shortcuts") == "on")
    if getattr(request, "htmx", False):
        return render(request, "labelling/shortcuts.html", {"annotator": annotator})
    return redirect_to_task(project_id)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def keys(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """Show and change the key of every action of the task page."""
    annotator = access.annotator_or_404(request, project_id)
    actions, now = key_actions(annotator.project), Keys(annotator.keys)
    form = KeysForm(request.POST if request.method == "POST" else None, actions=actions, keys=now)
    if request.method == "POST":
        rate_limits.check_rate_limit(request, "answer", who=str(annotator.pk))
        if "reset" in request.POST:
            set_keys(annotator=annotator, chosen={})
            messages.success(request, _("The default keys are restored."))
            return redirect_to_task(project_id)
        if form.is_valid():
            set_keys(annotator=annotator, chosen=form.chosen())
            messages.success(request, _("Your keys are saved."))
            return redirect_to_task(project_id)
    context = {"annotator": annotator, "project": annotator.project, "form": form}
    return render(request, "labelling/keys.html", context)
