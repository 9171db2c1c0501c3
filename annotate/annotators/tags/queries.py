"""Reads which annotator has which tag."""

from collections.abc import Collection

from annotate.models import AnnotatorTag, Project


def tag_names(project: Project) -> list[str]:
    """Return the tags in use, in alphabetical order."""
    used = AnnotatorTag.objects.filter(annotator__project=project)
    return list(used.order_by("name").values_list("name", flat=True).distinct())


def cohorts_by_tag(project: Project) -> dict[str, set[int]]:
    """Return the annotators (primary keys) of every tag, in one query; who has several tags is in several cohorts."""
    cohorts: dict[str, set[int]] = {}
    tagged = AnnotatorTag.objects.filter(annotator__project=project).order_by("name")
    for name, annotator in tagged.values_list("name", "annotator_id"):
        cohorts.setdefault(name, set()).add(annotator)
    return cohorts


def tags_of(annotators: Collection[int]) -> dict[int, list[str]]:
    """Return each annotator's tags in alphabetical order; who has none is left out."""
    tags: dict[int, list[str]] = {}
    rows = AnnotatorTag.objects.filter(annotator__in=annotators).order_by("name")
    for annotator, name in rows.values_list("annotator_id", "name"):
        tags.setdefault(annotator, []).append(name)
    return tags


def annotators_by_name(project: Project) -> dict[str, int]:
    """Return primary keys by the platform's id and, which goes before, by pseudonym."""
    known = list(project.annotators.values_list("pseudonym", "platform_id", "pk"))
    platform = {participant: pk for _pseudonym, participant, pk in known if participant}
    return platform | {pseudonym: pk for pseudonym, _participant, pk in known}
