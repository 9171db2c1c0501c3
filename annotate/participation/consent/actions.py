"""Stores consent texts and who agreed to them."""

from datetime import datetime

from annotate.core.errors import AnnotatorErased
from annotate.core.transactions import write_transaction
from annotate.locks import lock_project
from annotate.models import Annotator, Consent, ConsentText, Project
from annotate.participation.consent.queries import text_of_version, version_of


def save_consent_text(project: Project, text: str, now: datetime) -> str:
    """Return the version of the text, which is kept as it is; "" of no text."""
    if not text.strip():
        return ""
    version = version_of(text)
    ConsentText.objects.get_or_create(project=project, version=version, defaults={"text": text, "at": now})
    return version


def give_consent(*, annotator: Annotator, version: str, now: datetime) -> bool:
    """Store that the annotator agreed to this text, in the language in which they read it; False if it is not the
    project's text any more."""
    with write_transaction():
        project = lock_project(annotator.project_id)
        shown = text_of_version(project, version)
        if shown is None:
            return False
        if not Annotator.objects.filter(pk=annotator.pk).exists():
            raise AnnotatorErased
        text, _new = ConsentText.objects.get_or_create(
            project=project, version=version, defaults={"text": shown, "at": now}
        )
        Consent.objects.get_or_create(annotator=annotator, text=text, defaults={"at": now})
        Annotator.objects.filter(pk=annotator.pk).update(consent_version=project.consent_version)
        annotator.consent_version = project.consent_version
    return True
