"""What owners wrote, in the language that a visitor wants: their words about the project, and the items' texts."""

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.translation import get_language

from annotate.core.languages import language_name, matching_language, wanted_languages
from annotate.models import Context, ContextTranslation, Item, ItemTranslation, Project, ProjectTranslation

MIXED = "/"  # between the language asked for and the own one, where part of what was shown lacked the translation


@dataclass(frozen=True)
class LanguageChoice:
    code: str
    name: str
    is_current: bool


@dataclass(frozen=True)
class Wording:
    """project: a copy with the words of this language, for pages alone; it is never saved.

    language: one of the project's further languages, or "" for its own. is_partial: whether words are missing in it.
    has_own_meaning: whether what a higher place means is in the own language all the same.
    """

    project: Project
    language: str = ""
    is_partial: bool = False
    has_own_meaning: bool = False

    @property
    def shown(self) -> str:
        """Return the language of the project's words; empty where the owner has not said which one is their own."""
        return self.language or self.project.language

    @property
    def words_language(self) -> str:
        """Return the same for an attribute of the page: empty where some of the words may be in another language."""
        return "" if self.is_partial else self.shown

    @property
    def is_meaning_in_page_language(self) -> bool:
        """Tell whether what a higher place means may stand in a sentence of the site; so it may where nobody said
        which language it is in."""
        found = self.project.language if self.has_own_meaning else self.shown
        return not found or found.partition("-")[0] == (get_language() or "").partition("-")[0]


def wording_of(project: Project, language: str) -> Wording:
    """Return the project's words in this language, in one query; the project itself where it is the own language."""
    if not language:
        return Wording(project)
    found = ProjectTranslation.objects.filter(project=project.pk, language=language).first()
    words = copy.copy(project)
    if found is None:
        return Wording(words, language, is_partial=True, has_own_meaning=True)
    missing = missing_words(project, found, besides=("name", "instructions"))
    for name in ProjectTranslation.WORDS:
        if translated := getattr(found, name):
            setattr(words, name, translated)
    words.criteria = translated_criteria(project.criteria, found.criteria)
    return Wording(words, language, is_partial=bool(missing), has_own_meaning=not found.more_means)


def translated_criteria(own: Sequence[dict[str, str]], translated: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return the criteria with the words that are translated."""
    pairs = zip(own, [*translated, *[{}] * len(own)], strict=False)
    return [{**one, **{name: text for name, text in other.items() if text}} for one, other in pairs]


def missing_words(project: Project, translation: ProjectTranslation | None, besides: Collection[str] = ()) -> list[str]:
    """Return the names of what the project says and the translation does not, but for those in `besides`."""
    besides = {*besides, "question"} if project.criteria else besides
    words = [name for name in ProjectTranslation.WORDS if name not in besides and getattr(project, name)]
    missing = [name for name in words if translation is None or not getattr(translation, name)]
    criteria = translation.criteria if translation else []
    for number, criterion in enumerate(project.criteria, start=1):
        given = criteria[number - 1] if number <= len(criteria) else {}
        missing += [f"criterion {number}"] if any(criterion[name] and not given.get(name) for name in criterion) else []
    return missing


def content_language(request: HttpRequest, project: Project) -> str:
    """Return which of the project's further languages the visitor wants most; "" for its own, or where it has none."""
    if not project.languages or not project.language:
        return ""
    for wanted in wanted_languages(request):
        if wanted and (found := matching_language(wanted, [project.language, *project.languages])):
            return "" if found == project.language else found
    return ""


def requested_wording(request: HttpRequest, project: Project) -> Wording:
    return wording_of(project, content_language(request, project))


def language_choices(project: Project, current: str) -> list[LanguageChoice]:
    """Return the project's languages in their own words, the own one first; none where there is no choice."""
    codes = [project.language, *project.languages] if project.language else []
    chosen = current or project.language
    return [LanguageChoice(code, language_name(code), code == chosen) for code in codes] if len(codes) > 1 else []


def item_texts(items: Iterable[int], language: str) -> dict[int, ItemTranslation]:
    """Return the translations by the item's primary key, in one query; none for the own language."""
    if not language:
        return {}
    found = ItemTranslation.objects.filter(item__in=list(items), language=language)
    return {one.item_id: one for one in found}


def translate_items(items: Iterable[Item], language: str) -> None:
    """Give items, for pages alone, text and title of this language where they have them; never save them after."""
    shown = list(items)
    texts = item_texts([item.pk for item in shown], language)
    for item in shown:
        if found := texts.get(item.pk):
            item.body, item.name = found.body or item.body, found.name or item.name


def translate_context(context: Context | None, wording: "Wording") -> bool:
    """Give a context, for pages alone, the text of this language; return whether it lacks one."""
    if context is None:
        return False
    language = wording.language
    found = ContextTranslation.objects.filter(context=context, language=language).first() if language else None
    context.body = found.body if found else context.body
    context.language = language if found else wording.project.language  # type: ignore[attr-defined]
    return bool(language) and found is None


@dataclass(frozen=True)
class TranslatedRows:
    """rows: (item, kind, body, title, ...). missing, untitled: the items without a text, a title of this language."""

    rows: list[tuple[Any, ...]]
    missing: set[int]
    untitled: set[int]


def translate_rows(rows: Sequence[tuple[Any, ...]], language: str) -> TranslatedRows:
    """Give rows (item, kind, body, title, ...) the texts and titles of this language."""
    texts = item_texts([row[0] for row in rows], language)
    bodies = {pk: text.body for pk, text in texts.items() if text.body}
    titles = {pk: text.name for pk, text in texts.items() if text.name}
    return TranslatedRows(
        [(pk, kind, bodies.get(pk, body), titles.get(pk, name), *rest) for pk, kind, body, name, *rest in rows],
        {row[0] for row in rows if language and row[0] not in bodies},
        {row[0] for row in rows if language and row[3] and row[0] not in titles},
    )


def shown_language(wording: Wording, missing: Collection[int], *, lacks_context: bool = False) -> str:
    """Return what a label says of the language in which it was asked.

    fr: all of it was French; fr/en: French was wanted, and what lacked it was in the own language.
    """
    if not wording.language:
        return wording.project.language
    is_mixed = bool(missing) or lacks_context or wording.is_partial
    return f"{wording.language}{MIXED}{wording.project.language}" if is_mixed else wording.language


def is_shown_language(text: str, project: Project) -> bool:
    """Tell whether `shown_language` may have returned this for the project."""
    asked, _mixed, own = text.partition(MIXED)
    return text == project.language or (asked in project.languages and own in ("", project.language))
