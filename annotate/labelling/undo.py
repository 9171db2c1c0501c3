"""Takes the last answer back and asks the same again."""

from datetime import datetime

from annotate.core.errors import NothingToUndo
from annotate.core.transactions import write_transaction
from annotate.jobs.fit_requests import request_fit
from annotate.labelling import assignment, special_tasks
from annotate.labelling.eligibility import check_can_answer, counted_labels
from annotate.locks import lock_annotator
from annotate.models import Annotator, Event, EventVerb, Label, Presentation
from annotate.webhooks.answers import note_answer


def undo_label(*, annotator: Annotator, now: datetime, token: str | None = None) -> Presentation:
    """Voids the annotator's last unvoided label and opens the same items in the same order again.

    `token` names the presentation whose label is meant: sent twice, it undoes once. A presentation that was open
    meanwhile goes back to the pool. Raises NothingToUndo, ProjectNotOpen, AnnotatorExcluded.
    """
    with write_transaction():
        annotator = lock_annotator(annotator, exclusive=True)  # the set of what is open and the one held ahead
        project = annotator.project
        check_can_answer(project, annotator, now)
        label = counted_labels(annotator).select_related("presentation").order_by("-created_at", "-pk").first()
        if token and (label is None or label.presentation.token != token):
            return presentation_reopened(annotator, token)
        if label is None:
            raise NothingToUndo
        if special_tasks.conflicting_items(annotator).intersection(
            label.presentation.presented.values_list("item_id", flat=True)
        ):
            raise NothingToUndo
        assignment.release_open_presentation(annotator)
        label.voided_at, label.void_reason = now, Label.VoidReason.UNDONE
        label.save(update_fields=["voided_at", "void_reason"])
        old = label.presentation
        old.state = Presentation.State.VOIDED
        old.save(update_fields=["state"])
        items = list(old.presented.values_list("item_id", flat=True))
        presentation = assignment.reopen_presentation(
            annotator=annotator, items=items, now=now, reopens=old, take=False
        )
        Event.objects.create(
            project=project, annotator=annotator, verb=EventVerb.LABEL_UNDONE, details={"label": label.pk}, at=now
        )
        note_answer(project, label, now, undone=True)
        request_fit(project)
        return presentation


def presentation_reopened(annotator: Annotator, token: str) -> Presentation:
    """Return the open presentation that undoing this one's label led to before."""
    presentation = annotator.presentations.filter(reopens__token=token, state=Presentation.State.OPEN).first()
    if presentation is None:
        raise NothingToUndo(since=True)
    return presentation
