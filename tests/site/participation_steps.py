"""Arriving from a platform, answering and finishing, as a participant's browser does."""

from urllib.parse import urlencode

from django.test import Client
from django.urls import reverse

from annotate.models import Annotator, Completion, ParticipationRules, Presentation, Project
from annotate.participation.actions import change_rules
from annotate.participation.completion import actions as completion_actions
from annotate.participation.rules import participation_rules
from tests.conftest import NOW

SESSION = "6543210fedcba9876543"


def open_to_platform(project: Project, owner, **values) -> ParticipationRules:
    """The project's rules, with the platform link on; the project is as stored."""
    change_rules(project=project, actor=owner, values={"platform": True, **values}, now=NOW)
    project.refresh_from_db()
    return participation_rules(project)


def link(entry: ParticipationRules, participant: str, session: str = "", study: str = "study-1") -> str:
    """As the platform fills it in, by the names that the project calls the parameters by."""
    query = {entry.participant_parameter: participant, entry.study_parameter: study, entry.session_parameter: session}
    query.pop("", None)
    return f"{reverse('platform', args=[entry.platform_token])}?{urlencode(query)}"


def arrive(client: Client, entry: ParticipationRules, participant: str, session: str = "", **sent):
    """Opens the link and presses the door's button."""
    address = link(entry, participant, session)
    version = Project.objects.values_list("consent_version", flat=True).get(pk=entry.project_id)
    return client.post(address, {"version": version, "consent": "yes", **sent})


def answer_open(client: Client, token: str, answer: str = "a"):
    return client.post(reverse("submit", args=[token]), {"answer": answer})


def open_token(participant: str) -> str | None:
    state = Presentation.State.OPEN
    rows = Presentation.objects.filter(annotator__platform_id=participant, state=state)
    return rows.values_list("token", flat=True).first()


def finish(client: Client, project: Project):
    return client.post(reverse("done", args=[project.pk]), follow=True)


def screened_out(annotator: Annotator) -> Completion:
    """Who failed the practice presses the button that ends their part."""
    Annotator.objects.filter(pk=annotator.pk).update(screened_out_at=NOW)
    return completion_actions.finish(annotator=annotator, now=NOW)
