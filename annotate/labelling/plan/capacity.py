"""How many answers a project holds at most, and whether it is full: the overlap of every set is used up, or nearly."""

from dataclasses import dataclass
from math import comb

from django.db.models import Count, Exists, OuterRef, QuerySet, Sum
from django.db.models.functions import Least

from annotate.labelling.asked_tasks import is_mixed, of_size, tasks_now
from annotate.labelling.item_sets import HIDDEN_CHECKS, is_check
from annotate.labelling.plan.queries import NO_LIMIT, PlanProgress, plan_progress
from annotate.models import GoldSet, ItemSet, PresentedItem, Project

FEW_LEFT, SHARE_LEFT = 10, 0.05  # answers left, below which the owner is told


@dataclass(frozen=True)
class Capacity:
    """n_most: answers that all sets together take.   n_given: how many they have; an open task counts as answered."""

    n_most: int
    n_given: int
    overlap: int

    @property
    def n_left(self) -> int:
        return max(self.n_most - self.n_given, 0)

    @property
    def is_full(self) -> bool:
        return self.n_most > 0 and self.n_left == 0

    @property
    def is_ending(self) -> bool:
        """Whether it is full or will be within few answers."""
        few = max(FEW_LEFT, SHARE_LEFT * self.n_most)
        return self.n_most > 0 and self.n_left <= few and 2 * self.n_given >= self.n_most

    @property
    def raised(self) -> int | None:
        """Return the next overlap; None where it can't be raised."""
        return self.overlap + 1 if self.overlap < NO_LIMIT else None

    @property
    def n_most_raised(self) -> int:
        return self.n_most // self.overlap * (self.overlap + 1)


def ending_capacity(project: Project, plan: PlanProgress | None = None) -> Capacity | None:
    """Return the capacity of an open project that is full or nearly so; None of any other."""
    if project.state != Project.State.OPEN:
        return None
    found = capacity(project, plan)
    return found if found.is_ending else None


def capacity(project: Project, plan: PlanProgress | None = None) -> Capacity:
    """Read the capacity; without a plan of sets every set of active items that may be shown together counts."""
    plan = plan or plan_progress(project)
    if plan.n_planned or project.given_order:
        return Capacity(plan.n_sets * project.overlap, plan.n_answers, project.overlap)
    n_most = max(n_possible_sets(project) - n_sets_of_checks(project), 0) * project.overlap
    found = Capacity(n_most, plan.n_answers, project.overlap)  # counts answers about retired items and of other kinds
    return Capacity(n_most, n_answers_to_active(project), project.overlap) if found.is_ending else found


def n_possible_sets(project: Project) -> int:
    groups = project.items.filter(retired_at=None).order_by().values("context").annotate(n=Count("pk"))
    sizes = sizes_now(project)
    return sum(comb(group["n"], k) for group in groups for k in sizes)


def sizes_now(project: Project) -> set[int]:
    """Return how many items the kinds of task show that are asked now."""
    return {task.k for task in tasks_now(project)}


def n_sets_of_checks(project: Project) -> int:
    """Return how many sets of active items are asked as checks alone."""
    checks = GoldSet.objects.filter(project=project, purpose__in=HIDDEN_CHECKS, retired_at=None)
    active = checks.exclude(items__retired_at__isnull=False)
    return active.values("item_set").distinct().count()


def n_answers_to_active(project: Project) -> int:
    retired = PresentedItem.objects.filter(presentation__item_set=OuterRef("pk"), item__retired_at__isnull=False)
    sets = project.item_sets.filter(~is_check(), ~Exists(retired), n_taken__gt=0)
    if is_mixed(project):
        return sum(n_answers_to(of_size(sets, k), project) for k in sizes_now(project))
    return n_answers_to(sets, project)


def n_answers_to(sets: QuerySet[ItemSet], project: Project) -> int:
    return int(sets.aggregate(n=Sum(Least("n_taken", project.overlap)))["n"] or 0)
