"""Writing answers: one label per presentation, nothing dropped; each one short transaction."""

import random
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.utils.translation import gettext as _

from annotate.core.errors import CapReached, InvalidAnswer, TaskChanged, UserError
from annotate.jobs.fit_requests import request_fit
from annotate.labelling import assignment, special_tasks
from annotate.labelling.asked_tasks import is_asked, project_for_task
from annotate.labelling.comments import check_comment, check_comments, write_item_comments
from annotate.labelling.eligibility import (
    break_is_due,
    check_can_answer,
    check_caps,
    check_reading_time,
    n_counted_labels,
)
from annotate.labelling.item_sets import ChosenSet
from annotate.labelling.outcomes import allowed_extra_outcomes, encode_ranks
from annotate.labelling.screening import apply_rule, may_screen_out
from annotate.labelling.shown_items import items_shown
from annotate.labelling.stored_answers import close_answered, insert_label
from annotate.labelling.task_types.registry import is_ordered, task_type_of
from annotate.locks import check_alone, in_step
from annotate.models import (
    MAX_REASON_LENGTH,
    Annotator,
    CriterionAnswer,
    Event,
    EventVerb,
    Label,
    Presentation,
    Project,
    Purpose,
)
from annotate.webhooks.answers import note_answer

Outcome = Label.Outcome
MAX_RESPONSE_MS = 24 * 3600 * 1000


@dataclass(frozen=True)
class Answer:
    """What an annotator said: `chosen` is the place of the chosen item (0 is A) for a choice, else None.

    grade: of a choice how much better it is, where that is asked: one of Label.Grade, else "".
    order: the places named, best first: of best and worst these two, of a ranking all, of the best few these; else ().
    shared: which of these, counted from 0, share the place of the one before, where the project allows it.
    """

    outcome: str
    chosen: int | None = None
    grade: str = ""
    order: tuple[int, ...] = ()
    shared: tuple[int, ...] = ()
    response_ms: int | None = None
    active_ms: int | None = None
    client_at: datetime | None = None
    session: str = ""
    language: str = ""  # in which it was asked
    comment: str = ""
    item_comments: tuple[str, ...] = ()  # on the items shown, in their order; those at the end may be missing
    reason: str = ""  # why it is skipped
    # What is said by the criteria after the first; of a whole task skipped, nothing.
    further: tuple["Answer", ...] = ()

    @property
    def named(self) -> list[int | None]:
        """Return the places that it names, best first; [None] where it names none."""
        return [*self.order] or [self.chosen]


def record_label(*, presentation: Presentation, answer: Answer, now: datetime) -> Label:
    """Return the label of this presentation: the answer, or the one already stored, whatever is sent again.

    An answer that comes after the lease ran out counts if set and cap have room, else it is stored voided as late.
    Raises InvalidAnswer for what the project does not allow, ProjectNotOpen, AnnotatorExcluded and AnsweredTooSoon.
    """

    def step(annotator: Annotator) -> Label:
        label, is_new = write_label(annotator, presentation, answer, now)
        if is_new:
            request_fit(annotator.project)
        return label

    return in_step(presentation.annotator, step, exclusive=counts_more_sets(presentation))


def record_and_assign_next(
    *, presentation: Presentation, answer: Answer, now: datetime, rng: random.Random, ahead: bool = False
) -> tuple[Label, UserError | None]:
    """Record a label and assign the next presentation, or return the refusal that says why there is none, in one step.

    After practice, and where a break is due, there is neither.   ahead: as for assignment.next_presentation.
    """
    likely = assignment.choose_ahead(presentation.annotator, now)

    def step(annotator: Annotator) -> tuple[Label, UserError | None, bool]:
        label, is_new = write_label(annotator, presentation, answer, now)
        if presentation.purpose == Purpose.PRACTICE:
            presentation.annotator = annotator  # with the practice as it stands now
        just_answered = is_new and label.voided_at is None
        closed_open = just_answered and presentation.state == Presentation.State.OPEN and not presentation.ahead
        n_done = assignment.count_if_needed(annotator.project, annotator)
        refusal, is_next_to_hold = None, False
        if just_answered and (presentation.purpose == Purpose.PRACTICE or break_is_due(annotator, n_done)):
            assignment.release_ahead(annotator)
        else:
            refusal, is_next_to_hold = go_on(annotator, likely, now, rng, n_done, none_open=closed_open, ahead=ahead)
        if is_new:  # last, since all who answer write this one row
            request_fit(annotator.project)
        return label, refusal, is_next_to_hold

    exclusive = counts_more_sets(presentation)
    label, refusal, is_next_to_hold = in_step(presentation.annotator, step, exclusive=exclusive)
    if is_next_to_hold:
        assignment.lease_next(presentation.annotator, now, rng)
    return label, refusal


