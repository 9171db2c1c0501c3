"""Answers that put items in order: from the places named, best first, to a rank for each item shown, and back."""

from collections.abc import Sequence

from annotate.models import Label, Project

Outcome = Label.Outcome
TaskType = Project.TaskType
# What a task asks for.
ASKED = {
    TaskType.PAIR: Outcome.CHOICE,
    TaskType.GRADED: Outcome.CHOICE,
    TaskType.BEST: Outcome.CHOICE,
    TaskType.BEST_WORST: Outcome.BEST_WORST,
    TaskType.RANKING: Outcome.RANKING,
    TaskType.TOP: Outcome.TOP,
}
TIES = (Outcome.TIE, Outcome.BOTH_GOOD, Outcome.BOTH_BAD)
OTHERS = (*TIES, Outcome.CANT_JUDGE, Outcome.SKIP)
# "Can't judge" and "skip" say nothing about the items.
COUNTED = (Outcome.CHOICE, Outcome.BEST_WORST, Outcome.RANKING, Outcome.TOP, *TIES)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # by place
BEST, MIDDLE, WORST = 0, 1, 2


def n_named(project: Project) -> int:
    """How many items the answer to the project's task names: the best and the worst, all, or the best m."""
    return {TaskType.BEST_WORST: 2, TaskType.RANKING: project.k, TaskType.TOP: project.m or 0}.get(
        TaskType(project.task_type), 1
    )


def others_allowed(project: Project) -> list[str]:
    """The outcomes allowed besides what the task asks for. A tie is about two items."""
    return [outcome for outcome in project.outcomes if project.k == 2 or outcome not in TIES]


def ranks_of(outcome: str, order: Sequence[int], k: int) -> str:
    """The ranks of k items, one digit each. order: places as named, of best and worst the best first."""
    rest = MIDDLE if outcome == Outcome.BEST_WORST else len(order)
    ranks = [rest] * k
    for rank, place in enumerate(order):
        ranks[place] = WORST if outcome == Outcome.BEST_WORST and rank else rank
    return "".join(map(str, ranks))


def order_of(outcome: str, ranks: str) -> list[int]:
    """The places that the answer named, as it named them; undoes `ranks_of`."""
    places = sorted(range(len(ranks)), key=lambda place: ranks[place])
    if outcome == Outcome.BEST_WORST:
        return [places[0], places[-1]]
    return places if outcome == Outcome.RANKING else places[: int(max(ranks))]
