"""Reads the consent text that must be agreed to, in the language in which somebody reads it."""

import hashlib

from annotate.models import ConsentText, Project, ProjectTranslation


def version_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def consent_text(project: Project, language: str = "") -> ConsentText | None:
    """Return the text that must be agreed to, if there is one; in this language where it is translated.

    A translation of an earlier text is not shown. One that nobody has agreed to yet is not stored as a consent text.
    """
    if not project.consent_version:
        return None
    if language:
        found = ProjectTranslation.objects.filter(project=project.pk, language=language).first()
        if found and found.consent and found.consent_of == project.consent_version:
            return ConsentText(project_id=project.pk, version=version_of(found.consent), text=found.consent)
    return ConsentText.objects.get(project=project.pk, version=project.consent_version)


def text_of_version(project: Project, version: str) -> str | None:
    """Return the text now asked for that has this version, in whichever language; None where there is none."""
    if not project.consent_version:
        return None
    if version == project.consent_version:
        return ConsentText.objects.values_list("text", flat=True).get(project=project.pk, version=version)
    translated = ProjectTranslation.objects.filter(project=project.pk, consent_of=project.consent_version)
    texts = translated.exclude(consent="").values_list("consent", flat=True)
    return next((text for text in texts if version_of(text) == version), None)


def is_current_version(project: Project, version: str) -> bool:
    """Tell whether a form with this version is about the text as it is now; "" where there is nothing to agree to."""
    if not project.consent_version or not version:
        return version == project.consent_version
    return text_of_version(project, version) is not None
