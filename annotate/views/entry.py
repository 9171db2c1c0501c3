"""The owner's page “Who may take part”: links, places, consent, codes, and the study's arithmetic."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.actions.entry import change_entry, entry_of, n_places_taken, replace_platform_link
from annotate.actions.questionnaire import FieldsChanged, change_fields
from annotate.forms.entry import EntryForm
from annotate.forms.questionnaire import BaseFieldForms, field_forms
from annotate.models import Entry, Project
from annotate.queries.entry import arithmetic
from annotate.queries.questionnaire import fields_asked
from annotate.requests import SignedInRequest


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def rules(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    now = timezone.now()
    if "new-link" in request.POST:
        replace_platform_link(project=project, actor=request.user, now=now)
        messages.success(request, _("The platform link is a new one. The old one leads nowhere; who came by it stays."))
        return redirect("entry", project.pk)
    about_fields = "fields" in request.POST
    fields = field_forms(request.POST if about_fields else None, fields_asked(project))
    if about_fields and fields.is_valid():
        return save_fields(request, project, fields)
    form = EntryForm(None if about_fields else request.POST or None, instance=entry_of(project))
    if not about_fields and request.method == "POST" and form.is_valid():
        changed = change_entry(project=project, actor=request.user, values=form.values(), now=now)
        if not changed:
            messages.info(request, _("Nothing was different, so nothing was saved."))
        elif "consent" in changed:
            messages.success(request, _("Saved. From now on everybody is asked to agree to this text first."))
        else:
            messages.success(request, _("Saved."))
        return redirect("entry", project.pk)
    entry = entry_of(project)
    context = {
        "project": project,
        "form": form,
        "fields": fields,
        "entry": entry,
        "platform_link": platform_link(request, entry),
        "arithmetic": arithmetic(project, entry),
        "n_taken": n_places_taken(entry, now),
    }
    is_wrong = form.errors or (about_fields and not fields.is_valid())
    return render(request, "projects/entry.html", context, status=400 if is_wrong else 200)


def save_fields(request: SignedInRequest, project: Project, fields: BaseFieldForms) -> HttpResponse:
    try:
        changed = change_fields(
            project=project, actor=request.user, wanted=fields.wanted(), removed=fields.removed(), now=timezone.now()
        )
    except FieldsChanged as refusal:
        messages.warning(request, str(refusal))
    else:
        saved = _("Saved. Annotators are asked what is new before their next task, or before their end.")
        messages.success(request, saved if changed else _("Nothing was different, so nothing was saved."))
    return redirect("entry", project.pk)


def platform_link(request: SignedInRequest, entry: Entry) -> str:
    """The address to give to the platform, with its parameters as Prolific wants them; "" until it is switched on."""
    if not entry.platform:
        return ""
    names = (entry.participant_parameter, entry.study_parameter, entry.session_parameter)
    filled = "&".join(f"{name}={{{{%{name}%}}}}" for name in names if name)  # as it stands on the platform's page
    address = request.build_absolute_uri(reverse("platform", args=[entry.platform_token]))
    return f"{address}?{filled}"
