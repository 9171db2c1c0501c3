"""What is expected to be wrong if a project stops now, in the measure of its goal, and when "you can stop" is said.

The rule is the engine's (models_engine.analysis.done), with an error that was measured under repeated looks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotate.fitting.choosing_posterior import MAX_ITEMS_WITH_COVARIANCES
from annotate.fitting.grades import grade_estimates
from annotate.fitting.reading import Labels
from annotate.labelling.plan.queries import plan_progress
from annotate.models import Project
from annotate.models.goals import COUNTED, Goal
from models_engine.acquisition import Aim
from models_engine.analysis.done import LEVELS, MIN_APART, Wrong, expected_wrong, threshold
from models_engine.analysis.stopping_errors import StoppingError, stopping_error
from models_engine.models import Estimate, Fit
from models_engine.posterior import BasePosterior

# Goals of one ranking of all items, which parts that nothing connects do not have.
OF_ONE_RANKING = (Goal.TOP, Goal.RELIABILITY, Goal.PLACES, Goal.BOUNDARIES)
MEASURES: dict[str, Wrong] = {
    Goal.TOP: "top",
    Goal.WIDTH: "widest",
    Goal.RELIABILITY: "reliability",
    Goal.PLACES: "places",
    Goal.BOUNDARIES: "boundary",
}
BOUNDARY_GOAL = 0.05  # share of the items on the wrong side of a boundary
WHOLE = Aim("whole")
Looks = list[tuple[int, float]]  # labels and what was expected to be wrong


@dataclass(frozen=True)
class Standing:
    """Where a goal stands. state: in its own measure.   wrong: expected, None where the goal is counted or nothing is
    known.   why: in a word, what keeps it from ever being met."""

    state: float | None
    wrong: float | None = None
    is_met: bool = False
    why: str = ""


def allowed(goal: str, value: float) -> float:
    """Return what a goal of this value allows to be wrong."""
    return {Goal.TOP: LEVELS[0], Goal.RELIABILITY: 1 - value, Goal.BOUNDARIES: BOUNDARY_GOAL}.get(Goal(goal), value)


def is_plain(posterior: BasePosterior) -> bool:
    """Tells whether the fit takes everybody for equally careful."""
    return posterior.annotators.reliability is None


def measured_error(project: Project, estimator: str, labels: Labels) -> StoppingError | None:
    """Return how often "you can stop" was said too early in simulations of this goal, estimator and way of choosing
    questions; None where that is not known, as of all but pairs."""
    if project.goal in COUNTED or not (labels.data.sizes == 2).all():
        return None
    adaptive = project.is_adaptive or labels.n_adaptive > 0
    return stopping_error(MEASURES[project.goal], estimator, adaptive=adaptive)


def limit_of(goal: str, value: float, *, plain: bool) -> float | None:
    """Return up to which expected error "you can stop" is said of a goal; None of one that is counted."""
    return None if goal in COUNTED else threshold(MEASURES[goal], allowed(goal, value), plain=plain)


def value_reached(goal: str, wrong: float, *, plain: bool) -> float:
    """Return the value of a goal that would just be reached with this error; of widths, reliability, places."""
    now = wrong / threshold(MEASURES[goal], 1.0, plain=plain)
    return 1 - now if goal == Goal.RELIABILITY else now


def measure_goal(
    project: Project,
    value: float,
    rows: Sequence[Estimate],
    n_parts: int,
    posterior: BasePosterior,
    labels: Labels,
    unit: float,
) -> Standing:
    """Return where the goal stands, from the rows as they are shown.

    unit: what turns utilities into logits of an average person's answer.
    """
    if project.goal == Goal.PLAN:
        plan = plan_progress(project)
        return Standing(plan.n_answers, is_met=plan.is_done)
    if project.goal == Goal.COMPARISONS:
        by_people = dict(zip(labels.item_ids.tolist(), labels.of_people.n_comparisons().tolist(), strict=True))
        fewest = min((by_people[row.item_id] for row in rows), default=None)
        return Standing(fewest, is_met=fewest is not None and fewest >= value)
    if project.goal == Goal.WIDTH:
        if not rows:
            return Standing(None)
        wrong = expected_wrong("widest", np.zeros(len(rows)), unit * np.array([row.sd for row in rows]), WHOLE)
        return Standing(wrong, wrong)
    return measure_goal_in_largest_part(project, value, rows, n_parts, posterior, labels, unit)


def measure_goal_in_largest_part(
    project: Project,
    value: float,
    rows: Sequence[Estimate],
    n_parts: int,
    posterior: BasePosterior,
    labels: Labels,
    unit: float,
) -> Standing:
    """Return where a goal of one ranking stands in the largest part."""
    largest = next(labels.ranked_parts(), None)
    if largest is None or len(largest[1]) < 2:
        return Standing(None)
    if project.goal == Goal.BOUNDARIES:
        graded = grade_estimates(project, rows)
        if graded is None:
            return Standing(None)
        wrong = expected_wrong(
            "boundary", graded.means, graded.deviations, Aim("classes", boundaries=tuple(graded.cuts))
        )
        limit = threshold("boundary", BOUNDARY_GOAL, plain=is_plain(posterior))
        return Standing(sum(state.error <= limit for state in graded.states()), wrong)
    own = posterior.restrict(largest[1])
    if project.goal == Goal.RELIABILITY:
        wrong = expected_wrong("reliability", own.utilities(), own.deviations_at_scale(), WHOLE)
        return Standing(1 - wrong, wrong) if np.isfinite(wrong) else Standing(None)
    few = own.n_items <= MAX_ITEMS_WITH_COVARIANCES
    mean, spread = unit * own.utilities(), unit**2 * own.covariance() if few else unit * own.standard_deviations()
    if project.goal == Goal.PLACES:
        wrong = expected_wrong("places", mean, spread, WHOLE)
        return Standing(wrong, wrong)
    if value >= own.n_items:
        return Standing(None, why="few" if n_parts == 1 else "")
    wrong = expected_wrong("top", mean, spread, Aim("best", k=int(value)), margin=project.tie_margin)
    return Standing(1 - wrong, wrong)


def looks_within(kept: dict[str, Any], wrong: float, n_labels: int, former: Fit | None) -> Looks:
    """Return the first and the last of the fits in a row, up to this one, that were within the limit; [] if it is not.

    kept: kind, value and limit of the goal.   former: the fit before.
    """
    if not wrong <= kept["limit"]:
        return []
    before = (former.diagnostics.get("goal") or {}) if former else {}
    same = all(before.get(name) == kept[name] for name in ("kind", "value", "limit"))
    looks = [(int(n), float(one)) for n, one in before.get("looks") or []] if same else []
    first = [one for one in looks[:1] if one[0] < n_labels]
    return [*first, (n_labels, wrong)]


def n_confirming(looks: Looks) -> int:
    """Return how many labels are still to come until rankings over enough of them agree."""
    return max(MIN_APART - (looks[-1][0] - looks[0][0]), 1)