def go_on(
    annotator: Annotator,
    likely: ChosenSet | None,
    now: datetime,
    rng: random.Random,
    n_done: int | None,
    *,
    none_open: bool,
    ahead: bool,
) -> tuple[UserError | None, bool]:
    """Open the next presentation and lease the one after it. Return the refusal that says why there is none, and
    whether the one after it is to be leased in a step of its own (assignment.lease_next).

    none_open: whether the annotator is known to have none open and to have answered just now.
    """
    try:
        if none_open and not annotator.screened_out_at:  # as that answer may have had it
            used = assignment.open_next_task(annotator, likely, now, rng, n_done) is not None
        else:
            assignment.open_or_renew(annotator, likely, now, rng)
            check_caps(annotator, now, n_done)
            used, ahead = True, ahead and not assignment.leased_ahead(annotator).exists()
    except CapReached as refusal:  # by an answer that came late, maybe, while another was open
        assignment.release_open_presentation(annotator)
        return refusal, False
    except UserError as refusal:
        assignment.release_ahead(annotator)
        return refusal, False
    if ahead and not used:
        assignment.lease_ahead(annotator, likely, now, rng, n_done)
    return None, ahead and used


def is_late(presentation: Presentation) -> bool:
    """Return whether its lease had run out when it was read: then two sets are counted in one step."""
    return presentation.state == Presentation.State.EXPIRED


def counts_more_sets(presentation: Presentation) -> bool:
    """Return whether storing the answer may count further sets, so that nobody else may count meanwhile."""
    return is_late(presentation) or may_screen_out(presentation)


def write_label(annotator: Annotator, presentation: Presentation, answer: Answer, now: datetime) -> tuple[Label, bool]:
    """Return the label that record_label tells of, and whether it is new, in the annotator's step."""
    project = annotator.project
    items = items_shown(presentation=presentation.pk)
    if presentation.state != Presentation.State.OPEN:
        existing = Label.objects.filter(presentation=presentation).first()
        if existing:
            return existing, False
    check_can_answer(project, annotator, now)
    if not is_asked(project, presentation.task):
        raise TaskChanged
    check_answers(project_for_task(project, presentation.task), answer, len(items))
    check_reading_time(project, presentation, now)
    if presentation.state == Presentation.State.OPEN:
        if not close_answered(id=presentation.pk):  # it was read before the lock
            presentation.refresh_from_db(fields=["state"])
            return write_label(annotator, presentation, answer, now)
        late = False
    else:
        if is_late(presentation):
            check_alone(annotator)
            presentation.refresh_from_db(fields=["state"])
        late = is_beyond_cap(annotator, presentation) or not assignment.reclaim_expired_set(
            project, presentation, items
        )
        state = Presentation.State.VOIDED if late else Presentation.State.ANSWERED
        Presentation.objects.filter(pk=presentation.pk).update(state=state, ahead=False)
    label = insert_label(
        Label(
            project=project,
            presentation=presentation,
            annotator=annotator,
            outcome=answer.outcome,
            chosen_id=None if answer.chosen is None else items[answer.chosen],
            grade=answer.grade,
            comment=answer.comment,
            reason=answer.reason,
            ranks=ranks_of(answer, len(items)),
            created_at=now,
            client_at=answer.client_at,
            response_ms=answer.response_ms,
            active_ms=answer.active_ms,
            session=answer.session,
            language=answer.language,
            app_version=settings.VERSION,
            voided_at=now if late else None,
            void_reason=Label.VoidReason.LATE if late else "",
        )
    )
    if project.criteria:
        write_criterion_answers(project, label, answer, items)
    if any(answer.item_comments):
        write_item_comments(label, answer.item_comments, items)
    note_answer(project, label, now)
    if presentation.purpose == Purpose.PRACTICE and not late:
        update_practice(annotator, now)
    if not late and apply_rule(annotator, presentation.purpose, now):
        label.refresh_from_db(fields=["voided_at", "void_reason"])
    return label, True


def ranks_of(answer: Answer, k: int) -> str:
    """Return Label.ranks; "" of an answer that is no order."""
    return encode_ranks(answer.outcome, answer.order, k, answer.shared) if answer.order else ""


def write_criterion_answers(project: Project, label: Label, answer: Answer, items: list[int]) -> None:
    """Write the answers by the criteria after the first; a task that is skipped is skipped by all."""
    skipped = (Answer(Outcome.SKIP),) * (len(project.criteria) - 1) if answer.outcome == Outcome.SKIP else ()
    CriterionAnswer.objects.bulk_create(
        CriterionAnswer(
            label=label,
            criterion=criterion,
            outcome=one.outcome,
            chosen_id=None if one.chosen is None else items[one.chosen],
            grade=one.grade,
            ranks=ranks_of(one, len(items)),
        )
        for criterion, one in enumerate(answer.further or skipped, start=2)
    )


def update_practice(annotator: Annotator, now: datetime) -> None:
    """Count the answer, and end the practice where it was the last."""
    annotator.practised += 1
    settle_practice(annotator, now)


