"""Errors that people can mend themselves: each message names the value, the limit and the next step."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.core.exceptions import ObjectDoesNotExist
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

logger = logging.getLogger("annotate.database")
BROKEN_REFERENCE = "23503"  # PostgreSQL's code; SQLite has words alone


class UserError(Exception):
    """Raised by actions; `str(error)` is shown to the person who asked, with the HTTP `status`.

    code: ends the type of the API's problem details, which programs rely on: it stays where the class gets another
    name. "": the class's name with dashes.
    """

    status = 409
    code = ""


def format_moment(at: datetime | None) -> str:
    """Format a moment in the site's time zone, with the zone's name."""
    return date_format(timezone.localtime(at), _("j F Y, H:i e"))


class ProjectNotOpen(UserError):
    """state: one of Project.State, or “early” or “over” outside the project's hours, which begin or ended `at`."""

    code = "not-open"

    def __init__(self, state: str, at: datetime | None = None) -> None:
        self.state = state
        if state == "early":
            text = _("This project opens on %(at)s. Come back then.") % {"at": format_moment(at)}
        elif state == "over":
            text = _("This project took answers until %(at)s and is over now.") % {"at": format_moment(at)}
        elif state == "paused":
            text = _("This project is paused. Please come back later.")
        elif state == "closed":
            text = _("This project is closed and takes no more answers.")
        else:
            text = _("This project is not open yet. Ask the person who sent you the link when it opens.")
        super().__init__(text)


class ProjectArchived(UserError):
    code = "archived"

    def __init__(self) -> None:
        super().__init__(
            _(
                "This project is archived, so nothing was changed. You can still view and export it. To change it, "
                "bring it back first, at the top of its settings."
            )
        )


class LabelsArchived(UserError):
    """Answers were asked for that are in a file of the site's, and not in the database."""

    code = "labels-archived"

    def __init__(self) -> None:
        super().__init__(
            _(
                "The answers of this project are kept in an archive file, so nothing was done. Ask whoever runs this "
                "site to bring them back (manage.py restore_labels), and try again."
            )
        )


class AnnotatorExcluded(UserError):
    code = "excluded"
    status = 403

    def __init__(self) -> None:
        super().__init__(_("You can no longer answer in this project. If you think that is a mistake, ask its owner."))


class AnnotatorErased(UserError):
    """Something came from somebody whose data were erased meanwhile."""

    code = "erased"

    status = 410

    def __init__(self) -> None:
        super().__init__(
            _(
                "Your answers and all other data about you in this project have been erased, so nothing was saved. "
                "To take part again, open the link that you were sent."
            )
        )


class ItemsDeleted(UserError):
    """Items were named that somebody has deleted meanwhile."""

    def __init__(self) -> None:
        super().__init__(_("Somebody has just deleted items that are named here. Check them, then try again."))


class ChangedMeanwhile(UserError):
    """A row refers to one that was deleted meanwhile, or is deleted while another comes to refer to it."""

    def __init__(self) -> None:
        super().__init__(
            _("Somebody has just changed or deleted what this is about, so nothing was saved. Reload it and try again.")
        )


class ScreenedOut(UserError):
    status = 403

    def __init__(self, rule: str = "") -> None:
        super().__init__(
            _(
                "Your practice answers differ too much from the expected ones, so your part ends here. That "
                "says nothing about you beyond this task. You need not do anything else. Thank you!"
            )
            if rule in ("", "practice")
            else _(
                "Some of your answers to tasks that check attention differ from the expected ones, so your part ends "
                "here. The rule was set beforehand and is the same for everybody. You need not do anything else. "
                "Thank you!"
            )
        )


class CapReached(UserError):
    def __init__(self, cap: int) -> None:
        super().__init__(
            ngettext(
                "Thank you! You have given %(cap)d answer, which is all that this project asks of one person.",
                "Thank you! You have given %(cap)d answers, which is all that this project asks of one person.",
                cap,
            )
            % {"cap": cap}
        )


