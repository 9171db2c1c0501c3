"""Writing items' texts in further languages; what people were asked in a language does not change any more."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.core.languages import language_name
from annotate.core.transactions import write_transaction
from annotate.items.rows import NewItem
from annotate.labelling.wording import MIXED
from annotate.locks import lock_project
from annotate.models import ContextTranslation, EventVerb, Item, ItemTranslation, Label, Project, User

BATCH = 1000
MAX_LANGUAGES = 20  # of one project besides its own


class TooManyLanguages(UserError):
    def __init__(self, n: int) -> None:
        super().__init__(
            _("The project would have %(n)d further languages; the limit is %(limit)d. Remove one first.")
            % {"n": n, "limit": MAX_LANGUAGES}
        )


class ShownInLanguage(UserError):
    def __init__(self, language: str) -> None:
        super().__init__(
            _("People have already answered in this language (%(language)s), so what they were shown can't change.")
            % {"language": language_name(language)}
        )


def labels_in(project: Project, language: str) -> QuerySet[Label]:
    """Return the labels that were asked in this language, wholly or in part."""
    return project.labels.filter(Q(language=language) | Q(language__startswith=f"{language}{MIXED}"))


def add_languages(project: Project, languages: Sequence[str]) -> None:
    """Give the project these further languages besides those it has; raise TooManyLanguages."""
    known = {project.language, *project.languages}
    new = [one for one in dict.fromkeys(languages) if one not in known]
    if len(project.languages) + len(new) > MAX_LANGUAGES:
        raise TooManyLanguages(len(project.languages) + len(new))
    if new:
        project.languages = [*project.languages, *new]
        project.save(update_fields=["languages"])


def add_translations(project: Project, items: Sequence[Item], rows: Sequence[NewItem]) -> None:
    """Store the translations that come with new items, inside the caller's transaction."""
    languages = [language for row in rows for language, *_texts in row.translations]
    if not languages:
        return
    project = lock_project(project.pk)
    add_languages(project, languages)
    ItemTranslation.objects.bulk_create(
        (
            ItemTranslation(item=item, language=language, body=body, name=title)
            for item, row in zip(items, rows, strict=True)
            for language, body, title, *_context in row.translations
            if language != project.language and (body or title)
        ),
        batch_size=BATCH,
    )
    add_context_translations(project, items, rows)


def add_context_translations(project: Project, items: Sequence[Item], rows: Sequence[NewItem]) -> None:
    """Store what new items say of their contexts; of a context that several name, what the first says, and what was
    there before stays."""
    bodies: dict[tuple[int, str], str] = {}
    for item, row in zip(items, rows, strict=True):
        for language, _body, _title, *context in row.translations:
            if item.context_id and context and context[0] and language != project.language:
                bodies.setdefault((item.context_id, language), context[0])
    ContextTranslation.objects.bulk_create(
        (ContextTranslation(context_id=pk, language=language, body=body) for (pk, language), body in bodies.items()),
        batch_size=BATCH,
        ignore_conflicts=True,
    )


def translate_contexts(*, project: Project, actor: User, language: str, texts: Mapping[int, str], now: datetime) -> int:
    """Give contexts, by primary key, these texts in one of the project's languages; the number that changed.

    An empty one removes the translation. Raises ShownInLanguage, with nothing written.
    """
    with write_transaction():
        project = lock_project(project.pk)
        own = set(project.contexts.filter(pk__in=texts).values_list("pk", flat=True))
        found = ContextTranslation.objects.filter(context__in=own, language=language)
        before = dict(found.values_list("context_id", "body"))
        changed = {pk: text for pk, text in texts.items() if pk in own and text != before.get(pk, "")}
        reworded = [pk for pk in changed if pk in before]
        shown = labels_in(project, language).filter(presentation__presented__item__context__in=reworded)
        if reworded and shown.exists():
            raise ShownInLanguage(language)
        found.filter(context__in=changed).delete()
        ContextTranslation.objects.bulk_create(
            ContextTranslation(context_id=pk, language=language, body=text) for pk, text in changed.items() if text
        )
        if changed:
            record_event(project, actor, EventVerb.ITEMS_TRANSLATED, now, language=language, items=len(changed))
    return len(changed)


def translate_all(
    *, project: Project, actor: User, language: str, texts: Mapping[int, tuple[str, str]], now: datetime
) -> int:
    """Give items, by primary key, these texts and titles in one of the project's languages; the number that changed.

    Two empty ones remove the translation. Raises ShownInLanguage, with nothing written.
    """
    with write_transaction():
        project = lock_project(project.pk)
        before = {one.item_id: one for one in ItemTranslation.objects.filter(item__in=texts, language=language)}
        changed = {pk: new for pk, new in texts.items() if new != texts_of(before.get(pk))}
        reworded = [pk for pk, new in changed.items() if pk in before and is_reworded(project, before[pk], *new)]
        if labels_in(project, language).filter(presentation__presented__item__in=reworded).exists():
            raise ShownInLanguage(language)
        keys = dict(project.items.filter(pk__in=changed).values_list("pk", "key"))
        ItemTranslation.objects.filter(item__in=keys, language=language).delete()
        ItemTranslation.objects.bulk_create(
            ItemTranslation(item_id=pk, language=language, body=body, name=title)
            for pk, (body, title) in changed.items()
            if pk in keys and (body or title)
        )
        if keys:
            record_event(project, actor, EventVerb.ITEMS_TRANSLATED, now, language=language, items=len(keys))
    return len(keys)


def is_reworded(project: Project, before: ItemTranslation, body: str, title: str) -> bool:
    """Tell whether what annotators saw of it would be another; titles count where they are shown."""
    return before.body not in ("", body) or (project.shows_titles and before.name not in ("", title))


def texts_of(translation: ItemTranslation | None) -> tuple[str, str]:
    return (translation.body, translation.name) if translation else ("", "")
