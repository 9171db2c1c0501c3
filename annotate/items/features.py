"""Writing what is known of items in numbers, for rankings that learn from it."""

import math
import struct
from collections.abc import Sequence

from django.utils.translation import gettext as _

from annotate.core.errors import UserError
from annotate.models import FeatureNames, ItemFeatures, PredictionGain, Project

MOST_FEATURES = 1024
BATCH = 500


class TooManyFeatures(UserError):
    status = 400

    def __init__(self, n: int) -> None:
        super().__init__(
            _("That would make %(n)d features; the limit is %(limit)d in a project. Choose fewer.")
            % {"n": n, "limit": MOST_FEATURES}
        )


def add_features(project: Project, names: Sequence[str], rows: Sequence[tuple[int, Sequence[float]]]) -> None:
    """Give items (by primary key) these features, beside those they have, inside the caller's transaction.

    Raises TooManyFeatures.
    """
    if not names or not rows:
        return
    FeatureNames.objects.get_or_create(project=project)
    row = FeatureNames.objects.select_for_update().get(project=project)
    known = [*row.names, *(name for name in names if name not in row.names)]
    if len(known) > MOST_FEATURES:
        raise TooManyFeatures(len(known))
    if known != row.names:
        row.names = known
        row.save(update_fields=["names"])
    PredictionGain.objects.filter(project=project).update(n_labels=0)  # measured by other features: to be measured anew
    place = {name: n for n, name in enumerate(known)}
    places = [place[name] for name in names]
    former = dict(ItemFeatures.objects.filter(item__in=[pk for pk, _values in rows]).values_list("item_id", "values"))
    ItemFeatures.objects.bulk_create(
        (
            ItemFeatures(item_id=pk, values=merged(bytes(former.get(pk, b"")), len(known), places, values))
            for pk, values in rows
        ),
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["item"],
        update_fields=["values"],
    )


def merged(former: bytes, n: int, places: Sequence[int], values: Sequence[float]) -> bytes:
    """Return the n features of an item: the new ones at their places, the others as they were or not known."""
    before = struct.unpack(f"<{len(former) // 8}d", former)
    all_of_them = [*before, *([math.nan] * (n - len(before)))]
    for place, value in zip(places, values, strict=True):
        all_of_them[place] = value
    return struct.pack(f"<{n}d", *all_of_them)
