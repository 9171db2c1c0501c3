"""Defines exports of answers about pairs as other tools read them: Arena's battles and crowd-kit's comparisons.

Larger sets are left out: both layouts know two items and one answer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from annotate.criteria import Criterion
from annotate.files.columns import Column, Kind, Row
from annotate.labelling.asked_tasks import shows_pairs
from annotate.labelling.label_rows import is_informative, label_chunks, pad_to_power_of_two
from annotate.models import Item, Label

ITEM_A = Column("item_a", _("Key of the item shown as A."))
ITEM_B = Column("item_b", _("Key of the item shown as B."))
ARENA = [
    Column("question_id", _("Number of the set of items shown, regardless of their order."), Kind.INTEGER),
    Column("model_a", _("Competitor of the item shown as A; its key where no competitor is named.")),
    Column("model_b", _("Competitor of the item shown as B; its key where no competitor is named.")),
    Column("winner", _("model_a, model_b, tie, or tie (bothbad).")),
    Column("judge", _("Pseudonym of the annotator.")),
    Column("tstamp", _("When the server received the answer, in seconds since 1970."), Kind.NUMBER),
    ITEM_A,
    ITEM_B,
    Column("prompt", _("The context of the items, if they have one; otherwise the question asked.")),
    Column("answer_a", _("Text of the item shown as A.")),
    Column("answer_b", _("Text of the item shown as B.")),
]
CROWDKIT = [
    Column("worker", _("Pseudonym of the annotator.")),
    Column("task", _("Number of the set of items shown, regardless of their order."), Kind.INTEGER),
    Column("left", _("Key of the item shown as A.")),
    Column("right", _("Key of the item shown as B.")),
    Column("label", _("Key of the item that was preferred. Ties are left out.")),
]
WORDS = {Label.Outcome.BOTH_BAD.value: "tie (bothbad)"}


@dataclass(frozen=True)
class Side:
    """An item as it was shown, with what stands behind it."""

    key: str
    body: str
    competitor: str
    context: str | None

    @property
    def model(self) -> str:
        return self.competitor or self.key


@dataclass(frozen=True)
class Battle:
    """An informative answer about a pair. chosen: 0 the left item, 1 the right one, None for a tie of any kind."""

    label: Mapping[str, Any]
    sides: tuple[Side, Side]
    chosen: int | None

    @property
    def winner(self) -> str:
        if self.chosen is None:
            return WORDS.get(self.label["outcome"], "tie")
        return ("model_a", "model_b")[self.chosen]


def battles(criterion: Criterion) -> Iterator[Battle]:
    """Yield the answers about pairs that count, in order of arrival; four queries for some hundred."""
    if not shows_pairs(criterion.project):
        return
    for labels, shown, items in label_chunks(criterion):
        behind = sides_of(list(items))
        for label in labels:
            places = shown[label["presentation"]]
            if len(places) == 2 and is_informative(criterion.project, label) and behind.keys() >= set(places):
                chosen = place_chosen(label, places)
                yield Battle(label, (behind[places[0]], behind[places[1]]), chosen)


def place_chosen(label: Mapping[str, Any], places: list[int]) -> int | None:
    """Return which of two is put first, by a choice or an order; None for a tie."""
    if label["ranks"]:
        return None if label["ranks"][0] == label["ranks"][1] else label["ranks"].index("0")
    return places.index(label["chosen"]) if label["chosen"] in places else None


def sides_of(items: list[int]) -> dict[int, Side]:
    rows = Item.objects.filter(pk__in=pad_to_power_of_two(items))
    found = rows.values_list("pk", "key", "body", "competitor", "context__body")
    return {pk: Side(*values) for pk, *values in found}


def arena_rows(criterion: Criterion) -> Iterator[Row]:
    for battle in battles(criterion):
        left, right = battle.sides
        yield [
            battle.label["presentation__item_set"],
            left.model,
            right.model,
            battle.winner,
            battle.label["annotator__pseudonym"],
            battle.label["created_at"].timestamp(),
            left.key,
            right.key,
            criterion.question if left.context is None else left.context,
            left.body,
            right.body,
        ]


def crowdkit_rows(criterion: Criterion) -> Iterator[Row]:
    for battle in battles(criterion):
        if battle.chosen is not None:
            keys = [side.key for side in battle.sides]
            label = battle.label
            yield [label["annotator__pseudonym"], label["presentation__item_set"], *keys, keys[battle.chosen]]
