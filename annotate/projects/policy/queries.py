"""Reads by which rules a project's questions were asked, and what is suggested now."""

from dataclasses import dataclass

from django.db.models import Count

from annotate.models import AskedBy, Label, Project, SuggestedSet


@dataclass(frozen=True)
class Asked:
    """Answers that are not void, by the rule that chose their question; suggested: sets waiting to be asked; fit: the
    number of the fit that suggested them, None where there are none."""

    balanced: int
    control: int
    adaptive: int
    suggested: int
    fit: int | None


def asked(project: Project) -> Asked:
    """Read the counts in two queries."""
    labels = Label.objects.filter(project=project, voided_at=None).order_by()
    by_rule = dict(labels.values_list("presentation__asked_by").annotate(n=Count("pk")))
    fits = list(SuggestedSet.objects.filter(project=project).values_list("fit", flat=True))
    return Asked(
        balanced=by_rule.get(AskedBy.BALANCED, 0),
        control=by_rule.get(AskedBy.CONTROL, 0),
        adaptive=by_rule.get(AskedBy.ADAPTIVE, 0),
        suggested=len(fits),
        fit=max(fits, default=None),
    )