class SittingCapReached(UserError):
    code = "sitting-over"

    def __init__(self, cap: int, again_at: datetime) -> None:
        super().__init__(
            _(
                "You have given %(cap)d answers in one sitting, which is the limit of this project. Have a "
                "rest: you can continue from %(at)s."
            )
            % {"cap": cap, "at": format_moment(again_at)}
        )


class AnsweredTooSoon(UserError):
    """An answer before the items could be read."""

    code = "too-soon"

    def __init__(self, seconds: int, left: timedelta) -> None:
        self.left = left
        super().__init__(
            ngettext(
                "That was quick: please take at least %(n)d second for each task. Look once more, then answer again.",
                "That was quick: please take at least %(n)d seconds for each task. Look once more, then answer again.",
                seconds,
            )
            % {"n": seconds}
        )


class NothingToCompare(UserError):
    def __init__(self, n_items: int, k: int) -> None:
        if n_items < k:
            text = ngettext(
                "This project has %(n)d item, but each task needs at least %(k)d. Its owner can add some.",
                "This project has %(n)d items, but each task needs at least %(k)d. Its owner can add some.",
                n_items,
            ) % {"n": n_items, "k": k}
        else:
            text = _(
                "Thank you for coming! All questions have been answered for now, or you have answered them already."
            )
        super().__init__(text)


class InvalidAnswer(UserError):
    """An answer that the presentation or the project does not allow."""

    code = "bad-answer"

    status = 400


class TaskChanged(InvalidAnswer):
    def __init__(self) -> None:
        super().__init__(_("This project's task has changed. Reload the page and continue with the next task."))


class NothingToUndo(UserError):
    def __init__(self, since: bool = False) -> None:
        if since:
            text = _(
                "Nothing was undone: you have answered another task since then, and you can only undo your latest "
                "answer."
            )
        else:
            text = _("You have no answer to undo.")
        super().__init__(text)


class PseudonymTaken(UserError):
    def __init__(self, pseudonym: str) -> None:
        super().__init__(
            _(
                "The name “%(name)s” is already taken in this project. If it is yours, you can go on: open your "
                "personal link here. It was sent to you, or the device where you joined shows it in Help beside each "
                "task and, with a QR code, under “Your answers”. If it is not yours, choose another name."
            )
            % {"name": pseudonym}
        )


class LinkExpired(UserError):
    code = "link-over"
    status = 410

    def __init__(self) -> None:
        super().__init__(
            _("This link no longer works: it has expired or was revoked. Ask the person who sent it for a new one.")
        )


class RateLimited(UserError):
    code = "too-many"
    status = 429

    def __init__(self, wait_seconds: float | None) -> None:
        self.wait_seconds = seconds = max(1, round(wait_seconds or 60))
        super().__init__(
            _("Too many requests from here. Wait %(seconds)d seconds and try again.") % {"seconds": seconds}
        )


def is_broken_reference(error: Exception) -> bool:
    """Tell whether the database refused a reference; it is logged, since a mistake of ours would look the same."""
    broken = isinstance(error, IntegrityError) and (
        getattr(error.__cause__, "sqlstate", None) == BROKEN_REFERENCE or "FOREIGN KEY" in str(error)
    )
    if broken:
        logger.warning("A row that is referred to has gone, or one that goes is referred to.", exc_info=error)
    return broken


class UserErrorMiddleware:
    """Turns a UserError that a view let through into a page (for htmx, a fragment) with the error's status.

    A row that has gone since it was found is not found, as in the API (api/problems.py).
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, ObjectDoesNotExist):
            logger.warning("A row that was looked for is not there.", exc_info=exception)  # or a mistake of ours
            raise Http404 from exception
        if is_broken_reference(exception):
            exception = ChangedMeanwhile()
        if not isinstance(exception, UserError):
            return None
        template = "components/user_error.html" if getattr(request, "htmx", False) else "user_error.html"
        return render(request, template, {"error": exception}, status=exception.status)
