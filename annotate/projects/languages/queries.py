"""Reads how far a project is translated, and the items to be translated, page by page."""

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, OuterRef, QuerySet

from annotate.core.languages import language_name
from annotate.labelling.wording import missing_words
from annotate.models import Item, ItemTranslation, Project, ProjectTranslation

PAGE_SIZE = 20


@dataclass(frozen=True)
class LanguageState:
    """missing: names of the words that are not translated. n_missing: of n_items in use, those without a text."""

    code: str
    missing: list[str]
    n_missing: int
    n_items: int
    translation: ProjectTranslation | None

    @property
    def name(self) -> str:
        return language_name(self.code)


@dataclass(frozen=True)
class ItemToTranslate:
    item: Item
    body: str
    title: str


def language_states(project: Project) -> list[LanguageState]:
    """Return one for each further language, in three queries."""
    words = {one.language: one for one in ProjectTranslation.objects.filter(project=project)}
    active = ItemTranslation.objects.filter(item__project=project, item__retired_at=None).exclude(body="")
    n_translated = dict(active.order_by().values_list("language").annotate(n=Count("pk")))
    n_items = project.items.filter(retired_at=None).count()
    return [
        LanguageState(
            code,
            missing_words(project, words.get(code)),
            n_items - n_translated.get(code, 0),
            n_items,
            words.get(code),
        )
        for code in project.languages
    ]


def items_without(project: Project, language: str) -> QuerySet[Item]:
    """Return the items in use that have no text in this language."""
    has = ItemTranslation.objects.filter(item=OuterRef("pk"), language=language).exclude(body="")
    return project.items.filter(~Exists(has), retired_at=None)


def items_to_translate(
    project: Project, language: str, *, only_missing: bool, number: str | None
) -> tuple[Page[Any], list[ItemToTranslate]]:
    items = items_without(project, language) if only_missing else project.items.filter(retired_at=None)
    page = Paginator(items.order_by("pk"), PAGE_SIZE).get_page(number)
    shown = list(page)
    known = {one.item_id: one for one in ItemTranslation.objects.filter(item__in=shown, language=language)}
    return page, [
        ItemToTranslate(item, known[item.pk].body, known[item.pk].name)
        if item.pk in known
        else ItemToTranslate(item, "", "")
        for item in shown
    ]
