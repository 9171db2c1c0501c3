"""Who on the roster has joined and not finished, and can still be asked: whom a reminder is written to."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Greatest
from django.utils.translation import gettext as _

from annotate.core.errors import ProjectNotOpen, UserError, format_moment
from annotate.labelling.eligibility import check_open
from annotate.labelling.item_sets import TAKEN_STATES, items_of_key
from annotate.labelling.remaining import keys_with_room
from annotate.labelling.targets import answer_target
from annotate.models import ConflictOfInterest, ExpectedPerson, Presentation, Project


class CannotGoOn(UserError):
    code = "cannot-go-on"


def why_not_now(project: Project, now: datetime) -> str:
    """Say why nobody can go on answering now, and so nobody is reminded; "" while answers are taken."""
    try:
        check_open(project, now)
    except ProjectNotOpen as refusal:
        if refusal.state == "early":
            why = _("The project takes answers from %(at)s.") % {"at": format_moment(project.opens_at)}
        elif refusal.state == "over":
            why = _("The project took answers until %(at)s.") % {"at": format_moment(project.closes_at)}
        elif refusal.state == "paused":
            why = _("The project is paused.")
        elif refusal.state == "closed":
            why = _("The project is closed.")
        else:
            why = _("The project is not open yet.")
        return why + " " + _("Reminders can be sent only while it takes answers.")
    return ""


def answers_asked(project: Project) -> int | None:
    """Return how many answers are asked of each: the owner's number, else the limit; None without either."""
    number = answer_target(project)
    return project.cap if number is None else number


def unfinished(project: Project, number: int | None) -> list[ExpectedPerson]:
    """Return them, longest not written to first, with `n_answered`, counted as annotators are told it
    (labelling.eligibility), and `has_open`: whether a task waits for them.   number: answers_asked of the project."""
    counted = Count("annotator__labels", filter=Q(annotator__labels__voided_at=None))
    is_open = Presentation.objects.filter(annotator=OuterRef("annotator"), state=Presentation.State.OPEN)
    people = (
        project.expected_people.exclude(annotator=None)
        .exclude(email="")
        .filter(annotator__ended="", annotator__excluded_at=None, annotator__screened_out_at=None)
        .select_related("annotator")
        .annotate(n_answered=Greatest(counted - F("annotator__practised"), Value(0)), has_open=Exists(is_open))
        .order_by(F("invited_at").asc(nulls_first=True), "name", "pk")
    )
    if number is not None:
        people = people.filter(n_answered__lt=number)
    elif not project.has_plan:
        people = people.filter(n_answered=0)
    return who_can_go_on(project, list(people))


def who_can_go_on(project: Project, people: list[ExpectedPerson]) -> list[ExpectedPerson]:
    """Return those for whom there is an open task or a set that lacks somebody and that they may be shown.

    Takes the same few queries for any number of people.
    """
    keys = keys_with_room(project) if people else None
    if keys is None:
        return people
    shown = Presentation.objects.filter(
        annotator__expected_as__project=project, state__in=TAKEN_STATES, item_set__key__in=keys
    )
    n_shown = dict(shown.values_list("annotator").annotate(n=Count("item_set", distinct=True)).order_by())
    barred = keys_barred(project, keys, shown, people)
    return [
        person
        for person in people
        if person.has_open  # type: ignore[attr-defined]  # annotated by unfinished
        or len(keys) > (len(barred[pk]) if (pk := person.annotator_id) in barred else n_shown.get(pk, 0))
    ]


def keys_barred(
    project: Project, keys: set[str], shown: QuerySet[Presentation], people: Iterable[ExpectedPerson]
) -> dict[int, set[str]]:
    """Return, for each annotator with conflicts of interest, which of these sets they have seen or must not see."""
    hidden: dict[int, set[int]] = {
        person.annotator_id: set()
        for person in people
        if person.annotator_id and person.annotator and person.annotator.has_never_shown
    }
    if not hidden:
        return {}
    conflicts = ConflictOfInterest.objects.filter(annotator__expected_as__project=project)
    for annotator, item, tagged in conflicts.values_list("annotator", "item", "tag__items"):
        if annotator in hidden:
            hidden[annotator] |= {one for one in (item, tagged) if one is not None}
    sets = {key: set(items_of_key(key)) for key in keys}
    barred = {annotator: {key for key in keys if sets[key] & items} for annotator, items in hidden.items()}
    for annotator, key in shown.filter(annotator__has_never_shown=True).values_list("annotator", "item_set__key"):
        if annotator in barred:
            barred[annotator].add(key)
    return barred
