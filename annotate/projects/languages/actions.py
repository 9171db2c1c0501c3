"""Changes a project's languages and its words in each of them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.items.translations import MAX_LANGUAGES, ShownInLanguage, TooManyLanguages, labels_in
from annotate.locks import lock_project
from annotate.models import ContextTranslation, EventVerb, ItemTranslation, Project, ProjectTranslation, User
from annotate.projects.actions import FIXED_BY_LABELS

FIXED = {*FIXED_BY_LABELS, "criteria"} & {*ProjectTranslation.WORDS, "criteria"}


class OwnLanguageMissing(UserError):
    def __init__(self) -> None:
        super().__init__(_("Say first in which language your own words and items are, then add others."))


class UnknownQuestion(UserError):
    status = 422

    def __init__(self, number: int) -> None:
        super().__init__(
            _("The questionnaire has no question with the number %(n)d, or not with so many choices.") % {"n": number}
        )


class SameChoices(UserError):
    status = 422

    def __init__(self, text: str) -> None:
        super().__init__(
            _("Two choices of one question would both read “%(text)s”. Tell them apart by their words.")
            % {"text": text}
        )


def checked_questions(project: Project, given: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the translated questions by number, empty ones left out. Raises UnknownQuestion and SameChoices."""
    own = {field.number: field for field in project.fields.filter(retired_at=None)}
    kept = {}
    for one in given:
        field, choices = own.get(one["number"]), list(one.get("choices", []))
        if field is None or (choices and len(choices) != len(field.choices)):
            raise UnknownQuestion(one["number"])
        shown = [text or mine for text, mine in zip(choices, field.choices, strict=False)]
        for text in shown:
            if shown.count(text) > 1:
                raise SameChoices(text)
        if one.get("label") or any(choices):
            kept[field.number] = {"number": field.number, "label": one.get("label", ""), "choices": choices}
    return [kept[number] for number in sorted(kept)]


def set_languages(*, project: Project, actor: User, language: str, languages: Sequence[str], now: datetime) -> Project:
    """Set the own and the further languages; what was translated into one that goes is deleted.

    Raises TooManyLanguages, OwnLanguageMissing, and ShownInLanguage where people have answered in one that would go.
    """
    wanted = [one for one in dict.fromkeys(languages) if one != language]
    if len(wanted) > MAX_LANGUAGES:
        raise TooManyLanguages(len(wanted))
    if wanted and not language:
        raise OwnLanguageMissing
    with write_transaction():
        project = lock_project(project.pk)
        if (project.language, project.languages) == (language, wanted):
            return project
        gone = {*project.languages} - {*wanted}
        for one in sorted(gone | ({project.language} - {language, ""})):
            if labels_in(project, one).exists():
                raise ShownInLanguage(one)
        ProjectTranslation.objects.filter(project=project, language__in=gone).delete()
        ItemTranslation.objects.filter(item__project=project, language__in=gone).delete()
        ContextTranslation.objects.filter(context__project=project, language__in=gone).delete()
        project.language, project.languages = language, wanted
        project.save(update_fields=["language", "languages"])
        record_event(project, actor, EventVerb.LANGUAGES_CHANGED, now, language=language, languages=", ".join(wanted))
    return project


def translate_words(
    *, project: Project, actor: User, language: str, words: dict[str, Any], now: datetime
) -> ProjectTranslation:
    """Set the project's words in one of its further languages; words left out stay as they are.

    Raises ShownInLanguage for what people have been asked in it; what was missing may still be added.
    """
    with write_transaction():
        project = lock_project(project.pk)
        found = ProjectTranslation.objects.filter(project=project, language=language).first()
        found = found or ProjectTranslation(project=project, language=language)
        if "questions" in words:
            words = words | {"questions": checked_questions(project, words["questions"])}
        if "consent" in words:
            words = words | {"consent_of": project.consent_version if words["consent"] else ""}
        changed = {name: text for name, text in words.items() if getattr(found, name) != text}
        reworded = [name for name in changed if name in FIXED and getattr(found, name)]
        if reworded and labels_in(project, language).exists():
            raise ShownInLanguage(language)
        for name, text in changed.items():
            setattr(found, name, text)
        if changed:
            found.save()
            record_event(
                project,
                actor,
                EventVerb.WORDS_TRANSLATED,
                now,
                language=language,
                words=sorted({*changed} - {"consent_of"}) or ["consent"],
            )
    return found
