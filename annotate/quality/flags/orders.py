"""Finds who puts what is shown in the same order again and again, and how surely that is no chance."""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Count, QuerySet

from annotate.models import IMPORTED_APP_VERSION, ORDERED, Label, Purpose


@dataclass(frozen=True)
class CommonOrder:
    """The order by place on the screen that an annotator gave most often: k of n answers.

    ranks: the rank given to each place, one digit each, as Label.ranks.
    """

    ranks: str
    k: int
    n: int

    @cached_property
    def n_possible(self) -> int:
        """Count the orders with as many items at each rank: 24 of four items, 12 of a best and a worst of four."""
        return math.factorial(len(self.ranks)) // math.prod(map(math.factorial, Counter(self.ranks).values()))


def chance_of_any(k: int, n: int, n_possible: int) -> float:
    """Return at most how probable it is that any of so many equally likely outcomes comes k times or more in n answers.

    Items are shown in random order, so who looks at them gives every order by place alike. The binomial tail of one
    outcome times the number of outcomes (Boole's inequality).
    """
    if n_possible < 2:
        return 1.0
    p = 1 / n_possible
    tail = math.fsum(math.exp(log_binomial(i, n) + i * math.log(p) + (n - i) * math.log1p(-p)) for i in range(k, n + 1))
    return min(1.0, n_possible * tail)


def log_binomial(k: int, n: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def common_orders(labels: QuerySet[Label]) -> dict[int, CommonOrder]:
    """Read each annotator's most common order in one query; a file may list the best first, so imports are left out."""
    asked = labels.filter(outcome__in=ORDERED).exclude(app_version=IMPORTED_APP_VERSION)
    rows = asked.exclude(presentation__purpose=Purpose.PRACTICE).values_list("annotator", "ranks")
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    for annotator, ranks, n in rows.annotate(times=Count("pk")):
        counts[annotator][ranks] += n
    return {annotator: CommonOrder(*found.most_common(1)[0], n=found.total()) for annotator, found in counts.items()}
