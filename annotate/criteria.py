"""Lists a project's criteria and picks one: each presentation is answered for every criterion, each has its own fit.

A project without named criteria has one, number 1: its question.
"""

from dataclasses import dataclass

from annotate.models import Project


@dataclass(frozen=True)
class Criterion:
    """One criterion of a project: whose fits, labels and figures are meant. Its number is its place, from 1."""

    project: Project
    number: int = 1

    @property
    def name(self) -> str:
        """Empty where the question is the only criterion."""
        return str(self.project.criteria[self.number - 1]["name"]) if self.project.criteria else ""

    @property
    def question(self) -> str:
        criteria = self.project.criteria
        return str(criteria[self.number - 1]["question"]) if criteria else self.project.question

    @property
    def query(self) -> str:
        """The query that keeps the criterion in an address of the dashboard."""
        return f"?criterion={self.number}" if self.number > 1 else ""


def n_criteria(project: Project) -> int:
    return max(1, len(project.criteria))


def list_criteria(project: Project) -> list[Criterion]:
    """Return every criterion; of a project without named ones the only one, its question."""
    return [Criterion(project, number) for number in range(1, n_criteria(project) + 1)]


def named_criteria(project: Project) -> list[Criterion]:
    """Return the named criteria; an empty list where the question is the only one."""
    return list_criteria(project) if project.criteria else []


def criterion_from_query(project: Project, number: str | None) -> Criterion | None:
    """Return the criterion that an address names, the first without one; None if it does not exist."""
    if not number:
        return Criterion(project)
    wanted = int(number) if number.isdecimal() and len(number) < 4 else 0
    return Criterion(project, wanted) if 1 <= wanted <= n_criteria(project) else None
