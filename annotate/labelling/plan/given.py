"""The questions that the owner gave instead of drawn ones: adding, ordering, withdrawing them, drawing again."""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.errors import ProjectArchived, UserError
from annotate.core.transactions import write_transaction
from annotate.jobs.fit_requests import request_fit
from annotate.labelling.item_sets import HIDDEN_CHECKS, items_of_key, set_key
from annotate.locks import check_items_there, lock_project
from annotate.models import EventVerb, GivenOrder, GoldSet, ItemSet, Presentation, Project, User
from annotate.models.goals import Goal

BATCH = 500  # sets named in one statement
MAX_QUESTIONS = 250_000  # of a project
MAX_PRIORITY = 1_000_000
RNG = random.SystemRandom()


class NewQuestion(NamedTuple):
    """items: primary keys."""

    items: tuple[int, ...]
    priority: int = 0


@dataclass(frozen=True)
class Added:
    """n_merged: questions that were there already, or twice among those to be added."""

    n_added: int
    n_merged: int


class TooManyQuestions(UserError):
    status = 400

    def __init__(self, n: int) -> None:
        super().__init__(
            _("With these the project would have %(n)d questions; the limit is %(limit)d. Add fewer, or withdraw some.")
            % {"n": n, "limit": MAX_QUESTIONS}
        )


class NoQuestions(UserError):
    def __init__(self) -> None:
        super().__init__(_("This project has no given questions. Add some first."))


def questions_of(project: Project) -> QuerySet[ItemSet]:
    """Return the questions that the owner gave, those withdrawn too, in the order of their list."""
    return project.item_sets.filter(number__isnull=False).order_by("number")


def add_questions(
    *, project: Project, actor: User | None, questions: Sequence[NewQuestion], order: str = "", now: datetime
) -> Added:
    """Has these sets asked instead of drawn ones, behind those given before; one withdrawn is asked again.

    order: a GivenOrder; else as before, and least answered first at the beginning. The items are checked already.
    Raises ItemsDeleted, ProjectArchived and TooManyQuestions.
    """
    with write_transaction():
        project = lock_project(project.pk)
        added = write_questions(project, questions, order)
        record_event(
            project, actor, EventVerb.QUESTIONS_ADDED, now, questions=added.n_added, merged=added.n_merged, source="-"
        )
        plan_has_changed(project)
    return added


