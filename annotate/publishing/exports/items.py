"""Defines the export table of items, retired ones included."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from annotate.files.columns import Column, Kind, Row
from annotate.models import Item, Project

CHUNK = 500  # items read at a time

COLUMNS = [
    Column("item", _("The item's key, unique in the project.")),
    Column(
        "title",
        _(
            "The title that you gave it; otherwise empty. Annotators see it only where titles stand under images and "
            "recordings."
        ),
    ),
    Column("kind", _("text, markdown, html, chat, image, audio, video, link or sections.")),
    Column(
        "text",
        _(
            "The text; for an image, its description; for sound and video, the transcript; for several sections and "
            "chats, their JSON."
        ),
    ),
    Column(
        "context",
        _(
            "What the item responds to (such as a prompt), shown above it. Only items with the same context are "
            "compared."
        ),
    ),
    Column("competitor", _("Who or what made the item, if you named it; otherwise empty.")),
    Column("file", _("File name of an image, sound or video; otherwise empty.")),
    Column("link", _("Address of a link; otherwise empty.")),
    Column("tags", _("The item's tags, a JSON list."), Kind.TEXTS),
    Column("retired", _("Whether the item is no longer shown."), Kind.TRUTH),
    Column("retired_at", _("When the annotator was excluded, server time (UTC)."), Kind.MOMENT),
    Column("created_at", _("When it was added, server time (UTC)."), Kind.MOMENT),
    Column(
        "translations",
        _("Text, title and context in further languages, by language code; a JSON object."),
        Kind.OBJECT,
    ),
    Column("metadata", _("What your own columns say of the item, by name; a JSON object."), Kind.OBJECT),
]


def translations_of(item: Item) -> dict[str, dict[str, str]]:
    """Return what is translated of the item and its context: {language: {"text", "title", "context"}}."""
    translations: dict[str, dict[str, str]] = {}
    for one in item.translations.all():
        texts = {"text": one.body, "title": one.name}
        translations[one.language] = {name: text for name, text in texts.items() if text}
    for context in item.context.translations.all() if item.context else ():
        translations.setdefault(context.language, {})["context"] = context.body
    return translations


def rows(project: Project) -> Iterator[Row]:
    last = 0
    while True:
        items = (
            Item.objects.filter(project=project, pk__gt=last)
            .order_by("pk")
            .select_related("context")
            .prefetch_related("tags", "translations", "context__translations")
        )
        chunk = list(items[:CHUNK])
        if not chunk:
            return
        last = chunk[-1].pk
        for item in chunk:
            file = (item.media.name or "").rpartition("/")[2]
            context = item.context.body if item.context else ""
            tags = sorted(tag.name for tag in item.tags.all())
            retired = item.retired_at is not None
            texts = [item.key, item.name, item.kind, item.body, context, item.competitor, file, item.link]
            yield [*texts, tags, retired, item.retired_at, item.created_at, translations_of(item), item.metadata]