def settle_practice(annotator: Annotator, now: datetime) -> None:
    """End the practice where all of it is answered: passed, or screened out after the last try."""
    verdict = special_tasks.practice_state(annotator).verdict
    if verdict == special_tasks.PASSED:
        annotator.practice_over_at = now
    elif verdict == special_tasks.FAILED:
        annotator.screened_out_at, annotator.screened_out_by = now, Annotator.ScreeningRule.PRACTICE
        Event.objects.create(
            project=annotator.project, annotator=annotator, verb=EventVerb.ANNOTATOR_SCREENED_OUT, at=now
        )
    annotator.save(update_fields=["practised", "practice_over_at", "screened_out_at", "screened_out_by"])


def check_answers(project: Project, answer: Answer, n_items: int) -> None:
    """Check the answer by each criterion. A task is skipped as a whole or not at all."""
    check_comments(project, answer.outcome, answer.comment, answer.item_comments, n_items)
    if not project.criteria:
        check_answer(project, answer, n_items)
        if answer.further:
            raise InvalidAnswer(_("This project has no criteria; answer its one question."))
        return
    whole = answer.outcome == Outcome.SKIP and not answer.further
    answers = [answer, *answer.further]
    if not whole and len(answers) != len(project.criteria):
        raise InvalidAnswer(
            _("The answer covers %(value)d criteria; the project has %(n)d. Answer each of them.")
            % {"value": len(answers), "n": len(project.criteria)}
        )
    for one, criterion in zip(answers, project.criteria, strict=False):
        if one.outcome == "" or (one.outcome == Outcome.SKIP and not whole):
            raise InvalidAnswer(
                _("“%(criterion)s” has no answer. Choose one, then send.") % {"criterion": criterion["name"]}
            )
        check_answer(project, one, n_items)


def check_answer(project: Project, answer: Answer, n_items: int) -> None:
    allowed = [task_type_of(project).outcome.value, *allowed_extra_outcomes(project)]
    if answer.outcome not in allowed:
        raise InvalidAnswer(
            _("The answer “%(value)s” is not one of this project's: %(allowed)s. Go back and choose one of them.")
            % {"value": answer.outcome[:50], "allowed": ", ".join(allowed)}
        )
    if (answer.outcome == Outcome.CHOICE) != (answer.chosen is not None):
        raise InvalidAnswer(_("A choice names exactly one item; no other answer names any. Go back and choose again."))
    named = answer.order if answer.chosen is None else (answer.chosen,)
    for place in named:
        if not 0 <= place < n_items:
            raise InvalidAnswer(
                _("Item number %(value)d was not shown; there were %(n)d. Go back and choose one of them.")
                % {"value": place + 1, "n": n_items}
            )
    check_order(project, answer, n_items)
    check_grade(project, answer)
    check_comment(project, answer.comment)
    check_reason(project, answer)


def check_reason(project: Project, answer: Answer) -> None:
    asked = answer.outcome == Outcome.SKIP and project.ask_why_skipped
    if asked and not answer.reason:
        raise InvalidAnswer(_("Choose a reason for skipping or write your own, then skip again."))
    if answer.reason and answer.outcome != Outcome.SKIP:
        raise InvalidAnswer(_("You can give a reason only when you skip. Go back and answer again."))
    if len(answer.reason) > MAX_REASON_LENGTH:
        raise InvalidAnswer(
            _("The reason has %(n)d characters; the limit is %(limit)d. Shorten it and skip again.")
            % {"n": len(answer.reason), "limit": MAX_REASON_LENGTH}
        )


def check_grade(project: Project, answer: Answer) -> None:
    graded = answer.outcome == Outcome.CHOICE and task_type_of(project).is_graded
    known = Label.Grade.values if graded else [""]
    if answer.grade not in known:
        raise InvalidAnswer(
            _("The answer does not say how much better. Go back and choose slightly or clearly.")
            if graded
            else _("This project does not ask how much better. Reload the page and choose again.")
        )


def check_order(project: Project, answer: Answer, n_items: int) -> None:
    ordered, n_ranked = is_ordered(answer.outcome), task_type_of(project).n_ranked(project)
    if n_items != project.k:
        raise TaskChanged
    if ordered and len(answer.order) != n_ranked:
        raise InvalidAnswer(
            _("Places given: %(value)d; needed: %(n)d. Give as many as needed, then answer again.")
            % {"value": len(answer.order), "n": n_ranked}
        )
    if len(set(answer.order)) != len(answer.order) or (answer.order and not ordered):
        raise InvalidAnswer(_("The answer names an item twice. Give each item one place."))
    if answer.shared and not task_type_of(project).shares_places(project):
        raise InvalidAnswer(_("In this project each item has a place of its own. Give no two items the same place."))
    wrong = next((index for index in answer.shared if not 1 <= index < len(answer.order)), None)
    if wrong is not None:
        raise InvalidAnswer(
            _("“shared” names %(value)d; it takes 1 to %(most)d, counted from 0 in “order”.")
            % {"value": wrong, "most": len(answer.order) - 1}
        )


def is_beyond_cap(annotator: Annotator, presentation: Presentation) -> bool:
    """Return whether others have been answered since it was handed out, as many as the annotator may answer."""
    cap = annotator.project.cap
    return cap is not None and presentation.purpose != Purpose.PRACTICE and n_counted_labels(annotator) >= cap
