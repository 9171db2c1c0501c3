"""Outcomes of answers: what a project allows, and the ranks of items that an answer puts in order."""

from collections.abc import Sequence

from annotate.labelling.task_types.registry import BY_OUTCOME, MAIN_OUTCOMES, task_type_of
from annotate.models import Label, Project

Outcome = Label.Outcome
TIES = (Outcome.TIE, Outcome.BOTH_GOOD, Outcome.BOTH_BAD)
EXTRA_OUTCOMES = (*TIES, Outcome.CANT_JUDGE, Outcome.SKIP)
# "Can't judge" and "skip" say nothing about the items.
INFORMATIVE = (*MAIN_OUTCOMES, *TIES)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # by place


def main_outcome(project: Project) -> Outcome:
    """Return what the project's task asks for."""
    return task_type_of(project).outcome


def n_ranked(project: Project) -> int:
    """Return how many items the answer to the project's task names: the best and the worst, all, or the best m."""
    return task_type_of(project).n_ranked(project)


def allowed_extra_outcomes(project: Project) -> list[str]:
    """Return the outcomes allowed besides what the task asks for. A tie is about two items."""
    return [outcome for outcome in project.outcomes if project.k == 2 or outcome not in TIES]


def encode_ranks(outcome: str, order: Sequence[int], k: int, shared: Sequence[int] = ()) -> str:
    """Return the ranks of k items, one digit each. order: places as named, of best and worst the best first.

    shared: which of them, from 0, share the rank of the one before.
    """
    return BY_OUTCOME[outcome].encode_ranks(order, k, shared)


def decode_ranks(outcome: str, ranks: str) -> list[int]:
    """Return the places that the answer named, as it named them; undoes encode_ranks."""
    return BY_OUTCOME[outcome].decode_ranks(ranks)


def decode_shared(outcome: str, ranks: str) -> tuple[int, ...]:
    """Return which of the places that the answer named, from 0, share the rank of the one before."""
    return BY_OUTCOME[outcome].decode_shared(ranks)
