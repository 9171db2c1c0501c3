"""Reads how far the project is from its goal: labels, time and cost still needed."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.caching import cached_if_slow
from annotate.core.numbers import format_integer, format_number
from annotate.criteria import Criterion
from annotate.labelling.label_rows import labels_by_criterion
from annotate.labelling.outcomes import INFORMATIVE
from annotate.models import IMPORTED_APP_VERSION, Label, Project
from annotate.models.goals import Goal, PricePer
from models_engine.models import Fit

# The present rate is that of the shortest of these in which there were labels.
SPANS = [timedelta(hours=1), timedelta(days=1), timedelta(days=7)]
MIN_LABELS_FOR_COST = 10  # labels with a time, below which an hourly cost is not forecast
MS_PER_HOUR = 3_600_000


@dataclass(frozen=True)
class Rate:
    """Labels an hour that say something of the items, over the span in words."""

    per_hour: float
    words: str


@dataclass(frozen=True)
class Needed:
    """Labels still needed until the goal: middle and range, from the labels given by now; None: nobody knows."""

    low: int
    middle: int
    high: int | None

    @property
    def words(self) -> str:
        if self.high is None:
            return _("%(low)s or more") % {"low": format_integer(self.low)}
        if self.low == self.high:
            return ""
        return _("%(low)s to %(high)s") % {"low": format_integer(self.low), "high": format_integer(self.high)}


@dataclass(frozen=True)
class GoalStatus:
    """sentence: the goal; verdict: "met", "open", "early", "parts", "far" or "waiting" for the next fit.

    reach, where the goal is "far": the nearest value of this kind of goal that is within reach, if there is one.
    """

    kind: str
    sentence: str
    verdict: str
    stands: str
    needed: Needed | None
    rate: Rate | None
    hours: str
    reach: float | None = None

    @property
    def reach_words(self) -> str:
        return "" if self.reach is None else reachable_sentence(self.kind, self.reach)


@dataclass(frozen=True)
class Cost:
    """Amounts in words, with the currency; forecasts are empty where none can be made."""

    spent: str
    rate: str
    n_paid: int
    total: str
    between: str


def goal_status(criterion: Criterion, fit: Fit | None, now: datetime) -> GoalStatus | None:
    project = criterion.project
    if not project.goal:
        return None
    kept = (fit.diagnostics.get("goal") or {}) if fit else {}
    if fit is None or (kept.get("kind"), kept.get("value")) != (project.goal, project.goal_value):
        return GoalStatus(project.goal, goal_sentence(project), "waiting", "", None, None, "")
    needed = None if kept["met"] else remaining_labels(kept["needed"], n_labels_since(criterion, fit))
    verdict = "met" if kept["met"] else "open" if needed else kept["why"] or "far"
    rate = current_rate(criterion, now) if needed else None
    hours = duration(needed, rate) if needed and rate else ""
    stands, reach = current_state_sentence(project, kept.get("state")), kept.get("reach")
    return GoalStatus(project.goal, goal_sentence(project), verdict, stands, needed, rate, hours, reach)


def goal_sentence(project: Project) -> str:
    if project.goal == Goal.TOP:
        return _("Each of the top %(k)d is clearly above all other items.") % {"k": project.top_k}
    if project.goal == Goal.WIDTH:
        width = format_number(project.goal_width or 0.0)
        return _("Every item's 90%% interval is at most %(width)s wide.") % {"width": width}
    if project.goal == Goal.COMPARISONS:
        return _("Every item has at least %(n)d comparisons.") % {"n": project.goal_comparisons or 0}
    if project.goal == Goal.RELIABILITY:
        return _("The reliability is at least %(n)s.") % {"n": format_number(project.goal_reliability or 0.0)}
    if project.goal == Goal.PLACES:
        places = format_number(project.goal_places or 0.0, 1)
        return _("An item's place is off by at most %(n)s places on average.") % {"n": places}
    if project.goal == Goal.BOUNDARIES:
        return _("Every grade boundary is settled: at most 5% of the items are expected on its wrong side.")
    text = ngettext(
        "Every planned set has been answered by %(n)d annotator.",
        "Every planned set has been answered by %(n)d annotators.",
        project.overlap,
    )
    return text % {"n": project.overlap}


def current_state_sentence(project: Project, state: float | None) -> str:
    if state is None:
        return ""
    if project.goal == Goal.WIDTH:
        return _("At present the widest is %(width)s.") % {"width": format_number(state)}
    if project.goal == Goal.COMPARISONS:
        return _("At present the fewest are %(n)d.") % {"n": state}
    if project.goal == Goal.RELIABILITY:
        return _("It is %(n)s now.") % {"n": format_number(state)}
    if project.goal == Goal.PLACES:
        return _("It is %(n)s now.") % {"n": format_number(state, 1)}
    if project.goal == Goal.BOUNDARIES:
        return _("%(n)d of %(all)d are settled now.") % {"n": state, "all": len(project.grades) - 1}
    return ""


def reachable_sentence(kind: str, reach: float) -> str:
    """Return what about twenty times the answers reach; rounded to the cautious side."""
    if kind == Goal.TOP:
        return _("A top %(k)d is within reach instead.") % {"k": round(reach)}
    if kind == Goal.WIDTH:
        return _("Intervals of %(width)s are within reach.") % {"width": format_number(math.ceil(reach * 100) / 100)}
    if kind == Goal.RELIABILITY:
        return _("A reliability of %(n)s is within reach.") % {"n": format_number(math.floor(reach * 100) / 100)}
    places = format_number(math.ceil(reach * 10) / 10, 1)
    return _("Places that are off by %(n)s on average are within reach.") % {"n": places}


def remaining_labels(kept: list[Any] | None, since: int) -> Needed | None:
    """Return what the fit forecast, less the labels that came since."""
    if not kept or kept[1] is None:
        return None
    low, middle, high = (None if value is None else max(value - since, 0) for value in kept)
    return Needed(low or 0, max(middle or 0, 1), high)


def n_labels_since(criterion: Criterion, fit: Fit) -> int:
    """Return labels given since the fit began that the next one will count: the forecast is in those, skips bring it no
    nearer."""
    return is_informative(criterion).filter(created_at__gt=fit.started_at).count()


def is_informative(criterion: Criterion) -> QuerySet[Label]:
    """Return labels that say something of the items and reach the engine."""
    project = criterion.project
    labels = Label.objects.filter(project=project, voided_at=None, presentation__purpose__in=project.counted_purposes)
    return labels_by_criterion(criterion, labels, outcomes=INFORMATIVE)


def current_rate(criterion: Criterion, now: datetime) -> Rate | None:
    words = [_("in the last hour"), _("in the last day"), _("in the last week")]
    labels = is_informative(criterion).exclude(
        app_version=IMPORTED_APP_VERSION
    )  # what came in by a file says nothing of people's pace
    for span, told in zip(SPANS, words, strict=True):
        n = labels.filter(created_at__gte=now - span, created_at__lte=now).count()
        if n:
            return Rate(n / (span.total_seconds() / 3600), told)
    return None


def duration(needed: Needed, rate: Rate) -> str:
    """Return how long the middle forecast takes at this rate, and its range."""
    middle = span_words(needed.middle / rate.per_hour)
    if needed.high is None:
        return _("about %(middle)s") % {"middle": middle}
    low, high = span_words(needed.low / rate.per_hour), span_words(needed.high / rate.per_hour)
    return _("about %(middle)s (%(low)s to %(high)s)") % {"middle": middle, "low": low, "high": high}


def span_words(hours: float) -> str:
    if hours < 1:
        return ngettext("%(n)d minute", "%(n)d minutes", n := max(1, round(60 * hours))) % {"n": n}
    if hours < 48:
        return ngettext("%(n)d hour", "%(n)d hours", n := round(hours)) % {"n": n}
    return ngettext("%(n)d day", "%(n)d days", n := round(hours / 24)) % {"n": n}


def cost_of(project: Project, needed: Needed | None) -> Cost | None:
    """Return None where the owner has set no price. Paid is every answer given here that its annotator did not take
    back."""
    if project.price is None:
        return None
    paid = cached_if_slow(f"paid-{project.pk}", partial(count_paid_answers, project))
    per_label = cost_per_label(project, paid)
    spent = project.price * (paid["n"] if project.price_per == PricePer.LABEL else hours_of(paid))
    total = between = ""
    if needed and per_label is not None:
        total = money(spent + per_label * needed.middle, project.currency)
        if needed.high is not None and needed.high != needed.low:
            between = _("%(low)s to %(high)s") % {
                "low": money(spent + per_label * needed.low, project.currency),
                "high": money(spent + per_label * needed.high, project.currency),
            }
    price = money(project.price, project.currency, exact=True)
    rate = _("%(price)s per %(unit)s") % {"price": price, "unit": PricePer(project.price_per).label}
    return Cost(money(spent, project.currency), rate, paid["n"], total, between)


def count_paid_answers(project: Project) -> dict[str, int]:
    """Answers given on this site, imported ones left out: how many, how many of known time, and their milliseconds."""
    given = Label.objects.filter(project=project).exclude(app_version=IMPORTED_APP_VERSION)
    labels = given.exclude(void_reason=Label.VoidReason.UNDONE).order_by()
    time = Coalesce("active_ms", "response_ms")
    found = labels.aggregate(n=Count("pk"), timed=Count(time), ms=Sum(time))
    return {"n": found["n"], "timed": found["timed"], "ms": found["ms"] or 0}


def cost_per_label(project: Project, paid: dict[str, int]) -> Decimal | None:
    price = project.price or Decimal(0)
    if project.price_per == PricePer.LABEL:
        return price
    return price * hours_of(paid) / paid["timed"] if paid["timed"] >= MIN_LABELS_FOR_COST else None


def hours_of(paid: dict[str, int]) -> Decimal:
    return Decimal(paid["ms"]) / MS_PER_HOUR


def money(amount: Decimal, currency: str, *, exact: bool = False) -> str:
    places = 2
    if exact:
        places = max(2, -int(amount.normalize().as_tuple().exponent))
    return f"{number_format(amount, decimal_pos=places, force_grouping=True)} {currency}"
