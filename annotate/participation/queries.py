"""What the pages of entry show: the text to agree to, the study's arithmetic, who came and how it ended."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.models import Annotator, Completion, ParticipationRules, Project
from annotate.participation.places import BY_LINK

COLUMNS = [
    "annotator",
    "source",
    "participant",
    "study",
    "session",
    "joined_at",
    "consented_at",
    "n_labels",
    "ended",
    "ended_at",
    "code",
    "used_at",
]


@dataclass(frozen=True)
class AnswerBudget:
    """How many answers a study needs and how many its participants can give, in sentences."""

    needed: str
    given: str
    verdict: str
    enough: bool | None  # None: it can't be said


def answer_budget(project: Project, entry: ParticipationRules) -> AnswerBudget:
    """Compare sets × overlap with participants × cap; everybody answers a set once, so a cap beyond the
    sets is idle."""
    n_sets, cap = project.n_sets, project.cap
    each = min(cap or n_sets, n_sets) if n_sets else cap
    needed = n_sets * project.overlap if n_sets else None
    given = entry.places * each if entry.places and each else None
    values = {"sets": n_sets, "overlap": project.overlap, "needed": needed, "n": entry.places, "cap": each}
    first = (
        _("%(sets)d sets × %(overlap)d annotators each = %(needed)d answers needed.") % values
        if needed
        else _("The number of different sets is not fixed, so the study takes any number of answers.")
    )
    second = (
        _("%(n)d participants × at most %(cap)d answers = %(given)d answers at most.") % {**values, "given": given}
        if given
        else _("To estimate how many answers you will get, limit the participants and the answers from each.")
    )
    return AnswerBudget(
        first, second, budget_verdict(project, needed, given, each), given >= needed if given and needed else None
    )


def budget_verdict(project: Project, needed: int | None, given: int | None, each: int | None) -> str:
    if not needed or not each:
        return ""
    least = max(-(-needed // each), project.overlap)
    if given is None:
        return ngettext(
            "At least %(n)d participant has to finish.", "At least %(n)d participants have to finish.", least
        ) % {"n": least}
    if given < needed:
        return _("That is too few: let in at least %(n)d participants, or ask each for more answers.") % {"n": least}
    spare = (given - needed) * 100 // given
    return _("That is enough, even if %(spare)d%% of these answers never come.") % {"spare": spare}


def participants(project: Project) -> QuerySet[Annotator]:
    """Return who came by links, the latest first, with how many labels of theirs count."""
    people = Annotator.objects.filter(project=project, source__in=BY_LINK).select_related("completion__used_by")
    return people.annotate(n_labels=Count("labels", filter=Q(labels__voided_at=None))).order_by("-pk")


def participant_rows(project: Project) -> Iterator[list[object]]:
    """Yield the rows of COLUMNS, in the order people came, then those turned away."""
    for one in participants(project).prefetch_related("consents").order_by("pk").iterator(500):
        end = getattr(one, "completion", None)
        agreed = max((consent.at for consent in one.consents.all()), default=None)
        yield [
            one.pseudonym,
            one.source,
            one.platform_id,
            one.platform_study,
            one.platform_session,
            one.joined_at,
            agreed,
            one.n_labels,  # type: ignore[attr-defined]  # annotated above
            one.ended,
            end and end.at,
            end and end.code,
            end and end.used_at,
        ]
    for end in Completion.objects.filter(project=project, annotator=None).order_by("pk").iterator(500):
        yield [None, "platform", end.platform_id, "", "", None, None, 0, end.kind, end.at, end.code, end.used_at]
