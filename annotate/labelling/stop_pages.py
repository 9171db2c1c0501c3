"""Why an annotator is asked nothing, as it is told: heading, words, and what can be done."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotate.core.errors import (
    AnnotatorExcluded,
    CapReached,
    NothingToCompare,
    ProjectNotOpen,
    ScreenedOut,
    SittingCapReached,
    UserError,
)
from annotate.labelling.requirements import StepRequired


@dataclass(frozen=True)
class StopPage:
    """Why nothing is asked; `again` where looking once more may help, `undo` where answers may still change."""

    heading: str
    text: str
    again: bool
    undo: bool
    page: str = ""  # what to show instead (Detour.page)
    is_end: bool = False  # the annotator's part is over


def is_end(refusal: UserError | None) -> bool:
    """Return whether what is said instead of a task is the end of one's part."""
    closed = isinstance(refusal, ProjectNotOpen) and refusal.state in ("closed", "over")
    return closed or isinstance(refusal, CapReached | NothingToCompare | ScreenedOut)


def stop_page(refusal: UserError, n_done: int) -> StopPage:
    if isinstance(refusal, ProjectNotOpen):
        headings = {
            "paused": _("Paused"),
            "closed": _("Closed"),
            "over": _("Closed"),
            "draft": _("Not open yet"),
            "early": _("Not open yet"),
        }
        again = refusal.state not in ("closed", "over")
        thanks = _("Thank you for your answers: they are safe.")
        text = f"{refusal} {thanks}" if n_done else str(refusal)
        return StopPage(headings[refusal.state], text, again, undo=False, is_end=is_end(refusal) and n_done > 0)
    if isinstance(refusal, StepRequired):
        return StopPage("", str(refusal), again=False, undo=False, page=refusal.page)
    if isinstance(refusal, ScreenedOut):
        return StopPage(_("Thank you for trying"), str(refusal), again=False, undo=False, is_end=True)
    if isinstance(refusal, AnnotatorExcluded):
        return StopPage(_("You can't answer here"), str(refusal), again=False, undo=False)
    if isinstance(refusal, SittingCapReached):
        return StopPage(_("Enough for now"), str(refusal), again=True, undo=True)
    heading = _("All done") if n_done else _("Nothing to compare now")
    return StopPage(heading, str(refusal), isinstance(refusal, NothingToCompare), undo=True, is_end=is_end(refusal))
