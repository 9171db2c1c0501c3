"""Measuring a project's pictures: each becomes 24 features of its item (models_engine.analysis.picture_features)."""

from collections.abc import Iterator, Sequence

import numpy as np
from django.core.files.storage import default_storage
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from PIL import Image, UnidentifiedImageError

from annotate.core.errors import UserError
from annotate.imports.prepared import Line, Read
from annotate.models import Item, Project
from models_engine.analysis.picture_features import NAMES, SIDE, picture_features

PREFIX = "picture_"
BATCH = 200


class NoPictures(UserError):
    def __init__(self) -> None:
        super().__init__(
            _("This project has no pictures to measure: no item that is not retired is an image. Import images first.")
        )


class MeasuredPictures:
    """The project's pictures that are not retired, in the order of their import, with what is measured of each."""

    every = 10  # a picture takes some hundredths of a second
    features: Sequence[str] = [PREFIX + name for name in NAMES]

    def __init__(self, project: Project) -> None:
        self.items = pictures_of(project)
        self.columns = ["item", *self.features]

    def rows(self) -> Iterator[Read]:
        for place, (key, name) in enumerate(self.items.values_list("key", "media").iterator(BATCH), 1):
            try:
                values = measure(name)
            except (OSError, UnidentifiedImageError, Image.DecompressionBombError, ValueError):
                yield Read(place, [key], problem=_("The picture can't be read. Import it again as a new item."))
                continue
            yield Read(place, [key, *values[:5]], [("features", (key, values))])

    def ahead(self) -> Sequence[Line]:
        return ()


def pictures_of(project: Project) -> QuerySet[Item]:
    """Return the pictures among the items that are not retired."""
    return Item.objects.filter(project=project, kind=Item.Kind.IMAGE, retired_at=None).order_by("pk")


def measure(name: str) -> list[float]:
    """Return the features of a stored picture; what is transparent stands on white. Raises what Pillow raises."""
    with default_storage.open(name) as file, Image.open(file) as image:
        aspect = image.width / image.height
        image.draft("RGB", (2 * SIDE, 2 * SIDE))  # a large JPEG is decoded at a fraction of its size
        with_alpha = image.convert("RGBA")
        paper = Image.new("RGBA", with_alpha.size, "white")
        square = Image.alpha_composite(paper, with_alpha).convert("RGB").resize((SIDE, SIDE), Image.Resampling.BOX)
    return [float(value) for value in picture_features(np.asarray(square), aspect)]
