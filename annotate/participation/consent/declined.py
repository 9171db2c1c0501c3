"""What somebody sees who does not agree to the consent text: kind words, and the way back where there is one."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotate.models import ParticipationRules, Project
from annotate.participation.completion.codes import return_link
from annotate.participation.rules import participation_rules


def declined_page(request: HttpRequest, project: Project, participant: str = "") -> HttpResponse:
    entry = participation_rules(project)
    code = entry.no_consent_code if entry.codes != ParticipationRules.Codes.NONE else ""
    context = {"project": project, "code": code, "link": return_link(entry, code, participant)}
    return render(request, "participation/declined.html", context)
