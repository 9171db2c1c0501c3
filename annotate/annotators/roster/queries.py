"""Reads the roster: who has joined, how much they have answered, which conflicts of interest are missing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import Count, Q, QuerySet

from annotate.annotators.conflicts.table import NewNeverShown, Who
from annotate.annotators.roster.unfinished import CannotGoOn, answers_asked, unfinished, why_not_now
from annotate.models import ConflictOfInterest, ExpectedConflict, ExpectedPerson, Project
from annotate.participation.joining.expected import without_spaces

PAUSE = timedelta(hours=1)  # nobody gets two messages within it, whoever presses what how often


class Group(StrEnum):
    """To whom links are sent: who was never written to, who was and has not come, who came and has not finished."""

    NEW = "new"
    MISSING = "missing"
    UNFINISHED = "unfinished"


@dataclass(frozen=True)
class RosterTotals:
    """How many people are expected, have joined, have answered; and can be written to now, by group."""

    n: int
    joined: int
    answered: int
    new: int  # with an address, never written to
    missing: int  # written to, and not come
    unfinished: int  # come, and not finished; 0 while nobody can go on


def roster(project: Project) -> QuerySet[ExpectedPerson]:
    """Return the people in the order of their names, with `n_labels`: how many answers of theirs count."""
    counted = Count("annotator__labels", filter=Q(annotator__labels__voided_at=None))
    people = project.expected_people.select_related("annotator").annotate(n_labels=counted)
    return people.prefetch_related(
        "conflicts__item", "conflicts__tag", "annotator__never_shown__item", "annotator__never_shown__tag"
    ).order_by("name", "pk")


def to_write_to(project: Project, to: Group, now: datetime) -> list[ExpectedPerson]:
    """Return the group's people who have an address, longest not written to first; raises CannotGoOn."""
    if to == Group.UNFINISHED:
        if why := why_not_now(project, now):
            raise CannotGoOn(why)
        people = unfinished(project, answers_asked(project))
        return [one for one in people if one.invited_at is None or one.invited_at < now - PAUSE]
    waiting = project.expected_people.filter(annotator=None).exclude(email="")
    group = {"invited_at": None} if to == Group.NEW else {"invited_at__lt": now - PAUSE}
    return list(waiting.filter(**group).order_by("invited_at", "name", "pk"))


def roster_totals(project: Project, now: datetime) -> RosterTotals:
    answered = Q(annotator__labels__voided_at=None, annotator__labels__isnull=False)
    waiting = Q(annotator=None) & ~Q(email="")
    counts = project.expected_people.aggregate(
        n=Count("pk", distinct=True),
        joined=Count("pk", filter=Q(annotator__isnull=False), distinct=True),
        answered=Count("pk", filter=answered, distinct=True),
        new=Count("pk", filter=waiting & Q(invited_at=None), distinct=True),
        missing=Count("pk", filter=waiting & Q(invited_at__lt=now - PAUSE), distinct=True),
    )
    takes_answers = not why_not_now(project, now)
    n_unfinished = len(to_write_to(project, Group.UNFINISHED, now)) if counts["joined"] and takes_answers else 0
    return RosterTotals(**counts, unfinished=n_unfinished)


def conflict_names(person: ExpectedPerson) -> list[str]:
    """Return what the person is never shown, as the roster's table writes it: keys, and tags after `tag:`."""
    rows: list[ConflictOfInterest | ExpectedConflict] = list(
        person.annotator.never_shown.all() if person.annotator else person.conflicts.all()
    )
    return sorted(row.item.key if row.item else f"tag:{row.tag}" for row in rows)


def missing_conflicts(project: Project) -> list[NewNeverShown]:
    """Return the conflicts by organisation or domain of people who had joined before items got the tag."""
    tags: dict[str, list[int]] = {}
    for pk, name in project.tags.filter(name__contains=":").values_list("pk", "name"):
        tags.setdefault(without_spaces(name), []).append(pk)
    joined = project.expected_people.exclude(annotator=None)
    wanted = [
        NewNeverShown(Who(person.annotator_id), None, tag)
        for person in joined
        for name in person.matching_tags
        for tag in tags.get(name, [])
    ]
    if not wanted:
        return []
    there = set(
        ConflictOfInterest.objects.filter(annotator__expected_as__project=project).values_list("annotator", "tag")
    )
    return [row for row in wanted if (row.who.annotator, row.tag) not in there]


LINK_COLUMNS = ["name", "email", "organisation", "tags", "conflicts", "link", "invited_at", "joined_at", "n_labels"]


def link_rows(project: Project, link_of: Callable[[ExpectedPerson], str]) -> Iterator[list[object]]:
    """Yield the rows of LINK_COLUMNS."""
    for person in roster(project):
        yield [
            person.name,
            person.email,
            person.organisation,
            ";".join(person.tags),
            ";".join(conflict_names(person)),
            link_of(person),
            person.invited_at,
            person.annotator and person.annotator.joined_at,
            person.n_labels,  # type: ignore[attr-defined]  # annotated by roster
        ]
