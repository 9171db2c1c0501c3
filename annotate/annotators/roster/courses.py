"""Brings the people of a course into the roster: their name, their role as a tag, and who they are at the platform."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.annotators.roster.actions import RosterFull
from annotate.audit import record_event
from annotate.core.transactions import write_transaction
from annotate.locks import lock_project
from annotate.lti.memberships import CourseMember, fetch_members
from annotate.models import (
    MAX_EXPECTED_PEOPLE,
    Annotator,
    EventVerb,
    ExpectedPerson,
    LtiCourse,
    LtiLearner,
    Project,
    User,
)
from annotate.participation.joining.pseudonyms import MAX_PSEUDONYM_LENGTH, normalize_name

LEARNER, TEACHER = "learner", "teacher"  # tags


@dataclass(frozen=True)
class ImportedCourse:
    """n_known: were on the list already; n_nameless: left out, since the platform does not give their names; n_came:
    take part under a pseudonym already, and keep it."""

    n_added: int
    n_known: int
    n_nameless: int
    n_came: int

    @property
    def sentences(self) -> list[str]:
        """Return what became of the course's people, in words."""
        counts = [
            (
                self.n_added,
                ngettext(
                    "%(n)d person of the course is on the list now.",
                    "%(n)d people of the course are on the list now.",
                    self.n_added,
                ),
            ),
            (
                self.n_known,
                ngettext(
                    "%(n)d person was on the list already.", "%(n)d people were on the list already.", self.n_known
                ),
            ),
            (
                self.n_came,
                ngettext(
                    "%(n)d person takes part under a pseudonym already and keeps it.",
                    "%(n)d people take part under a pseudonym already and keep it.",
                    self.n_came,
                ),
            ),
            (
                self.n_nameless,
                ngettext(
                    "%(n)d person was left out without a name. Allow the platform to tell this site names.",
                    "%(n)d people were left out without a name. Allow the platform to tell this site names.",
                    self.n_nameless,
                ),
            ),
        ]
        found = [text % {"n": n} for n, text in counts if n]
        return found or [_("The course has no people.")]


def import_course(*, project: Project, course: LtiCourse, actor: User, now: datetime) -> ImportedCourse:
    """Put the people of a course on the roster. Raises what `fetch_members` raises, and RosterFull; then nobody is."""
    members = fetch_members(course, now)
    with write_transaction():
        project = lock_project(project.pk)
        imported = add_members(project, course, members, now)
        LtiCourse.objects.filter(pk=course.pk).update(fetched_at=now)
        if imported.n_added:
            record_event(project, actor, EventVerb.PEOPLE_EXPECTED, now, people=imported.n_added, conflicts=0)
    return imported


def add_members(project: Project, course: LtiCourse, members: Sequence[CourseMember], now: datetime) -> ImportedCourse:
    there = list(ExpectedPerson.objects.filter(project=project))
    came = LtiLearner.objects.filter(platform=course.platform_id, annotator__project=project)
    pseudonymous = set(came.exclude(annotator__expected_as__isnull=False).values_list("subject", flat=True))
    by_subject = {one.subject for one in there if one.subject and one.platform_id == course.platform_id}
    by_address = {one.email.casefold(): one for one in there if one.email and not one.subject}
    taken = {one.name.casefold() for one in there}
    taken |= {
        name.casefold() for name in Annotator.everyone.filter(project=project).values_list("pseudonym", flat=True)
    }
    new, n_known, n_nameless, n_came = [], 0, 0, 0
    for member in members:
        name = normalize_name(member.name)[:MAX_PSEUDONYM_LENGTH].strip()
        known = by_address.pop(member.email.casefold(), None)
        if member.subject in pseudonymous:
            n_came += 1
        elif member.subject in by_subject:
            n_known += 1
        elif known:
            ExpectedPerson.objects.filter(pk=known.pk).update(platform=course.platform_id, subject=member.subject)
            n_known += 1
        elif not any(character.isalnum() for character in name):
            n_nameless += 1
        else:
            name = free(name, taken)
            taken.add(name.casefold())
            tags = [TEACHER if member.teaches else LEARNER]
            own = {"platform_id": course.platform_id, "subject": member.subject}
            new.append(ExpectedPerson(project=project, name=name, tags=tags, added_at=now, **own))
    if len(there) + len(new) > MAX_EXPECTED_PEOPLE:
        raise RosterFull(len(there) + len(new))
    ExpectedPerson.objects.bulk_create(new, batch_size=500)
    return ImportedCourse(len(new), n_known, n_nameless, n_came)


def free(name: str, taken: set[str]) -> str:
    """Return the name, with a number behind it where somebody has it already."""
    room = MAX_PSEUDONYM_LENGTH - 5
    names = (name if n == 1 else f"{name[:room]} {n}" for n in count(1))
    return next(one for one in names if one.casefold() not in taken)
