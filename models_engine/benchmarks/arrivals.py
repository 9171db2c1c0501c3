"""Items that arrive in a fitted project: what answers reach, with and without what features say as the start.

A simulated crowd has ordered OLD items; NEW more arrive, whose features tell a share of the differences between items.
Questions go on by the same policy from each of STARTS. Places are the published ones: by answers alone or, of an item
without any, as predicted where features help to predict the old items, which is decided as the site does.
"""

import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models_engine.acquisition import Aim, candidate_sets
from models_engine.analysis.collecting.collect import Collection, collect
from models_engine.analysis.collecting.measures import measure_fit
from models_engine.analysis.collecting.quick_fit import QuickFit
from models_engine.analysis.collecting.rules import Adaptive
from models_engine.analysis.collecting.sets import Pair
from models_engine.analysis.collecting.worlds import Scenario, World, draw_world
from models_engine.analysis.held_out_items import held_out_gain
from models_engine.analysis.unseen_items import Predictions, predict_unseen
from models_engine.benchmarks.label_ratio import labels_ratio
from models_engine.covariance.forms import DenseCovariance
from models_engine.data import Comparisons
from models_engine.estimators.bradley_terry import QUICK
from models_engine.posterior import Diagnostics, GaussianPosterior

__all__ = ["POLICIES", "SHARES", "STARTS", "Arrival", "format_arrivals", "measure_arrivals"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
OLD, NEW, N_BEFORE, K = 100, 150, 1_000, 10
SCENARIO = Scenario(n_items=OLD + NEW)
LOOKS = np.arange(25, 601, 25)
PLACE = 15  # of the looks: what 400 answers reach with the balanced rule first is looked for
SHOWN = (3, 7, PLACE, 23)  # of the looks: 100, 200, 400 and 600 answers
MIN_APPEARANCES = 4  # as on the site: an item shown less often goes first, by the balanced rule
N_NOISE = 3  # features that tell nothing, beside the one that does
SHARES = (0.0, 0.25, 0.5, 0.75)
FIRST, UNKNOWN, PREDICTED = STARTS = ("balanced first", "unknown", "predicted")
ABOUT = {
    FIRST: "shown 4 times by the balanced rule, then among the candidates",
    UNKNOWN: "at once among the candidates, as items that nothing is known of",
    PREDICTED: "at once among them, with mean and sd of the prediction until answers are in a fit",
}
# Share of balanced questions, and what counts: the measure of a fit (collecting.measures.Quality) that the aim is for.
POLICIES = {"best": (0.3, "recall"), "classes": (0.1, "classes"), "whole": (0.1, "tau")}


def aim_of(policy: str, world: World) -> Aim:
    """Return the aim of a policy: the best K, four classes by fixed shares of the spread, or the whole order."""
    if policy == "classes":
        return Aim("classes", boundaries=tuple(class_cuts(world).tolist()))
    return Aim("best", k=K) if policy == "best" else Aim("whole")


def class_cuts(world: World) -> Floats:
    """Return the boundaries of four classes."""
    return np.array([-0.674, 0.0, 0.674]) * float(world.truth.std())


class ArrivalRule(Adaptive):
    """The engine's candidates among the items that are there. start: one of STARTS, for the items that arrive."""

    def __init__(self, world: World, rng: np.random.Generator, policy: str, features: Floats) -> None:
        super().__init__(world, rng, aim_of(policy, world), POLICIES[policy][0])
        self.features, self.start = features, FIRST
        self.there = np.arange(world.n_items) < OLD
        self.shown[OLD:] = np.inf

    def arrive(self, start: str) -> None:
        """Let the new items be asked about."""
        self.start = start
        self.there[:] = True
        self.shown[OLD:] = 0

    def pair(self, who: int) -> Pair:
        """Return a pair; outside the balanced share first what was shown too rarely, where the start says so."""
        late = self.start == FIRST and bool((self.shown < MIN_APPEARANCES).any())
        if late and self.rng.random() >= self.share:
            return self.least_compared(who)
        return super().pair(who)

    def observe_fit(self, fit: QuickFit) -> None:
        """Choose candidates where every item is as the fit has it."""
        self.choose(fit, np.ones(self.world.n_items, dtype=bool))

    def choose(self, fit: QuickFit, answered: Bools) -> None:
        """Choose candidates. answered (n_items,): which items have answers in the fit."""
        items = np.flatnonzero(self.there)
        place = np.full(self.world.n_items, -1)
        place[items] = np.arange(len(items))
        mean, covariance = self.believed(fit, answered)
        table = candidate_sets(
            mean[items],
            np.sqrt(np.diagonal(covariance))[items],
            self.aim,
            covariance=covariance[np.ix_(items, items)],
            lapse=min(float(fit.lapse.mean()), 0.49),
            asked=place[self.sets.full()],
            rng=self.rng,
        )
        self.left = [(a, b) for a, b in items[table.sets].tolist()]

    def believed(self, fit: QuickFit, answered: Bools) -> tuple[Floats, Floats]:
        """Return mean and covariance of the utilities by which questions are chosen."""
        new = ~answered
        if self.start != PREDICTED or not new.any():
            return fit.mean, fit.covariance
        predicted, mean, covariance = (
            predict(fit, self.features, answered),
            from_answered(fit, answered),
            fit.covariance.copy(),
        )
        mean[new] = predicted.mean
        covariance[new] = covariance[:, new] = 0.0
        covariance[new, new] = predicted.sd**2
        return mean, covariance


def predict(fit: QuickFit, features: Floats, answered: Bools) -> Predictions:
    """Return the utilities of the items without answers, from the mean of the others."""
    done = Diagnostics(True, 1, (0.0,), 0.0, "")
    posterior = GaussianPosterior(fit.mean, DenseCovariance(fit.covariance), done, prior_sd=fit.prior_sd)
    one = np.zeros(len(answered), dtype=np.int64)
    new = np.flatnonzero(~answered)
    return predict_unseen(posterior, features, one, answered, new, one[new])


def from_answered(fit: QuickFit, answered: Bools) -> Floats:
    """Return the utilities from the mean of the items with answers."""
    return fit.mean - fit.mean[answered].mean()


def draw_features(world: World, share: float, rng: np.random.Generator) -> Floats:
    """Draw (n_items, 1 + N_NOISE) features; the first explains a share of how utilities differ."""
    found = rng.standard_normal((world.n_items, 1 + N_NOISE))
    found[:, 0] = np.sqrt(1 - share) * found[:, 0] + np.sqrt(share) * world.truth / world.truth.std()
    return found


@dataclass(frozen=True)
class Arrival:
    """One start in one project.

    helps: whether the old items show a gain by features.   reached, off, n_new: by number of answers, as LOOKS: the
    measure of the policy; how far the new items' places are off on the average, as a share of all; answers about them.
    """

    policy: str
    share: float
    start: str
    seed: int
    helps: bool
    reached: tuple[float, ...]
    off: tuple[float, ...]
    n_new: tuple[int, ...]
    cpu_s: float


def measure_arrivals(policy: str, share: float, seed: int, starts: Sequence[str] = STARTS) -> list[Arrival]:
    """Simulate one project up to the arrival, and go on from there by each start, with the same people."""
    world = draw_world(SCENARIO, np.random.default_rng([seed, 7]))
    rng = np.random.default_rng([seed, 8])
    features = draw_features(world, share, rng)
    before = Collection(world, ArrivalRule(world, rng, policy, features), rng)
    last: list[QuickFit] = []
    collect(before, looks=[N_BEFORE], see=lambda _, fit: last.append(fit))
    helps = has_gain(before, features)
    return [_go_on(deepcopy(before), last[0], policy, share, start, seed, helps) for start in starts]


def has_gain(collection: Collection, features: Floats) -> bool:
    """Return whether features help to predict withheld ones of the old items, as the site decides it."""
    winner, loser, who = (np.array(one) for one in (collection.winner, collection.loser, collection.annotator))
    data = Comparisons.from_pairs(winner, loser, np.ones(len(winner)), who, n_items=OLD, item_features=features[:OLD])
    found = held_out_gain(data, QUICK, np.ones(OLD, dtype=bool))
    return found.gain > found.error


def _go_on(
    collection: Collection, fit: QuickFit, policy: str, share: float, start: str, seed: int, helps: bool
) -> Arrival:
    """Ask about all items from here on, by fits that follow each other as in collect()."""
    begun = time.process_time()
    world, rule, rng = collection.world, collection.rule, collection.rng
    if not isinstance(rule, ArrivalRule):
        raise TypeError(f"the rule is a {type(rule).__name__}")
    rule.arrive(start)
    low, high = world.scenario.lag
    running, answered = fit, compared(collection)
    rule.choose(running, answered)
    due, visitors = int(rng.integers(low, high + 1)), list[int]()
    found = list[tuple[float, float, int]]()
    for n in range(1, LOOKS[-1] + 1):
        visitors = visitors or world.visitors(256, rng).tolist()
        collection.ask(visitors.pop())
        if n >= due:
            rule.choose(running, answered)
            running, answered = collection.fit(running), compared(collection)
            due = n + int(rng.integers(low, high + 1))
        if n in LOOKS:
            shown = published(collection, running, rule.features if helps else None)
            quality = measure_fit(shown, world.truth, K, class_cuts(world))
            off = np.abs(places(shown.mean) - places(world.truth))[OLD:].mean() / world.n_items
            pairs = np.array([collection.winner, collection.loser])[:, N_BEFORE:]
            n_new = int((pairs >= OLD).any(axis=0).sum())
            found.append((float(getattr(quality, POLICIES[policy][1])), float(off), n_new))
    reached, of_new, n_new_by_look = zip(*found, strict=True)
    seconds = time.process_time() - begun
    return Arrival(policy, share, start, seed, helps, reached, of_new, n_new_by_look, seconds)


def compared(collection: Collection) -> Bools:
    """Return (n_items,) which items have answers."""
    n_items = collection.world.n_items
    return np.bincount(collection.winner + collection.loser, minlength=n_items) > 0


def published(collection: Collection, start: QuickFit, features: Floats | None) -> QuickFit:
    """Return the fit of all answers, items without any as predicted, or in the middle where nothing is predicted."""
    fit, answered = collection.fit(start), compared(collection)
    mean = from_answered(fit, answered)
    mean[~answered] = 0.0 if features is None or answered.all() else predict(fit, features, answered).mean
    return replace(fit, mean=mean)


def places(utilities: Floats) -> Floats:
    """Return (n_items,) places, the best at 0."""
    return np.argsort(np.argsort(-utilities)).astype(np.float64)


def format_arrivals(found: Sequence[Arrival]) -> str:
    """Format by policy and share: ratios of answers to those with the balanced rule first, and what is reached.

    Standard errors over projects; of differences by project from the balanced rule first.
    """
    lines = []
    for policy, share in dict.fromkeys((one.policy, one.share) for one in found):
        here = [one for one in found if (one.policy, one.share) == (policy, share)]
        of = {start: [one for one in here if one.start == start] for start in dict.fromkeys(one.start for one in here)}
        first = of[FIRST]
        helps = sum(one.helps for one in first)
        lines.append(f"{policy}, features explain {100 * share:.0f}%: gain shown in {helps} of {len(first)} projects")
        measure = POLICIES[policy][1]
        heads = [f"answers for {measure}", *(f"{measure} at {LOOKS[at]}" for at in SHOWN)]
        heads += [f"new off at {LOOKS[at]}" for at in SHOWN] + [f"about new of {LOOKS[PLACE]}"]
        lines.append(f"  {'':<16}" + "".join(f"{head:>18}" for head in heads))
        for start, ours in of.items():
            cells = [_ratio(first, ours)]
            cells += [_difference(first, ours, lambda one, at=at: one.reached[at]) for at in SHOWN]  # type: ignore[misc]
            cells += [_difference(first, ours, lambda one, at=at: one.off[at]) for at in SHOWN]  # type: ignore[misc]
            cells.append(f"{np.mean([one.n_new[PLACE] for one in ours]):.0f}")
            lines.append(f"  {start:<16}" + "".join(f"{cell:>18}" for cell in cells))
    return "\n".join(lines)


def _ratio(first: Sequence[Arrival], ours: Sequence[Arrival]) -> str:
    if ours is first:
        return "1"
    middle, error = labels_ratio(
        LOOKS, *(np.array([one.reached for one in some]) for some in (first, ours)), place=PLACE
    )
    return f"{middle:.2f} ±{error:.2f}" if np.isfinite(middle) else f"over {LOOKS[-1] / LOOKS[PLACE]:.2f}"


def _difference(first: Sequence[Arrival], ours: Sequence[Arrival], value: Callable[[Arrival], float]) -> str:
    """Return the first's mean, or how far ours is from it, in per cent."""
    base, own = (100 * np.array([value(one) for one in some]) for some in (first, ours))
    if ours is first or len(own) < 2:
        return f"{own.mean():.1f}%"
    apart = own - base
    return f"{apart.mean():+.1f} ±{apart.std(ddof=1) / np.sqrt(len(apart)):.1f}"
