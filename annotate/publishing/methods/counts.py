"""Counts what the methods page tells of a project: labels that count, those left out and why, and people."""

from collections import Counter
from dataclasses import dataclass

from django.db.models import Count

from annotate.core.numbers import format_integer
from annotate.models import Annotator, Label, Presentation, Project, Purpose


@dataclass(frozen=True)
class Counts:
    """Of the project: labels that count, those that do not by reason, people excluded and screened out.

    by_rule: labels that are not void, by the rule that chose their question (AskedBy).
    """

    counted: int
    voided: dict[str, int]
    by_purpose: dict[str, int]
    by_rule: dict[str, int]
    n_annotators: int
    n_excluded: int
    n_screened_out: int


def counts_of(project: Project) -> Counts:
    """Read the counts in five queries."""
    labels = Label.objects.filter(project=project).order_by()
    kinds = labels.filter(voided_at=None).values_list("presentation__purpose", "presentation__asked_by")
    by_purpose: Counter[str] = Counter()
    by_rule: Counter[str] = Counter()
    for purpose, rule, n in kinds.annotate(n=Count("pk")):
        by_purpose[purpose] += n
        by_rule[rule] += n
    people = Annotator.objects.filter(project=project)
    answered = Presentation.objects.filter(project=project, label__isnull=False)
    return Counts(
        counted=sum(n for purpose, n in by_purpose.items() if purpose in project.counted_purposes),
        voided=dict(labels.exclude(voided_at=None).values_list("void_reason").annotate(n=Count("pk"))),
        by_purpose={str(Purpose(name).label): n for name, n in by_purpose.items()},
        by_rule=dict(by_rule),
        n_annotators=answered.values("annotator").distinct().count(),
        n_excluded=people.exclude(excluded_at=None).count(),
        n_screened_out=people.exclude(screened_out_at=None).count(),
    )


def void_reasons(counts: Counts) -> list[tuple[str, str]]:
    """Return why labels do not count, in words, and how many."""
    names = dict(Label.VoidReason.choices)
    return [(str(names.get(reason, reason)), format_integer(n)) for reason, n in counts.voided.items()]
