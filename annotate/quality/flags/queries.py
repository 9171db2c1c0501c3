"""Flags: what makes an owner look twice at an annotator, each with its reason and figures. They exclude nobody."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from django.db.models import Count, F, Q, QuerySet
from django.utils.translation import gettext as _

from annotate.core import numbers
from annotate.core.numbers import format_probability
from annotate.labelling.asked_tasks import tasks_of
from annotate.labelling.outcomes import INFORMATIVE, TIES
from annotate.labelling.special_tasks import correctness
from annotate.models import AskedBy, Label, PresentedItem, Project, Purpose
from annotate.quality.flags.orders import CommonOrder, chance_of_any, common_orders
from models_engine.constants import Z90

FAST_MS_PER_ITEM = 500
FAST, CANT_JUDGE, TIED = 0.2, 0.3, 0.8  # flagged where the whole interval lies above
GOLD, ATTENTION, REPEATS = 0.7, 0.8, 0.75  # flagged where it lies below
MIN_ANSWERS = 5
SURE = 0.001  # the same place or order is flagged where somebody who looks would come to it less often than this


@dataclass(frozen=True)
class Share:
    """k of n (k a sum of shares where answers agree in part), with the 90% interval of the share behind it."""

    k: float
    n: int

    @property
    def low(self) -> float:
        return self._wilson(-1)

    @property
    def high(self) -> float:
        return self._wilson(+1)

    def _wilson(self, sign: int) -> float:
        p, z2 = self.k / self.n, Z90 * Z90 / self.n
        return (p + z2 / 2 + sign * Z90 * math.sqrt(p * (1 - p) / self.n + z2 / (4 * self.n))) / (1 + z2)

    @property
    def share(self) -> float:
        return self.k / self.n

    @property
    def of(self) -> str:
        """k as people write it."""
        return numbers.format_number(self.k, 0 if float(self.k).is_integer() else 1)

    def __str__(self) -> str:
        return _("%(k)s of %(n)d (90%% interval %(low)s to %(high)s)") % {
            "k": self.of,
            "n": self.n,
            "low": format_probability(self.low),
            "high": format_probability(self.high),
        }


@dataclass(frozen=True)
class Flag:
    name: str
    words: str


@dataclass(frozen=True)
class AnnotatorChecks:
    """What is known of one annotator; None where there is nothing to go by.

    tied: answers that call all items equal, of those that judge them.
    """

    fast: Share | None
    side: Share | None
    order: CommonOrder | None
    cant_judge: Share | None
    tied: Share | None
    gold: Share | None
    attention: Share | None
    repeats: Share | None
    fast_seconds: float
    n_sides: int

    @property
    def flags(self) -> list[Flag]:
        """one_side, same_order: the most common place or order, halfway and more from evenly to always, and surely no
        chance."""
        order = share_or_none(self.order.k, self.order.n) if self.order else None
        found = [
            (self.fast, "too_fast", self.fast and self.fast.n >= MIN_ANSWERS and self.fast.low > FAST),
            (self.side, "one_side", self.side and is_habit(self.side, self.n_sides)),
            (order, "same_order", order and self.order and is_habit(order, self.order.n_possible)),
            (self.gold, "gold_failed", self.gold and self.gold.high < GOLD),
            (self.attention, "attention_failed", self.attention and self.attention.high < ATTENTION),
            (self.repeats, "inconsistent", self.repeats and self.repeats.high < REPEATS),
            (
                self.cant_judge,
                "cant_judge",
                self.cant_judge and self.cant_judge.n >= MIN_ANSWERS and self.cant_judge.low > CANT_JUDGE,
            ),
            (self.tied, "all_tied", self.tied and self.tied.n >= MIN_ANSWERS and self.tied.low > TIED),
        ]
        return [Flag(name, self.words(name, figure)) for figure, name, raised in found if raised and figure]

    def words(self, name: str, figure: Share) -> str:
        seconds = numbers.format_number(self.fast_seconds, 1)
        return {
            "too_fast": _("Too fast: %(figure)s answers in under %(seconds)s s"),
            "one_side": _("Mostly the same place: %(figure)s choices"),
            "same_order": _("Mostly the same order on the screen, whatever is shown: %(figure)s answers"),
            "gold_failed": _("Gold questions: %(figure)s right"),
            "attention_failed": _("Attention checks: %(figure)s right"),
            "inconsistent": _("Own repeats: %(figure)s answered as before"),
            "cant_judge": _("Can't judge: %(figure)s answers"),
            "all_tied": _("Nearly always calls the items equal: %(figure)s answers"),
        }[name] % {"figure": figure, "seconds": seconds}


def annotator_checks(project: Project, annotators: Sequence[int]) -> dict[int, AnnotatorChecks]:
    """Read the checks of these annotators in the same number of queries however many labels they gave."""
    labels = Label.objects.filter(annotator__in=annotators, voided_at=None).order_by()
    sizes = [task.k for task in tasks_of(project)]
    fast_ms = FAST_MS_PER_ITEM * min(sizes)  # of several kinds of task the one that is answered soonest
    none = {"n": 0, "timed": 0, "fast": 0, "cant_judge": 0, "informative": 0, "tied": 0}
    all_equal = Q(outcome__in=TIES) | Q(ranks__in=["0" * k for k in sizes])
    counts: dict[int, Any] = {
        row["annotator"]: row
        for row in labels.exclude(presentation__purpose=Purpose.PRACTICE)
        .values("annotator")
        .annotate(
            n=Count("pk"),
            timed=Count("response_ms"),
            fast=Count("pk", filter=Q(response_ms__lt=fast_ms)),
            cant_judge=Count("pk", filter=Q(outcome=Label.Outcome.CANT_JUDGE)),
            informative=Count("pk", filter=Q(outcome__in=INFORMATIVE)),
            tied=Count("pk", filter=all_equal),
        )
    }
    orders = common_orders(labels)
    sides, right, again = places_chosen(annotators), right_answers(labels), consistency(labels)
    return {
        pk: AnnotatorChecks(
            fast=share_or_none(counts.get(pk, none)["fast"], counts.get(pk, none)["timed"]),
            side=share_or_none(max(sides[pk].values(), default=0), sides[pk].total()),
            order=orders.get(pk),
            cant_judge=share_or_none(counts.get(pk, none)["cant_judge"], counts.get(pk, none)["n"]),
            tied=share_or_none(counts.get(pk, none)["tied"], counts.get(pk, none)["informative"]),
            gold=right.get((pk, Purpose.GOLD.value)),
            attention=right.get((pk, Purpose.ATTENTION.value)),
            repeats=again.get(pk),
            fast_seconds=fast_ms / 1000,
            n_sides=min(sizes),
        )
        for pk in annotators
    }


def is_habit(most: Share, n_possible: int) -> bool:
    """Tell whether the most common of so many outcomes is both far from evenly spread and surely no chance."""
    far = most.low > (1 + 1 / n_possible) / 2
    return far and chance_of_any(int(most.k), most.n, n_possible) < SURE


def share_or_none(k: float, n: int) -> Share | None:
    return Share(k, n) if n else None


def places_chosen(annotators: Sequence[int]) -> dict[int, Counter[int]]:
    """Return how often each annotator chose the item at each place."""
    chosen = PresentedItem.objects.filter(
        presentation__label__annotator__in=annotators,
        presentation__label__voided_at=None,
        item=F("presentation__label__chosen"),
    )
    found: dict[int, Counter[int]] = defaultdict(Counter)
    rows = chosen.order_by().values_list("presentation__label__annotator", "position").annotate(n=Count("pk"))
    for annotator, place, n in rows:
        found[annotator][place] += n
    return found


def right_answers(labels: QuerySet[Label]) -> dict[tuple[int, str], Share]:
    """Count how many gold questions and attention checks each annotator answered right."""
    held = labels.filter(presentation__purpose__in=[Purpose.GOLD, Purpose.ATTENTION])
    who = {
        pk: (annotator, purpose)
        for pk, annotator, purpose in held.values_list("pk", "annotator", "presentation__purpose")
    }
    if not who:
        return {}
    n, k = Counter(who.values()), Counter[tuple[int, str]]()
    for pk, is_right in correctness(held).items():
        k[who[pk]] += is_right
    return {one: Share(k[one], n[one]) for one in n}


def consistency(labels: QuerySet[Label]) -> dict[int, Share]:
    """Return how far each annotator answered planned repeats as they had answered before.

    Questions that the ranking so far chose are left out: they are about items close to each other, which everybody
    answers less consistently.
    """
    informative = labels.filter(outcome__in=INFORMATIVE)
    repeats = list(informative.filter(presentation__purpose=Purpose.REPEAT).select_related("presentation"))
    if not repeats:
        return {}
    sets = {label.presentation.item_set_id for label in repeats}
    before = informative.filter(presentation__purpose=Purpose.ORDINARY, presentation__item_set__in=sets)
    before = before.exclude(presentation__asked_by=AskedBy.ADAPTIVE)
    first = {annotator_and_set(label): label for label in before.select_related("presentation")}
    pairs = [(label, first[asked]) for label in repeats if (asked := annotator_and_set(label)) in first]
    ranks = ranks_by_item([label for pair in pairs for label in pair])
    shares: dict[int, list[float]] = defaultdict(list)
    for again, former in pairs:
        shares[again.annotator_id].append(agreement(ranks[again.pk], ranks[former.pk]))
    return {annotator: Share(sum(values), len(values)) for annotator, values in shares.items()}


def annotator_and_set(label: Label) -> tuple[int, int]:
    """Return who was asked about which set."""
    return label.annotator_id, label.presentation.item_set_id


def ranks_by_item(labels: Sequence[Label]) -> dict[int, dict[int, int]]:
    """Return for each label, by primary key, the rank of every item shown: 0 is best, equal ones were
    not told apart."""
    shown: dict[int, list[int]] = defaultdict(list)
    rows = PresentedItem.objects.filter(presentation__in=[label.presentation_id for label in labels])
    for presentation, item in rows.order_by("position").values_list("presentation", "item"):
        shown[presentation].append(item)
    found = {}
    for label in labels:
        items = shown[label.presentation_id]
        if label.ranks:
            found[label.pk] = {item: int(rank) for item, rank in zip(items, label.ranks, strict=True)}
        else:
            found[label.pk] = {item: int(label.chosen_id is not None and item != label.chosen_id) for item in items}
    return found


def agreement(one: dict[int, int], other: dict[int, int]) -> float:
    """Return the share of the set's pairs of items, of those that either answer tells apart, on which both say the
    same."""
    same = n = 0
    for a, b in combinations(one, 2):
        first, second = sign(one[a] - one[b]), sign(other[a] - other[b])
        n += bool(first or second)
        same += bool(first or second) and first == second
    return same / n if n else 1.0


def sign(number: int) -> int:
    return (number > 0) - (number < 0)
