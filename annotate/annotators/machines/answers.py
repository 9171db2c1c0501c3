"""Checks what a machine says it answered against the kind of task that its set is asked by."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from annotate.annotators.machines.sets import asked_kinds
from annotate.labelling.asked_tasks import AskedTask, tasks_of, with_task
from annotate.models import Label, Project

Outcome = Label.Outcome


class WrongAnswer(ValueError):
    """What is wrong with one answer, in words; the API says in which row."""


@dataclass(frozen=True)
class NewAnswer:
    """items: primary keys in the order shown.   chosen: one of them.   ranks: as in Label.ranks, by place shown."""

    items: tuple[int, ...]
    task: str
    outcome: str
    chosen: int | None = None
    ranks: str = ""
    grade: str = ""
    prompt_version: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: Decimal | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class GivenAnswer:
    """What was given: a place, an order of places, best first, or neither, which is a tie.

    shared: which entries of the order, from 0, share the place of the one before.   grade: how much better the item
    chosen is, where the task asks that.   task: the code of the kind of task (AskedTask.code), "" for the first one
    of the set's size.
    """

    chosen: int | None = None
    order: list[int] = field(default_factory=list)
    shared: list[int] = field(default_factory=list)
    grade: str = ""
    task: str = ""


def read_answer(project: Project, items: tuple[int, ...], given: GivenAnswer, **more: Any) -> NewAnswer:
    """Raise WrongAnswer."""
    task = task_for(project, len(items), given.task)
    own = with_task(project, task)
    if given.grade and (not task.type.is_graded or given.chosen is None):
        words = _("“grade” says how much better the item chosen of a graded pair is. Leave it out here.")
        raise WrongAnswer(words)
    if task.type.is_ordered and (given.order or task.k > 2):
        check_order(task, given, task.type.n_ranked(own))
        ranks = task.type.encode_ranks(given.order, task.k, given.shared)
        return NewAnswer(items, task.code, task.type.outcome, None, ranks, **more)
    if given.order or given.shared:
        raise WrongAnswer(_("This task is answered by one place, in “chosen”. Leave “order” and “shared” out."))
    if given.chosen is None:
        if task.k > 2 or Outcome.TIE not in project.outcomes:
            raise WrongAnswer(_("A tie is no answer in this project. Give the place of the chosen item."))
        return NewAnswer(items, task.code, Outcome.TIE, **more)
    check_places([given.chosen], task.k)
    if task.type.is_ordered:
        raise WrongAnswer(needs_order(task.type.n_ranked(own)))
    return NewAnswer(items, task.code, Outcome.CHOICE, items[given.chosen], grade=given.grade, **more)


def task_for(project: Project, n_items: int, code: str = "") -> AskedTask:
    """Return the kind of task that is answered: the one named, else the first of the set's size."""
    kinds = asked_kinds(project)
    if code:
        known = {task.code: task for task in tasks_of(project) if task.k == n_items}
        if code in known:
            return known[code]
        names = ", ".join(known) or "–"
        words = _("“%(task)s” is no task of this project for a set of %(n)d items. Send one of: %(known)s.")
        raise WrongAnswer(words % {"task": code, "n": n_items, "known": names})
    if n_items not in kinds:
        sizes = ", ".join(map(str, sorted(kinds)))
        words = _("A set of %(n)d items is no task of this project, which shows %(sizes)s. Send sets that it asks.")
        raise WrongAnswer(words % {"n": n_items, "sizes": sizes})
    return kinds[n_items][0]


def needs_order(n: int) -> str:
    return _("This task is answered by “order”: %(n)d places, best first, and not by “chosen”.") % {"n": n}


def check_order(task: AskedTask, given: GivenAnswer, n_ranked: int) -> None:
    if given.chosen is not None or not given.order:
        raise WrongAnswer(needs_order(n_ranked))
    if len(given.order) != n_ranked:
        words = _("“order” names %(value)d places but needs %(n)d. Name each item once, best first.")
        raise WrongAnswer(words % {"value": len(given.order), "n": n_ranked})
    check_places(given.order, task.k)
    twice = next((place for place in given.order if given.order.count(place) > 1), None)
    if twice is not None:
        raise WrongAnswer(_("“order” names place %(value)d twice. Name each place once.") % {"value": twice})
    if given.shared and not task.shared_places:
        raise WrongAnswer(_("No two items share a place in this project. Leave “shared” out."))
    wrong = next((index for index in given.shared if not 1 <= index < len(given.order)), None)
    if wrong is not None:
        words = _("“shared” names %(value)d; it takes 1 to %(most)d, counted from 0 in “order”.")
        raise WrongAnswer(words % {"value": wrong, "most": len(given.order) - 1})


def check_places(places: list[int], k: int) -> None:
    wrong = next((place for place in places if not 0 <= place < k), None)
    if wrong is not None:
        words = _("Place %(value)d was not shown; places go from 0 to %(most)d. Give one of those.")
        raise WrongAnswer(words % {"value": wrong, "most": k - 1})
