"""What somebody sees who does not agree to the consent text: kind words, and the way back where there is one."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotate.actions.entry import entry_of
from annotate.codes import return_link
from annotate.models import Entry, Project


def declined(request: HttpRequest, project: Project, participant: str = "") -> HttpResponse:
    entry = entry_of(project)
    code = entry.no_consent_code if entry.codes != Entry.Codes.NONE else ""
    context = {"project": project, "code": code, "link": return_link(entry, code, participant)}
    return render(request, "labelling/declined.html", context)