def write_questions(project: Project, questions: Sequence[NewQuestion], order: str = "") -> Added:
    """Write what add_questions says, in the caller's transaction, which holds the project alone; logs nothing."""
    if project.archived_at:
        raise ProjectArchived
    check_items_there(project, {item for one in questions for item in one.items})
    replace_drawn_sets(project, order)
    last = project.item_sets.aggregate(last=Max("number"))["last"] or 0
    wanted = {set_key(one.items): one.priority for one in reversed(questions)}  # the first that names a set counts
    known = {
        row.key: row
        for start in range(0, len(wanted), BATCH)
        for row in project.item_sets.filter(key__in=[*wanted][start : start + BATCH])
    }
    of_checks = set(checks_of(project).values_list("item_set__key", flat=True))
    new, changed = [], []
    for key in dict.fromkeys(set_key(one.items) for one in questions):
        row = known.get(key)
        if row and row.number and not row.withdrawn_at:
            continue
        if row is None:
            row = ItemSet(project=project, key=key, shuffle=RNG.random())
            new.append(row)
        else:
            changed.append(row)
        if row.number is None:
            last += 1
            row.number = last
        row.withdrawn_at, row.priority = None, wanted[key]
        row.place = None if key in of_checks else row.number
    if len(new) + len(changed) and (n := questions_of(project).count() + len(new)) > MAX_QUESTIONS:
        raise TooManyQuestions(n)
    ItemSet.objects.bulk_create(new, batch_size=BATCH)
    ItemSet.objects.bulk_update(changed, ["number", "place", "priority", "withdrawn_at"], batch_size=BATCH // 2)
    n_added = len(new) + len(changed)
    return Added(n_added, len(questions) - n_added)


def replace_drawn_sets(project: Project, order: str) -> None:
    """Let given questions take the place of drawn sets; those that somebody was shown stay, with their answers."""
    if not project.given_order:
        planned = project.item_sets.filter(place__isnull=False)
        planned.filter(~Exists(PRESENTED), ~Exists(KNOWN)).delete()
        planned.update(place=None)
    order = order or project.given_order or GivenOrder.BALANCED
    if order != project.given_order:
        project.given_order, project.n_sets = order, None
        project.save(update_fields=["given_order", "n_sets"])


PRESENTED = Presentation.objects.filter(item_set=OuterRef("pk"))
KNOWN = GoldSet.objects.filter(item_set=OuterRef("pk"))


def change_order(*, project: Project, actor: User, order: str, now: datetime) -> bool:
    """Asks the given questions in another order; False if it is theirs already. Raises NoQuestions."""
    with write_transaction():
        project = lock_project(project.pk)
        if not project.given_order:
            raise NoQuestions
        before = project.given_order
        if before == order:
            return False
        project.given_order = order
        project.save(update_fields=["given_order"])
        record_event(project, actor, EventVerb.SETTINGS_CHANGED, now, given_order=[before, str(order)])
    return True


def change_priority(*, project: Project, actor: User, numbers: Collection[int], priority: int, now: datetime) -> int:
    """Give these questions another priority; how many had another one before."""
    with write_transaction():
        project = lock_project(project.pk)
        n = sum(rows.exclude(priority=priority).update(priority=priority) for rows in numbered(project, numbers))
        if n:
            record_event(project, actor, EventVerb.QUESTIONS_CHANGED, now, questions=n, priority=priority)
    return n


def withdraw_questions(*, project: Project, actor: User, numbers: Collection[int] | None, now: datetime) -> int:
    """Asks these questions no more, or none of all; how many were asked. Answers stay, and count.

    Those that nobody was shown are deleted; the others are listed as withdrawn, and can be asked again.
    """
    with write_transaction():
        project = lock_project(project.pk)
        if numbers is None:
            n = withdraw(questions_of(project), now)
        else:
            n = sum(withdraw(rows, now) for rows in numbered(project, numbers))
        if n:
            record_event(project, actor, EventVerb.QUESTIONS_WITHDRAWN, now, questions=n)
            plan_has_changed(project)
    return n


def withdraw(rows: QuerySet[ItemSet], now: datetime) -> int:
    rows = rows.order_by().filter(withdrawn_at=None)
    n = rows.count()
    unseen = rows.filter(~Exists(PRESENTED), ~Exists(KNOWN))
    unseen._raw_delete(DEFAULT_DB_ALIAS)  # nothing refers to them, and there may be very many
    rows.update(withdrawn_at=now, place=None)
    return n


def ask_again(*, project: Project, actor: User, numbers: Collection[int], now: datetime) -> int:
    """Asks withdrawn questions again, at their old places; how many."""
    with write_transaction():
        project = lock_project(project.pk)
        n = sum(
            rows.filter(withdrawn_at__isnull=False).update(withdrawn_at=None) for rows in numbered(project, numbers)
        )
        if n:
            settle_questions(project)
            record_event(project, actor, EventVerb.QUESTIONS_ASKED_AGAIN, now, questions=n)
            plan_has_changed(project)
    return n


def draw_again(*, project: Project, actor: User, now: datetime) -> int:
    """Draws sets again as annotators ask, and forgets the given questions; answers stay. Raises NoQuestions."""
    with write_transaction():
        project = lock_project(project.pk)
        if not project.given_order:
            raise NoQuestions
        n = withdraw(questions_of(project), now)
        project.item_sets.filter(number__isnull=False).update(number=None, place=None, priority=0, withdrawn_at=None)
        project.given_order = ""
        project.save(update_fields=["given_order"])
        record_event(project, actor, EventVerb.QUESTIONS_DROPPED, now, questions=n)
        plan_has_changed(project)
    return n


def numbered(project: Project, numbers: Collection[int]) -> list[QuerySet[ItemSet]]:
    """Return the questions with these numbers, so many at a time as a statement may name."""
    chosen = sorted(set(numbers))
    rows = project.item_sets.filter(number__isnull=False)
    return [rows.filter(number__in=chosen[start : start + BATCH]) for start in range(0, len(chosen), BATCH)]


def settle_questions(project: Project) -> None:
    """Has those given questions asked that can be: of items none of which is retired, no check, not withdrawn.

    The caller's transaction holds the project alone.
    """
    given = project.item_sets.filter(number__isnull=False, withdrawn_at=None)
    retired = set(project.items.filter(retired_at__isnull=False).values_list("pk", flat=True))
    out = set(checks_of(project).values_list("item_set", flat=True))
    if retired:
        rows = given.order_by("pk").values_list("pk", "key").iterator(2000)
        out |= {pk for pk, key in rows if not retired.isdisjoint(items_of_key(key))}
    given.filter(place=None).update(place=F("number"))
    chosen = sorted(out)
    for start in range(0, len(chosen), BATCH):
        given.filter(pk__in=chosen[start : start + BATCH]).update(place=None)


def checks_of(project: Project) -> QuerySet[GoldSet]:
    """Return what is asked as a gold question or attention check (labelling.item_sets.is_check)."""
    return GoldSet.objects.filter(project=project, purpose__in=HIDDEN_CHECKS, retired_at=None)


def n_questions_with(project: Project, item: int) -> int:
    """Return in how many given questions the item is."""
    return questions_of(project).filter(names_item(item)).count()


def names_item(item: int) -> Q:
    return Q(key=str(item)) | Q(key__startswith=f"{item}-") | Q(key__endswith=f"-{item}") | Q(key__contains=f"-{item}-")


def plan_has_changed(project: Project) -> None:
    """Ask for a fit where it says how far the plan is."""
    if project.goal == Goal.PLAN and project.labels.exists():
        request_fit(project)
