"""Making annotators and keeping their settings; one form sent twice makes one annotator."""

from collections.abc import Mapping

from django.db import IntegrityError

from annotate import pseudonyms
from annotate.errors import NotOpen, PseudonymTaken
from annotate.models import Annotator, Project, User
from annotate.writing import writing


def join(*, project: Project, pseudonym: str, resume_token: str) -> Annotator:
    """The annotator of a join link's form; `resume_token` is the form's own, by which a form sent again finds its own.

    Raises NotOpen and PseudonymTaken.
    """
    own = {"resume_token": resume_token}
    return find(project, own) or create(project, pseudonym, Annotator.Source.LINK, own)


def join_with_account(*, project: Project, pseudonym: str, user: User) -> Annotator:
    """The annotator of a member of the project. Raises NotOpen and PseudonymTaken."""
    own = {"user": user}
    return find(project, own) or create(project, pseudonym, Annotator.Source.ACCOUNT, own)


def set_shortcuts(*, annotator: Annotator, on: bool) -> None:
    annotator.shortcuts = on
    Annotator.objects.filter(pk=annotator.pk).update(shortcuts=on)


def set_keys(*, annotator: Annotator, chosen: dict[str, str]) -> None:
    """chosen: the keys that differ from annotate.keys.DEFAULTS."""
    annotator.keys = chosen
    Annotator.objects.filter(pk=annotator.pk).update(keys=chosen)


def find(project: Project, own: Mapping[str, User | str]) -> Annotator | None:
    return Annotator.objects.filter(project=project, **own).first()


def create(project: Project, pseudonym: str, source: Annotator.Source, own: Mapping[str, User | str]) -> Annotator:
    if project.state != Project.State.OPEN:
        raise NotOpen(project.state)
    if pseudonyms.is_taken(project, pseudonym):
        raise PseudonymTaken(pseudonym)
    try:
        with writing():
            return Annotator.objects.create(project=project, pseudonym=pseudonym, source=source, **own)
    except IntegrityError:
        twin = find(project, own)  # the same form, sent twice at once
        if twin is None:
            raise PseudonymTaken(pseudonym) from None
        return twin
