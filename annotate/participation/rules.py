"""Reads a project's rules of participation."""

from annotate.models import ParticipationRules, Project, ProjectTranslation


def participation_rules(project: Project) -> ParticipationRules:
    """Return the project's rules, those of a project without any where none were saved."""
    return ParticipationRules.objects.filter(project=project).first() or ParticipationRules(project=project)


def thanks_text(entry: ParticipationRules, language: str) -> str:
    """Return the words at the end, in this language where they are translated."""
    if not language or not entry.thanks:
        return entry.thanks
    found = ProjectTranslation.objects.filter(project=entry.project_id, language=language).first()
    return found.thanks if found and found.thanks else entry.thanks


def has_ending(project: Project, entry: ParticipationRules) -> bool:
    return bool(entry.codes != ParticipationRules.Codes.NONE or entry.thanks or entry.platform or project.fields_after)
