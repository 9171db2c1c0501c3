"""Reads the consent text that must be agreed to."""

from annotate.models import ConsentText, Project


def consent_text(project: Project) -> ConsentText | None:
    """Return the text that must be agreed to, if there is one."""
    if not project.consent_version:
        return None
    return ConsentText.objects.get(project=project, version=project.consent_version)
