"""Stores consent texts and who agreed to them."""

import hashlib
from datetime import datetime

from annotate.core.errors import AnnotatorErased
from annotate.core.transactions import write_transaction
from annotate.locks import lock_project
from annotate.models import Annotator, Consent, ConsentText, Project


def save_consent_text(project: Project, text: str, now: datetime) -> str:
    """Return the version of the text, which is kept as it is; "" of no text."""
    if not text.strip():
        return ""
    version = hashlib.sha256(text.encode()).hexdigest()
    ConsentText.objects.get_or_create(project=project, version=version, defaults={"text": text, "at": now})
    return version


def give_consent(*, annotator: Annotator, version: str, now: datetime) -> bool:
    """Stores that the annotator agreed to this text; False if it is not the project's text any more."""
    with write_transaction():
        project = lock_project(annotator.project_id)
        if version != project.consent_version:
            return False
        if not Annotator.objects.filter(pk=annotator.pk).exists():
            raise AnnotatorErased
        text = ConsentText.objects.get(project=project, version=version)
        Consent.objects.get_or_create(annotator=annotator, text=text, defaults={"at": now})
        Annotator.objects.filter(pk=annotator.pk).update(consent_version=version)
        annotator.consent_version = version
    return True
