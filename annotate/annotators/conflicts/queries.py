"""Reads whom and what a conflict of interest can name."""

from annotate.annotators.conflicts.table import Who
from annotate.models import Project


def people_by_name(project: Project) -> dict[str, Who]:
    """Return the annotators and those on the roster who have not joined yet, by name; annotators come first."""
    expected = project.expected_people.filter(annotator=None).values_list("name", "pk")
    people = {name: Who(expected=pk) for name, pk in expected}
    return people | {name: Who(pk) for name, pk in project.annotators.values_list("pseudonym", "pk")}
