"""Why an annotator is asked nothing, as it is told: heading, words, and what can be done."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotate.entering import Detour
from annotate.errors import CapReached, Excluded, NothingToCompare, NotOpen, Refusal, ScreenedOut, SittingOver


@dataclass(frozen=True)
class Stop:
    """Why nothing is asked; `again` where looking once more may help, `undo` where answers may still change."""

    heading: str
    text: str
    again: bool
    undo: bool
    page: str = ""  # what to show instead (Detour.page)
    is_end: bool = False  # the annotator's part is over


def is_end(refusal: Refusal | None) -> bool:
    """Whether what is said instead of a task is the end of one's part."""
    closed = isinstance(refusal, NotOpen) and refusal.state in ("closed", "over")
    return closed or isinstance(refusal, CapReached | NothingToCompare | ScreenedOut)


def stop_of(refusal: Refusal, n_done: int) -> Stop:
    if isinstance(refusal, NotOpen):
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
        return Stop(headings[refusal.state], text, again, undo=False, is_end=is_end(refusal) and n_done > 0)
    if isinstance(refusal, Detour):
        return Stop("", str(refusal), again=False, undo=False, page=refusal.page)
    if isinstance(refusal, ScreenedOut):
        return Stop(_("Thank you for trying"), str(refusal), again=False, undo=False, is_end=True)
    if isinstance(refusal, Excluded):
        return Stop(_("You can't answer here"), str(refusal), again=False, undo=False)
    if isinstance(refusal, SittingOver):
        return Stop(_("Enough for now"), str(refusal), again=True, undo=True)
    heading = _("All done") if n_done else _("Nothing to compare now")
    return Stop(heading, str(refusal), isinstance(refusal, NothingToCompare), undo=True, is_end=is_end(refusal))
