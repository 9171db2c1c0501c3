"""What the pages of entry show: the text to agree to, the study's arithmetic, who came and how it ended."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.labelling.plan.queries import n_planned
from annotate.labelling.special_tasks import frequencies
from annotate.models import Annotator, Completion, Event, EventVerb, GoldSet, ParticipationRules, Project, Purpose
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
    sets is idle. Checks and repeats use up the cap and answer no set."""
    n_sets, cap, n_checks = n_planned(project), project.cap, checks_each(project)
    ordinary = None if cap is None else max(cap - n_checks, 0)
    each = (n_sets if ordinary is None else min(ordinary, n_sets)) if n_sets else ordinary
    needed = n_sets * project.overlap if n_sets else None
    given = entry.places * each if entry.places and each else None
    values = {"sets": n_sets, "overlap": project.overlap, "needed": needed, "n": entry.places, "cap": each}
    values |= {"all": cap, "checks": n_checks}
    first = (
        _("%(sets)d sets × %(overlap)d annotators each = %(needed)d answers needed.") % values
        if needed
        else _("The number of different sets is not fixed, so the study takes any number of answers.")
    )
    at_most = (
        _(
            "%(n)d participants × at most %(cap)d answers = %(given)d answers at most. Of the %(all)d answers of each, "
            "up to %(checks)d are checks or repeats, which are not counted here."
        )
        if cap and n_checks
        else _("%(n)d participants × at most %(cap)d answers = %(given)d answers at most.")
    )
    second = (
        at_most % {**values, "given": given}
        if given
        else _("To estimate how many answers you will get, limit the participants and the answers from each.")
    )
    return AnswerBudget(
        first, second, budget_verdict(project, needed, given, each), given >= needed if given and needed else None
    )


def checks_each(project: Project) -> int:
    """Return how many of one person's answers are checks or repeats at most; 0 where there is no cap to use up."""
    if project.cap is None:
        return 0
    known = dict(
        GoldSet.objects.filter(project=project, retired_at=None)
        .order_by()
        .values_list("purpose")
        .annotate(n=Count("item_set", distinct=True))
    )
    return sum(
        ceil(project.cap / every)
        if purpose == Purpose.REPEAT
        else min(ceil(project.cap / every), known.get(purpose, 0))
        for purpose, every in frequencies(project).items()
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
    refused = Event.objects.filter(annotator=OuterRef("pk"), verb=EventVerb.OTHER_BROWSER_REFUSED).order_by("-at")
    n_labels = Count("labels", filter=Q(labels__voided_at=None))
    return people.annotate(n_labels=n_labels, refused_at=Subquery(refused.values("at")[:1])).order_by("-pk")


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
