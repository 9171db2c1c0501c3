"""Reads a project's rules of participation."""

from annotate.models import ParticipationRules, Project


def participation_rules(project: Project) -> ParticipationRules:
    """Return the project's rules, those of a project without any where none were saved."""
    return ParticipationRules.objects.filter(project=project).first() or ParticipationRules(project=project)


def has_ending(project: Project, entry: ParticipationRules) -> bool:
    return bool(entry.codes != ParticipationRules.Codes.NONE or entry.thanks or entry.platform or project.fields_after)
