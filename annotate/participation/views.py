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
from annotate.access import SignedInRequest
from annotate.models import ParticipationRules, Project
from annotate.participation.actions import change_rules, replace_platform_link
from annotate.participation.forms import ParticipationRulesForm
from annotate.participation.places import n_places_taken
from annotate.participation.queries import answer_budget
from annotate.participation.questionnaire.actions import QuestionsChanged, change_questions
from annotate.participation.questionnaire.forms import BaseQuestionForms, question_forms
from annotate.participation.questionnaire.queries import active_questions
from annotate.participation.rules import participation_rules


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def rules(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    now = timezone.now()
    if "new-link" in request.POST:
        replace_platform_link(project=project, actor=request.user, now=now)
        messages.success(
            request, _("The platform link is replaced. The old link no longer works; people who joined by it stay.")
        )
        return redirect("entry", project.pk)
    about_fields = "fields" in request.POST
    fields = question_forms(request.POST if about_fields else None, active_questions(project))
    if about_fields and fields.is_valid():
        return save_fields(request, project, fields)
    form = ParticipationRulesForm(None if about_fields else request.POST or None, instance=participation_rules(project))
    if not about_fields and request.method == "POST" and form.is_valid():
        changed = change_rules(project=project, actor=request.user, values=form.values(), now=now)
        if not changed:
            messages.info(request, _("Nothing was different, so nothing was saved."))
        elif "consent" in changed:
            messages.success(request, _("Saved. From now on everybody is asked to agree to this text first."))
        else:
            messages.success(request, _("Saved."))
        return redirect("entry", project.pk)
    entry = participation_rules(project)
    context = {
        "project": project,
        "form": form,
        "fields": fields,
        "entry": entry,
        "platform_link": platform_link(request, entry),
        "arithmetic": answer_budget(project, entry),
        "n_taken": n_places_taken(entry, now),
    }
    is_wrong = form.errors or (about_fields and not fields.is_valid())
    return render(request, "participation/entry.html", context, status=400 if is_wrong else 200)


def save_fields(request: SignedInRequest, project: Project, fields: BaseQuestionForms) -> HttpResponse:
    try:
        changed = change_questions(
            project=project, actor=request.user, wanted=fields.wanted(), removed=fields.removed(), now=timezone.now()
        )
    except QuestionsChanged as refusal:
        messages.warning(request, str(refusal))
    else:
        saved = _("Saved. Annotators are asked the new questions before their next task, or before they finish.")
        messages.success(request, saved if changed else _("Nothing was different, so nothing was saved."))
    return redirect("entry", project.pk)


def platform_link(request: SignedInRequest, entry: ParticipationRules) -> str:
    """Return the address to give to the platform, with its parameters as Prolific wants them; "" until it is switched
    on."""
    if not entry.platform:
        return ""
    names = (entry.participant_parameter, entry.study_parameter, entry.session_parameter)
    filled = "&".join(f"{name}={{{{%{name}%}}}}" for name in names if name)  # as it stands on the platform's page
    address = request.build_absolute_uri(reverse("platform", args=[entry.platform_token]))
    return f"{address}?{filled}"
