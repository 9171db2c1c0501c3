"""Forecasts the labels that a project's goal still needs, under the rule by which it asks, from one fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from annotate.fitting.estimates import LEVEL
from annotate.fitting.goal_measures import is_plain, limit_of, value_reached
from annotate.fitting.grades import grade_estimates
from annotate.fitting.reading import Labels
from annotate.fitting.suggestions import aim_of
from annotate.labelling.plan.queries import plan_progress
from annotate.models import Project
from annotate.models.goals import Goal
from models_engine.analysis.attention import Attention
from models_engine.analysis.scores import common_unit
from models_engine.analysis.stopping import (
    PRIOR_SD,
    Forecast,
    Rule,
    forecast_labels_for_boundaries,
    forecast_labels_for_count,
    forecast_labels_for_places,
    forecast_labels_for_reliability,
    forecast_labels_for_spread,
    forecast_labels_for_top,
    forecast_labels_for_width,
)
from models_engine.models import Estimate
from models_engine.posterior import BasePosterior

MAX_TRIED = 12  # sizes of the top tried where that of the goal is out of reach
HALVINGS = 7  # of the way from the present state to a goal out of reach


class Simulated(TypedDict):
    """What every simulated forecast takes."""

    n_labels: int
    rng: np.random.Generator
    prior_sd: float


@dataclass(frozen=True, eq=False)
class Known:
    """What a fit knows. compared: (n_items,) comparisons.   unit: what turns utilities into logits."""

    project: Project
    labels: Labels
    posterior: BasePosterior
    compared: NDArray
    rows: Sequence[Estimate]
    unit: float

    @property
    def n_labels(self) -> int:
        return self.labels.data.n_labels

    @property
    def per_label(self) -> float:
        return max(self.compared.sum() / self.n_labels, 1.0) if self.n_labels else float(self.project.k)

    @property
    def prior_sd(self) -> float:
        return float(getattr(self.posterior, "prior_sd", None) or PRIOR_SD)

    @cached_property
    def own(self) -> BasePosterior:
        return self.posterior.restrict(np.flatnonzero(self.labels.ranked))

    @cached_property
    def rule(self) -> Rule | None:
        """Return the rule by which the project asks; None of the balanced one, and where it can't be told yet."""
        aim = aim_of(self.project, self.unit * self.own.utilities()) if self.project.is_adaptive else None
        if aim is None or not self.n_labels:
            return None
        attention = Attention(
            aim,
            self.project.control_share,
            margin=self.project.tie_margin,
            adaptive_so_far=self.labels.n_adaptive / self.n_labels,
            unit=self.unit,
        )
        return Rule(attention, self.compared[self.labels.ranked])

    def forecast(self, value: float) -> Forecast:
        """Return the labels until "you can stop" may be said of the goal with this value."""
        compared = self.compared[self.labels.ranked]
        if self.project.goal == Goal.PLAN:
            left = float(plan_progress(self.project).n_left)
            return Forecast(left, left, left)
        if self.project.goal == Goal.COMPARISONS:
            return forecast_labels_for_count(compared, int(value), per_label=self.per_label)
        limit = limit_of(self.project.goal, value, plain=is_plain(self.posterior)) or 0.0
        if self.project.goal == Goal.WIDTH:
            return self._for_width(limit)
        if self.project.goal == Goal.RELIABILITY:
            return self._for_reliability(1 - limit)
        options = self._options()
        if self.project.goal == Goal.PLACES:
            return forecast_labels_for_places(self.own, limit, **options, rule=self.rule)
        if self.project.goal == Goal.BOUNDARIES:
            graded = grade_estimates(self.project, self.rows)
            cuts = graded.cuts / common_unit(self.own) if graded else np.zeros(0)
            return forecast_labels_for_boundaries(self.own, cuts, **options, certainty=1 - limit, rule=self.rule)
        margin = self.project.tie_margin / self.unit
        return forecast_labels_for_top(self.own, int(value), **options, wrong=limit, margin=margin, rule=self.rule)

    def _options(self) -> Simulated:
        return {"n_labels": self.n_labels, "rng": np.random.default_rng(0), "prior_sd": self.prior_sd}

    def _for_width(self, width: float) -> Forecast:
        if self.rule is not None:
            return forecast_labels_for_spread(self.own, width=width / self.unit, **self._options(), rule=self.rule)
        ranked, along = self.labels.ranked, self.posterior.along_scale
        return forecast_labels_for_width(
            self.unit * self.posterior.standard_deviations()[ranked],
            self.compared[ranked],
            width,
            per_label=self.per_label,
            prior_sd=self.unit * self.prior_sd,
            level=LEVEL,
            along_scale=None if along is None else self.unit * along[ranked],
        )

    def _for_reliability(self, reliability: float) -> Forecast:
        if self.rule is not None:
            return forecast_labels_for_spread(self.own, reliability=reliability, **self._options(), rule=self.rule)
        return forecast_labels_for_reliability(
            self.own.utilities(),
            self.own.deviations_at_scale(),
            self.compared[self.labels.ranked],
            reliability,
            per_label=self.per_label,
            prior_sd=self.prior_sd,
        )


def find_reachable(known: Known, value: float, wrong: float | None) -> float | None:
    """Return the value nearest to the goal's that has a forecast: of the top its size; None where none is found.

    wrong: what is expected to be wrong now.
    """
    goal = known.project.goal
    if goal == Goal.TOP:
        others = [one for one in range(1, known.posterior.n_items) if one != value]
        nearest = sorted(others, key=lambda one: (abs(one - value), one))[:MAX_TRIED]
        return next((float(one) for one in nearest if known.forecast(one).is_known), None)
    if wrong is None or goal not in (Goal.WIDTH, Goal.RELIABILITY, Goal.PLACES):
        return None
    near, far = value_reached(goal, wrong, plain=is_plain(known.posterior)), value  # within reach, out of reach
    start = near
    for _halving in range(HALVINGS):
        middle = (near + far) / 2
        near, far = (middle, far) if known.forecast(middle).is_known else (near, middle)
    return near if abs(near - start) > abs(value - start) / 2**HALVINGS else None


def round_up(value: float) -> int | None:
    return int(np.ceil(value)) if np.isfinite(value) else None
