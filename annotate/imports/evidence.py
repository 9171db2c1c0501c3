"""A ranking is made of answers or of counts: refuses imports that would mix them."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.errors import UserError
from annotate.models import ImportJob, Project

# What would bring answers into a project that is ranked by counts.
OF_ANSWERS = (ImportJob.Kind.COMPARISONS, ImportJob.Kind.QUESTIONS)


class HasAnswers(UserError):
    def __init__(self, n: int) -> None:
        super().__init__(
            ngettext(
                "This project has %(n)d answer, and a ranking is made of answers or of counts, not of both. Make a "
                "copy with its items, on the page Settings, and import the counts there.",
                "This project has %(n)d answers, and a ranking is made of answers or of counts, not of both. Make a "
                "copy with its items, on the page Settings, and import the counts there.",
                n,
            )
            % {"n": n}
        )


class TakesAnswers(UserError):
    def __init__(self) -> None:
        super().__init__(
            _(
                "This project is open for answers, and a ranking is made of answers or of counts, not of both. Close "
                "it first, or make a copy with its items, on the page Settings, and import the counts there."
            )
        )


class HasCriteria(UserError):
    def __init__(self, n: int) -> None:
        super().__init__(
            _(
                "This project asks by %(n)d criteria, and counts are of one. Import them into a project with a single "
                "question."
            )
            % {"n": n}
        )


class RankedByCounts(UserError):
    def __init__(self) -> None:
        super().__init__(
            _(
                "This project is ranked by counts, and a ranking is made of answers or of counts, not of both. Make a "
                "copy with its items, on the page Settings, and import the answers there."
            )
        )


def check_evidence(project: Project, kind: str) -> None:
    """Raise HasAnswers, TakesAnswers, HasCriteria or RankedByCounts where an import would mix answers and counts."""
    if kind in OF_ANSWERS and project.ranks_counts:
        raise RankedByCounts
    if kind != ImportJob.Kind.COUNTS or project.ranks_counts:
        return
    if project.criteria:
        raise HasCriteria(len(project.criteria))
    if n := project.labels.count():
        raise HasAnswers(n)
    if project.state == Project.State.OPEN:
        raise TakesAnswers
