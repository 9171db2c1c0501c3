"""The webhooks of a project: the list with the latest deliveries, adding, trying, switching, removing."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotate import access
from annotate.access import SignedInRequest
from annotate.core.errors import UserError
from annotate.core.rate_limits import check_rate_limit
from annotate.models import Project, Webhook, WebhookDelivery
from annotate.webhooks import actions
from annotate.webhooks.forms import WebhookActionForm, WebhookForm

SHOWN_DELIVERIES = 50


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def webhooks(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """List webhooks; the answer to the form shows the new secret, so that it is in no address and no session."""
    project = access.project_for(request, project_id, access.MANAGE)
    form = WebhookForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return page(request, project, form)
    try:
        made = actions.add_webhook(project=project, actor=request.user, now=timezone.now(), **form.cleaned_data)
    except UserError as refusal:
        form.add_error(None, str(refusal))
        return page(request, project, form)
    return page(request, project, WebhookForm(), made, made.secret)


def page(
    request: SignedInRequest, project: Project, form: WebhookForm, changed: Webhook | None = None, secret: str = ""
) -> HttpResponse:
    deliveries = WebhookDelivery.objects.filter(webhook__project=project).select_related("webhook")
    context = {
        "project": project,
        "form": form,
        "webhooks": project.webhooks.order_by("pk"),
        "deliveries": deliveries.order_by("-created_at", "-pk")[:SHOWN_DELIVERIES],
        "changed": changed,
        "secret": secret,
    }
    return render(request, "webhooks/webhooks.html", context, status=400 if form.errors else 200)


def told_of_switch(on: bool, n_dropped: int) -> str:
    text = _("The webhook is switched on.") if on else _("The webhook is switched off.")
    if n_dropped:
        dropped = ngettext("%(n)d waiting message was dropped.", "%(n)d waiting messages were dropped.", n_dropped)
        text += " " + dropped % {"n": n_dropped}
    return text


@never_cache
@login_required
@require_POST
def change(request: SignedInRequest, project_id: UUID, webhook_id: int) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    webhook = get_object_or_404(project.webhooks.select_related("project"), pk=webhook_id)
    form, now = WebhookActionForm(request.POST), timezone.now()
    action = form.cleaned_data["action"] if form.is_valid() else ""
    if action == "secret":
        secret = actions.replace_secret(webhook=webhook, actor=request.user, now=now)
        return page(request, project, WebhookForm(), webhook, secret)
    if action == "test":
        check_rate_limit(request, "invite", who=f"webhook-{request.user.pk}")
        actions.send_test(webhook=webhook, now=now)
        messages.success(request, _("A test message is on its way. The result appears below."))
    elif action in ("on", "off"):
        n_dropped = actions.switch_webhook(webhook=webhook, actor=request.user, on=action == "on", now=now)
        messages.success(request, told_of_switch(action == "on", n_dropped))
    elif action == "remove":
        actions.remove_webhook(webhook=webhook, actor=request.user, now=now)
        messages.success(request, _("The webhook is removed."))
    else:
        messages.error(request, _("Unknown action. Use the buttons in the list."))
    return redirect("webhooks", project.pk)
