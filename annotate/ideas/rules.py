"""Whether an idea can be taken now: the project's switch and items, its limits, the person's standing."""

from datetime import datetime

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.errors import AnnotatorExcluded, ScreenedOut, UserError
from annotate.labelling.eligibility import check_open
from annotate.labelling.requirements import check_requirements
from annotate.models import MAX_IDEAS, Annotator, Idea, Item, Project


class IdeasClosed(UserError):
    def __init__(self) -> None:
        super().__init__(_("This project takes no ideas, so nothing was sent. You can still answer."))


class IdeasNotPossible(UserError):
    def __init__(self, n: int) -> None:
        super().__init__(
            ngettext(
                "Ideas are plain texts, but %(n)d item of this project is not, or has a context. Retire it, or start a "
                "project of texts.",
                "Ideas are plain texts, but %(n)d items of this project are not, or have a context. Retire them, or "
                "start a project of texts.",
                n,
            )
            % {"n": n}
        )


class TooManyIdeas(UserError):
    def __init__(self, limit: int, *, own: bool) -> None:
        if own:
            text = _("You have added %(limit)d ideas, which is all that this project takes from one person. Thank you!")
        else:
            text = _("This project has %(limit)d ideas, which is the limit, so yours was not sent.")
        super().__init__(text % {"limit": limit})


class IdeaTooLong(UserError):
    status = 400

    def __init__(self, n: int, limit: int) -> None:
        super().__init__(
            _("Your idea has %(n)d characters; the limit is %(limit)d. Shorten it.") % {"n": n, "limit": limit}
        )


class IdeaEmpty(UserError):
    status = 400

    def __init__(self) -> None:
        super().__init__(_("Write your idea first."))


def check_possible(project: Project) -> None:
    """Raise IdeasNotPossible where items are no plain texts, or are compared within contexts only."""
    others = project.items.filter(retired_at=None).exclude(Q(kind=Item.Kind.TEXT) & Q(context=None)).count()
    if others:
        raise IdeasNotPossible(others)


def check_can_add(annotator: Annotator, now: datetime) -> None:
    """Raise what keeps this person from adding an idea; who has finished may still add one."""
    project = annotator.project
    if annotator.excluded_at:
        raise AnnotatorExcluded
    if annotator.screened_out_at:
        raise ScreenedOut
    check_open(project, now)
    if not project.ideas_open:
        raise IdeasClosed
    check_requirements(project, annotator)


def check_room(annotator: Annotator) -> None:
    """Raise TooManyIdeas. Refused ideas count too: each was read by somebody."""
    project = annotator.project
    if Idea.objects.filter(annotator=annotator).count() >= project.ideas_each:
        raise TooManyIdeas(project.ideas_each, own=True)
    if project.ideas.count() >= MAX_IDEAS:
        raise TooManyIdeas(MAX_IDEAS, own=False)


def clean_idea(text: str, limit: int) -> str:
    """Return the text on one line, without what no database takes; raises IdeaEmpty and IdeaTooLong."""
    line = " ".join(text.replace("\0", "").split())
    if not line:
        raise IdeaEmpty
    if len(line) > limit:
        raise IdeaTooLong(len(line), limit)
    return line
