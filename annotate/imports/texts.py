"""Measuring a project's texts: each becomes 51 features of its item (models_engine.analysis.text_features)."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotate.core.errors import UserError
from annotate.imports.prepared import Line, Read
from annotate.models import Item, Project
from models_engine.errors import InvalidData

PREFIX = "text_"
KINDS = (Item.Kind.TEXT, Item.Kind.MARKDOWN, Item.Kind.HTML, Item.Kind.CHAT, Item.Kind.SECTIONS)
MIN_TEXTS = 2
MAX_TEXTS = 20_000
BATCH = 200


class NoTexts(UserError):
    def __init__(self) -> None:
        super().__init__(
            _("This project has no texts to measure: it needs two items with words at least. Import texts first.")
        )


class TooManyTexts(UserError):
    def __init__(self, n: int) -> None:
        super().__init__(
            _("This project has %(n)d texts; %(limit)d can be measured together. Import features of your own instead.")
            % {"n": n, "limit": MAX_TEXTS}
        )


class MeasuredTexts:
    """The project's texts, in the order of their import, with what is measured of each.

    Retired ones too: what the others are is told from all that have answers. A direction that there is not, because the
    texts are few, is not known of any item. scipy is loaded when rows are asked for, in the worker.
    """

    every = 500

    def __init__(self, project: Project) -> None:
        self.items = texts_of(project)

    @cached_property
    def features(self) -> Sequence[str]:
        return [PREFIX + name for name in import_module("models_engine.analysis.text_features").NAMES]

    @property
    def columns(self) -> Sequence[str]:
        return ["item", *self.features]

    def rows(self) -> Iterator[Read]:
        engine = import_module("models_engine.analysis.text_features")
        keys: list[str] = []

        def texts() -> Iterator[str]:
            for item in self.items.only("key", "body", "kind").iterator(BATCH):
                keys.append(item.key)
                yield item.words

        try:
            found = engine.measure_texts(texts())
        except InvalidData as error:
            raise NoTexts from error
        for place, (key, values) in enumerate(zip(keys, found.tolist(), strict=True), 1):
            if not values[0]:  # the log of 1 + the number of words
                yield Read(place, [key], problem=_("The text has no words."))
                continue
            yield Read(place, [key, *values[:3]], [("features", (key, values))])

    def ahead(self) -> Sequence[Line]:
        return ()


def texts_of(project: Project) -> QuerySet[Item]:
    """Return the items that are texts, retired ones too."""
    return Item.objects.filter(project=project, kind__in=KINDS).order_by("pk")
