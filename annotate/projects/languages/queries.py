"""Reads how far a project is translated, and the items to be translated, page by page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotate.core.languages import language_in_sentences, language_name
from annotate.labelling.wording import missing_words
from annotate.models import (
    Context,
    ContextTranslation,
    Item,
    ItemTranslation,
    ParticipationRules,
    Project,
    ProjectTranslation,
    QuestionField,
)
from annotate.participation.questionnaire.queries import asked_questions
from annotate.participation.rules import participation_rules

PAGE_SIZE = 20


@dataclass(frozen=True)
class LanguageState:
    """missing: names of the words that are not translated. n_missing: of n_items in use, those without a text."""

    code: str
    missing: list[str]
    n_missing: int
    n_items: int
    n_contexts_missing: int
    n_contexts: int
    translation: ProjectTranslation | None

    @property
    def name(self) -> str:
        return language_name(self.code)

    @property
    def name_in_sentences(self) -> str:
        return language_in_sentences(self.code)


@dataclass(frozen=True)
class ContextToTranslate:
    context: Context
    body: str


@dataclass(frozen=True)
class ItemToTranslate:
    item: Item
    body: str
    title: str


def language_states(project: Project) -> list[LanguageState]:
    """Return one for each further language, in seven queries."""
    words = {one.language: one for one in ProjectTranslation.objects.filter(project=project)}
    active = ItemTranslation.objects.filter(item__project=project, item__retired_at=None).exclude(body="")
    n_translated = dict(active.order_by().values_list("language").annotate(n=Count("pk")))
    n_items = project.items.filter(retired_at=None).count()
    contexts = ContextTranslation.objects.filter(context__project=project)
    n_in_context = dict(contexts.order_by().values_list("language").annotate(n=Count("pk")))
    n_contexts = project.contexts.count()
    rules, fields = participation_rules(project), asked_questions(project)
    return [
        LanguageState(
            code,
            [*missing_words(project, words.get(code)), *missing_texts(project, rules, fields, words.get(code))],
            n_items - n_translated.get(code, 0),
            n_items,
            n_contexts - n_in_context.get(code, 0),
            n_contexts,
            words.get(code),
        )
        for code in project.languages
    ]


def missing_texts(
    project: Project,
    rules: ParticipationRules,
    fields: Sequence[QuestionField],
    translation: ProjectTranslation | None,
) -> list[str]:
    """Return the names of what people read before and after the tasks that is not translated."""
    found = translation or ProjectTranslation()
    missing = []
    if rules.consent and not (found.consent and found.consent_of == project.consent_version):
        missing.append("consent")
    if rules.thanks and not found.thanks:
        missing.append("thanks")
    questions = {one["number"]: one for one in found.questions}
    for field in fields:
        one = questions.get(field.number, {})
        if not one.get("label") or not all([*one.get("choices", [""] * len(field.choices))]):
            missing.append(f"question {field.number}")
    return missing


def items_without(project: Project, language: str) -> QuerySet[Item]:
    """Return the items in use that have no text in this language, or whose context has none."""
    has = ItemTranslation.objects.filter(item=OuterRef("pk"), language=language).exclude(body="")
    translated = ContextTranslation.objects.filter(context=OuterRef("context"), language=language)
    lacks_context = Q(context__isnull=False) & ~Exists(translated)
    return project.items.filter(~Exists(has) | lacks_context, retired_at=None)


def contexts_to_translate(rows: Sequence[ItemToTranslate], language: str) -> list[ContextToTranslate]:
    """Return the contexts of these items, in their order, each once."""
    contexts = list({row.item.context_id: row.item.context for row in rows if row.item.context}.values())
    known = ContextTranslation.objects.filter(context__in=contexts, language=language)
    bodies = dict(known.values_list("context_id", "body")) if contexts else {}
    return [ContextToTranslate(context, bodies.get(context.pk, "")) for context in contexts]


def items_to_translate(
    project: Project, language: str, *, only_missing: bool, number: str | None
) -> tuple[Page[Any], list[ItemToTranslate]]:
    items = items_without(project, language) if only_missing else project.items.filter(retired_at=None)
    page = Paginator(items.select_related("context").order_by("pk"), PAGE_SIZE).get_page(number)
    shown = list(page)
    known = {one.item_id: one for one in ItemTranslation.objects.filter(item__in=shown, language=language)}
    return page, [
        ItemToTranslate(item, known[item.pk].body, known[item.pk].name)
        if item.pk in known
        else ItemToTranslate(item, "", "")
        for item in shown
    ]
