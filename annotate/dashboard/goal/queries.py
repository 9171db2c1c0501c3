"""Reads how far the project is from its goal: labels, time and cost still needed."""

import math
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from django.db.models import Count, Sum
from django.db.models.functions import Coalesce
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.caching import cached_if_slow
from annotate.core.numbers import format_integer, format_number, format_percent
from annotate.criteria import Criterion
from annotate.fitting.forecast_rows import probability_by, stored_forecast
from annotate.fitting.needed import Needed, current_goal, n_labels_since, remaining_labels
from annotate.models import IMPORTED_APP_VERSION, Label, Project
from annotate.models.goals import Goal, PricePer
from models_engine.models import Fit

MIN_LABELS_FOR_COST = 10  # labels with a time, below which an hourly cost is not forecast
MS_PER_HOUR = 3_600_000


@dataclass(frozen=True)
class GoalStatus:
    """sentence: the goal; verdict: "met", "confirming", "open", "early", "parts", "few", "far" or "waiting" for the
    next fit; rule: when "you can stop" is said, "" of goals that are counted.

    likely: the time until it is met, in words, "" where nothing is forecast.   by_deadline: P(met by the deadline),
    None without one and where the forecast does not reach so far.   reach, where the goal is "far": the nearest value
    of this kind of goal that is within reach, if there is one.
    """

    kind: str
    sentence: str
    verdict: str
    stands: str
    needed: Needed | None
    likely: str = ""
    by_deadline: float | None = None
    reach: float | None = None
    rule: str = ""
    stopping_error: dict[str, Any] | None = None  # as models_engine.analysis.stopping_errors.StoppingError

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
    if project.ranks_counts:
        return GoalStatus(project.goal, goal_sentence(project), "counts", "", None)
    kept = current_goal(criterion, fit)
    if fit is None or kept is None:
        return GoalStatus(project.goal, goal_sentence(project), "waiting", "", None)
    needed = None if kept["met"] else remaining_labels(kept["needed"], n_labels_since(criterion, fit))
    verdict = (
        "met" if kept["met"] else "confirming" if kept.get("looks") else "open" if needed else kept["why"] or "far"
    )
    stands, reach = current_state_sentence(project, kept.get("state")), kept.get("reach")
    rule, error = rule_sentence(project, kept.get("limit"), kept.get("error")), kept.get("error")
    status = GoalStatus(
        project.goal, goal_sentence(project), verdict, stands, needed, reach=reach, rule=rule, stopping_error=error
    )
    return replace(status, **likely_time(criterion, now)) if needed else status


def likely_time(criterion: Criterion, now: datetime) -> dict[str, Any]:
    """Return `likely` and `by_deadline` of GoalStatus, from the forecast that the worker stored for the same goal."""
    project = criterion.project
    row = stored_forecast(project)
    goal = row.figures["goals"].get(str(criterion.number)) if row else None
    if row is None or row.as_of is None or goal is None:
        return {}
    if (goal["kind"], goal["value"]) != (project.goal, project.goal_value):
        return {}
    gone = (now - row.as_of).total_seconds() / 3600
    hours = [None if one is None else max(one - gone, 0.0) for one in goal["hours"]]
    deadline = project.goal_deadline
    by = None if deadline is None else probability_by(goal, row.as_of, deadline)
    return {"likely": time_words(hours, row.figures["horizon"]), "by_deadline": by}


def time_words(hours: list[float | None], horizon: float) -> str:
    """Return how long, in words, from hours [low, middle, high] of which those beyond the horizon are None."""
    low, middle, high = hours
    values = {"farthest": span_words(horizon)}
    if low is None:
        return _("more than %(farthest)s") % values
    values["low"] = span_words(low)
    if middle is None:
        return _("more than %(farthest)s (at least %(low)s)") % values
    values["middle"] = span_words(middle)
    if high is None:
        return _("about %(middle)s (%(low)s to more than %(farthest)s)") % values
    values["high"] = span_words(high)
    if values["low"] == values["high"]:
        return _("about %(middle)s") % values
    return _("about %(middle)s (%(low)s to %(high)s)") % values


def goal_sentence(project: Project) -> str:
    if project.goal == Goal.TOP:
        return _("The top %(k)d are clear: each of them belongs there.") % {"k": project.top_k}
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


def rule_sentence(project: Project, limit: float | None, error: dict[str, Any] | None) -> str:
    """Return when "you can stop" is said, and how often too early; "" of goals that are counted.

    error: share, low, high and n_said in simulations; None where that was not measured.
    """
    if limit is None:
        return ""
    if project.goal == Goal.TOP:
        words = _("they all belong there with a probability of %(n)s or more") % {"n": format_number(1 - limit)}
    elif project.goal == Goal.WIDTH:
        words = _("the widest interval is %(n)s or less") % {"n": format_number(limit)}
    elif project.goal == Goal.RELIABILITY:
        words = _("the reliability is estimated as %(n)s or more") % {"n": format_number(1 - limit)}
    elif project.goal == Goal.PLACES:
        words = _("places are estimated to be off by %(n)s or less") % {"n": format_number(limit)}
    else:
        words = _("at each boundary %(n)s%% of the items or fewer are expected on the wrong side") % {
            "n": format_number(100 * limit, 1)
        }
    rule = _("“You can stop” is said once %(words)s, in every ranking over 50 answers.") % {"words": words}
    if error:
        why = _(
            "That is stricter than the goal, because the ranking is looked at often. In simulations with this "
            "estimator and this way of choosing questions it was said of %(n)s projects, and too early of %(share)s "
            "of them (90%% interval: %(low)s to %(high)s)."
        ) % {
            "n": format_integer(error["n_said"]),
            "share": format_percent(error["share"]),
            "low": format_percent(error["low"]),
            "high": format_percent(error["high"]),
        }
    else:
        why = _(
            "That is stricter than the goal, because the ranking is looked at often. How often it is said too early "
            "was not measured for this goal with this estimator, kind of task and way of choosing questions."
        )
    return f"{rule} {why}"


def current_state_sentence(project: Project, state: float | None) -> str:
    if state is None:
        return ""
    if project.goal == Goal.TOP:
        return _("At present the probability of that is %(n)s.") % {"n": format_number(state)}
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
