"""Counts what the methods page tells of a project: labels that count, those left out and why, and people."""

from collections import Counter
from dataclasses import dataclass

from django.db.models import Count, Q

from annotate.core.numbers import format_integer
from annotate.criteria import Criterion
from annotate.models import IMPORTED_APP_VERSION, Annotator, Label, Presentation, Purpose


@dataclass(frozen=True)
class Counts:
    """Labels that count, those that do not by reason, people excluded and screened out.

    by_rule: labels that are not void, by the rule that chose their question (AskedBy).   n_imported,
    n_imported_annotators: labels that count and came in by a file, and whose they are.   n_asked_annotators: who
    answered here; some may have both.
    """

    counted: int
    voided: dict[str, int]
    by_purpose: dict[str, int]
    by_rule: dict[str, int]
    n_annotators: int
    n_excluded: int
    n_screened_out: int
    n_imported: int = 0
    n_imported_annotators: int = 0
    n_asked_annotators: int = 0

    @property
    def is_imported(self) -> bool:
        """Whether nothing that counts was answered on this site."""
        return 0 < self.n_imported == self.counted


def counts_of(criterion: Criterion) -> Counts:
    """Read the counts in six queries."""
    project = criterion.project
    labels = Label.objects.filter(project=project).order_by()
    kinds = labels.filter(voided_at=None).values_list("presentation__purpose", "presentation__asked_by")
    by_purpose: Counter[str] = Counter()
    by_rule: Counter[str] = Counter()
    for purpose, rule, n in kinds.annotate(n=Count("pk")):
        by_purpose[purpose] += n
        by_rule[rule] += n
    # Files give answers about the first criterion alone.
    imported = Q(app_version=IMPORTED_APP_VERSION) if criterion.number == 1 else Q(pk__in=[])
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
        **labels.filter(voided_at=None, presentation__purpose__in=project.counted_purposes).aggregate(
            n_imported=Count("pk", filter=imported),
            n_imported_annotators=Count("annotator", filter=imported, distinct=True),
            n_asked_annotators=Count("annotator", filter=~imported, distinct=True),
        ),
    )


def void_reasons(counts: Counts) -> list[tuple[str, str]]:
    """Return why labels do not count, in words, and how many."""
    names = dict(Label.VoidReason.choices)
    return [(str(names.get(reason, reason)), format_integer(n)) for reason, n in counts.voided.items()]
