"""Checks and stores comments: on the whole answer, and on each item shown."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from annotate.core.errors import InvalidAnswer
from annotate.labelling.outcomes import LETTERS
from annotate.models import MAX_COMMENT_LENGTH, ItemComment, Label, Project

NEEDS_NONE = (Label.Outcome.SKIP, Label.Outcome.CANT_JUDGE)


def check_comments(project: Project, outcome: str, comment: str, on_items: Sequence[str], n_items: int) -> None:
    """Check that comments are there where the project needs them, and those on items in every way."""
    needed = project.comment_required and outcome not in NEEDS_NONE
    if needed and project.comments and not comment:
        raise InvalidAnswer(
            _("This project asks for a comment with each answer. Write one below the items, then send.")
        )
    check_item_comments(project, on_items, n_items)
    missing = [LETTERS[place] for place in range(n_items) if place >= len(on_items) or not on_items[place]]
    if needed and project.item_comments and missing:
        raise InvalidAnswer(
            _("This project asks for a comment on each item. Write one on %(letters)s, then send.")
            % {"letters": ", ".join(missing)}
        )


def check_item_comments(project: Project, on_items: Sequence[str], n_items: int) -> None:
    if len(on_items) > n_items:
        raise InvalidAnswer(
            _("There are %(value)d comments on items; %(n)d items were shown. Send one for each item.")
            % {"value": len(on_items), "n": n_items}
        )
    for comment in on_items:
        check_text(comment, allowed=project.item_comments)


def check_comment(project: Project, comment: str) -> None:
    check_text(comment, allowed=project.comments)


def check_text(comment: str, *, allowed: bool) -> None:
    if comment and not allowed:
        raise InvalidAnswer(_("This project no longer accepts comments. Go back, remove yours and answer again."))
    if len(comment) > MAX_COMMENT_LENGTH:
        raise InvalidAnswer(
            _("The comment has %(n)d characters; the limit is %(limit)d. Shorten it and answer again.")
            % {"n": len(comment), "limit": MAX_COMMENT_LENGTH}
        )


def write_item_comments(label: Label, on_items: Sequence[str], items: Sequence[int]) -> None:
    """Store the comments on items.   items: those shown, in their order."""
    ItemComment.objects.bulk_create(
        ItemComment(label=label, item_id=item, text=text) for item, text in zip(items, on_items, strict=False) if text
    )
