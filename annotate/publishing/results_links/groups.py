"""Reads the groups of people that a results link tells the public of: how many they are and what they prefer."""

import io
from dataclasses import dataclass, replace

import numpy as np
from django.db.models import Count

from annotate.annotators.tastes.queries import Ends
from annotate.criteria import Criterion
from annotate.labelling.wording import translate_items
from annotate.models import AnnotatorTaste, Item, TasteMap

MIN_GROUP = 5  # people below which a group is not told of: it could point at somebody


@dataclass(frozen=True)
class PublicGroup:
    """likes, dislikes: what its members like more, or less, than everybody else does, most first."""

    number: int
    n: int
    likes: list[Item]
    dislikes: list[Item]


def public_groups(criterion: Criterion, language: str = "", track: str = "") -> list[PublicGroup]:
    """Return the groups large enough to be told of, the largest first; none where none stand out.

    track: the tag whose items alone are named; "" for all.
    """
    project = criterion.project
    found = TasteMap.objects.filter(project=project, criterion=criterion.number, n_groups__gt=1, fit_number__gt=0)
    taste_map = found.exclude(arrays=None).first()
    if taste_map is None:
        return []
    with np.load(io.BytesIO(bytes(taste_map.arrays or b"")), allow_pickle=False) as file:
        arrays = {name: file[name] for name in ("items", "loadings", "likes")}
    members = AnnotatorTaste.objects.filter(annotator__project=project, fit_number=taste_map.fit_number or 0)
    sizes = dict(members.exclude(group=None).order_by().values_list("group").annotate(n=Count("pk")))
    ends = within_track(Ends.of(project, arrays), track)
    translate_items(ends.known.values(), language)
    return [
        PublicGroup(
            number=number + 1,
            n=sizes[number],
            likes=[item for item, _by in ends.end(likes, 1).items],
            dislikes=[item for item, _by in ends.end(likes, -1).items],
        )
        for number, likes in enumerate(arrays["likes"])
        if sizes.get(number, 0) >= MIN_GROUP
    ]


def within_track(ends: Ends, track: str) -> Ends:
    """Return the same without items that lack this tag."""
    if not track:
        return ends
    tagged = set(Item.objects.filter(pk__in=ends.known, tags__name=track).values_list("pk", flat=True))
    return replace(ends, known={pk: item for pk, item in ends.known.items() if pk in tagged})
