"""How far the plan of sets is: which have all their annotators, and how many answers they still take."""

from dataclasses import dataclass

from django.db.models import Count, Q, Sum
from django.db.models.functions import Least

from annotate.models import ItemSet, Project

NO_LIMIT = 1000  # the largest overlap: sets are shown as often as people come, the least compared items first


def is_endless(project: Project) -> bool:
    """Return whether nothing ends the answering: neither a cap, nor a plan, nor an overlap that fills up."""
    return project.cap is None and not project.has_plan and project.overlap >= NO_LIMIT


def n_planned(project: Project) -> int | None:
    """Return how many sets are asked about: of given questions those that are asked; None where there is no plan."""
    if not project.given_order:
        return project.n_sets
    return project.item_sets.filter(number__isnull=False, place__isnull=False).count()


@dataclass(frozen=True)
class PlanProgress:
    """n_planned: sets of the plan, 0 where there is none; without one the rest is about the sets shown so far."""

    n_planned: int
    n_sets: int
    n_full: int
    n_answers: int
    overlap: int

    @property
    def has_limit(self) -> bool:
        return self.overlap < NO_LIMIT

    @property
    def n_left(self) -> int:
        return max(self.n_sets * self.overlap - self.n_answers, 0)

    @property
    def is_done(self) -> bool:
        return self.n_planned > 0 and self.n_left == 0

    @property
    def share(self) -> float:
        total = self.n_sets * self.overlap
        return self.n_answers / total if total else 0.0


def plan_progress(project: Project) -> PlanProgress:
    """Read the plan's progress from one query, or two without a plan. A task that somebody has open counts
    as answered."""
    sets = ItemSet.objects.filter(project=project)
    n_asked = sets.filter(place__isnull=False).count()
    counted = sets.filter(place__isnull=False) if n_asked or project.given_order else sets.filter(n_taken__gt=0)
    found = counted.aggregate(
        n=Count("pk"),
        full=Count("pk", filter=Q(n_taken__gte=project.overlap)),
        answers=Sum(Least("n_taken", project.overlap)),
    )
    return PlanProgress(n_asked, found["n"], found["full"], found["answers"] or 0, project.overlap)
