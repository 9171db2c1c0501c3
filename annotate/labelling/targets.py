"""How many answers are asked of each annotator, without being a limit, and how many annotators have given them."""

from dataclasses import dataclass
from math import ceil

from django.db.models import Count, Q

from annotate.labelling.asked_tasks import mean_size
from annotate.models import Annotator, Project, Purpose

APPEARANCES = 20  # of each item; of pairs that is ten answers for each item


@dataclass(frozen=True)
class Target:
    """n: answers asked of each annotator.   n_annotators: those who have answered.   n_reached: of them, with n."""

    n: int
    n_annotators: int
    n_reached: int


def answer_target(project: Project) -> int | None:
    """Return the owner's number, or each expected annotator's share of APPEARANCES of each active item; a limit of
    answers is never exceeded. None where the owner says neither."""
    target = project.target
    if target is None and project.annotators_expected:
        n_items = project.items.filter(retired_at=None).count()
        target = ceil(APPEARANCES * n_items / (mean_size(project) * project.annotators_expected)) or None
    return target if target is None or project.cap is None else min(target, project.cap)


def target_reached(project: Project) -> Target | None:
    """Count who has reached the target; None without one."""
    target = answer_target(project)
    if target is None:
        return None
    counted = Q(labels__voided_at=None) & ~Q(labels__presentation__purpose=Purpose.PRACTICE)
    people = Annotator.objects.filter(project=project, excluded_at=None)
    given = people.annotate(n=Count("labels", filter=counted)).filter(n__gt=0).order_by().values_list("n", flat=True)
    counts = list(given)
    return Target(target, len(counts), sum(n >= target for n in counts))
