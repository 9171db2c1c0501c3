"""Rows to arrays and back: a project's labels as Comparisons, a posterior as Estimate and AnnotatorEstimate rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from annotate.fitting.answers import Ints
from annotate.fitting.reading import Floats, Labels, RankedItems
from annotate.fitting.tastes import gamma_interval, loadings_of, scores_of
from annotate.models import Project
from models_engine.analysis.agreement import consensus_inflation, count_first_shown_wins
from models_engine.analysis.classes import rank_classes
from models_engine.analysis.cycles import count_cycles
from models_engine.analysis.scores import compute_scores
from models_engine.analysis.tiers import assign_tiers, classify_pairs
from models_engine.constants import Z90
from models_engine.data import Comparisons
from models_engine.models import AnnotatorEstimate, Estimate, Fit
from models_engine.posterior import BasePosterior

LEVEL = 0.9
NEXT_STATES = {
    "separated": Estimate.NextState.SEPARATED,
    "tied": Estimate.NextState.TIED,
    "not enough data": Estimate.NextState.NOT_ENOUGH,
}


def estimate_rows(
    fit: Fit,
    project: Project,
    labels: RankedItems,
    posterior: BasePosterior,
    predicted: Mapping[int, Mapping[str, Any]] | None = None,
) -> Iterator[list[Estimate]]:
    """Yield the rows of each connected part, largest first; ranks, tiers and P(top k) never reach across parts.

    An item never compared is a part of its own and keeps the prior, unless its figures are among those predicted
    (PredictedItems.figures).
    """
    compared, parts = labels.data.n_comparisons(), labels.parts()
    divisive = posterior.divisiveness()
    loadings = loadings_of(posterior)
    columns = EstimateColumns(fit, labels.item_ids, compared, divisive if divisive.any() else None, loadings)
    alone = np.flatnonzero((compared == 0) & labels.ranked)
    for part, items in labels.ranked_parts():
        yield estimates_of_part(columns, project, posterior, part, items)
    if len(alone):
        yield _estimates_alone(columns, posterior, parts[alone], alone, predicted or {})


def centred_utilities(posterior: BasePosterior, labels: RankedItems) -> tuple[Floats, Floats]:
    """Return (utilities, standard deviations), both (n_items,), as the rows have them: centred over the ranked items of
    their part. Retired items have the utility that goes with it, and the deviation around the mean of all."""
    utility, deviation, parts = posterior.utilities().copy(), posterior.standard_deviations().copy(), labels.parts()
    for part, items in labels.ranked_parts():
        utility[parts == part] -= utility[items].mean()
        deviation[items] = deviations_of_part(posterior, items)
    return utility, deviation


def deviations_of_part(posterior: BasePosterior, items: Ints) -> Floats:
    """Return the standard deviations of a part's utilities around their mean, (n_items,). An item whose rivals are all
    retired keeps that around the mean of all items: around itself it would seem to be known for certain."""
    return (
        posterior.standard_deviations()[items] if len(items) == 1 else posterior.restrict(items).standard_deviations()
    )


def score_arrays(posterior: BasePosterior, labels: RankedItems) -> dict[str, NDArray[np.float32]]:
    """Return score, score_low, score_high, each (n_items,), as the rows have them; NaN for items without a place."""
    found = np.full((3, len(labels.item_ids)), np.nan, dtype=np.float32)
    for _part, items in labels.ranked_parts():
        part = compute_scores(posterior.restrict(items), LEVEL)
        found[:, items] = part.score, part.low, part.high
    return dict(zip(("score", "score_low", "score_high"), found, strict=True))


@dataclass(frozen=True, eq=False)
class EstimateColumns:
    """What every Estimate of a fit is made of besides its part's figures."""

    fit: Fit
    item_ids: Ints
    n_comparisons: Ints
    divisiveness: Floats | None
    loadings: list[list[float]] | None

    def row(self, item: int, **figures: Any) -> Estimate:
        divisiveness = None if self.divisiveness is None else float(self.divisiveness[item])
        return Estimate(
            fit=self.fit,
            item_id=int(self.item_ids[item]),
            n_comparisons=int(self.n_comparisons[item]),
            divisiveness=divisiveness,
            loadings=None if self.loadings is None else self.loadings[item],
            **figures,
        )


def estimates_of_part(
    columns: EstimateColumns,
    project: Project,
    posterior: BasePosterior,
    part: int,
    items: Ints,
    n_draws: int | None = None,
) -> list[Estimate]:
    """Return rows in rank order. The draws behind the ranks come from a seed, so that equal labels give equal rows."""
    own = posterior.restrict(items)
    mean, deviation = own.utilities(), deviations_of_part(posterior, items)
    check_finite(columns.item_ids[items], mean, deviation)
    rng = np.random.default_rng(columns.fit.seed)
    ranks = own.rank_summary(LEVEL, project.top_k, rng=rng, n_samples=n_draws)
    order = np.argsort(ranks.rank)
    tier, classes, score = assign_tiers(own, order), rank_classes(own, ranks), compute_scores(own, LEVEL)
    states = classify_pairs(own, order[:-1], order[1:], margin=project.tie_margin)
    next_states = [NEXT_STATES[state] for state in states.tolist()] + [Estimate.NextState.LAST]
    return [
        columns.row(
            int(items[place]),
            part=part,
            utility=float(mean[place]),
            sd=float(deviation[place]),
            low=float(mean[place] - Z90 * deviation[place]),
            high=float(mean[place] + Z90 * deviation[place]),
            score=float(score.score[place]),
            score_low=float(score.low[place]),
            score_high=float(score.high[place]),
            rank=int(ranks.rank[place]),
            rank_low=int(ranks.low[place]),
            rank_high=int(ranks.high[place]),
            p_top=float(ranks.p_top_k[place]),
            tier=int(tier[index]),
            rank_class=int(classes.number[place]),
            highest_class=int(classes.highest[place]),
            next_state=next_states[index],
        )
        for index, place in enumerate(order.tolist())
    ]


def _estimates_alone(
    columns: EstimateColumns,
    posterior: BasePosterior,
    parts: Ints,
    items: Ints,
    predicted: Mapping[int, Mapping[str, Any]],
) -> list[Estimate]:
    """Return the rows of items never compared. Those predicted share the first number, so that they come before the
    others and by their places; the others have the numbers left."""
    mean, deviation = posterior.utilities()[items], posterior.standard_deviations()[items]
    check_finite(columns.item_ids[items], mean, deviation)
    only_one = {"rank": 1, "rank_low": 1, "rank_high": 1, "p_top": 1.0, "tier": 1}
    rows, numbers = [], np.sort(parts)
    left = iter(numbers[sum(item in predicted for item in items.tolist()) :].tolist())
    for item, m, d in zip(items.tolist(), mean.tolist(), deviation.tolist(), strict=True):
        own = {"utility": m, "sd": d, "low": m - Z90 * d, "high": m + Z90 * d, **only_one}
        prediction = predicted.get(item)
        number = int(numbers[0]) if prediction else next(left)
        rows.append(columns.row(item, part=number, next_state=Estimate.NextState.LAST, **own | dict(prediction or {})))
    return rows


def check_finite(item_ids: Ints, mean: Floats, deviation: Floats) -> None:
    for place in np.flatnonzero(~(np.isfinite(mean) & np.isfinite(deviation)))[:1]:
        raise ArithmeticError(
            f"the estimator gave item {item_ids[place]} the utility {mean[place]} and the standard deviation "
            f"{deviation[place]}; choose another estimator in the project's settings and report this."
        )


def annotator_estimate_rows(fit: Fit, labels: Labels, posterior: BasePosterior) -> list[AnnotatorEstimate]:
    """Return one row per annotator with a counted label.

    Agreement, circles and the choice of the item shown first leave out answers to questions that the ranking so far
    chose: of items close to each other they would be worse, and of whoever was asked most of those, the worst.
    """
    n_labels = np.bincount(labels.data.annotators, minlength=len(labels.annotator_ids))
    figures: dict[str, Floats | None] = {"agreement": consensus_agreement(labels.unchosen, posterior.utilities())}
    counts = count_answers(labels.unchosen, posterior.utilities())
    summary = posterior.annotator_summary()
    figures["taste_distance"], scores = summary.taste_distance, scores_of(posterior)
    if summary.taste_distance is not None and summary.taste_distance_sd is not None:
        low, high = gamma_interval(summary.taste_distance, summary.taste_distance_sd, LEVEL)
        figures |= {"taste_distance_low": low, "taste_distance_high": high}
    if summary.reliability is not None and summary.reliability_sd is not None:
        if summary.reliability_low is None or summary.reliability_high is None:
            low, high = beta_interval(summary.reliability, summary.reliability_sd)
        else:
            low = np.minimum(summary.reliability_low, summary.reliability)
            high = np.maximum(summary.reliability_high, summary.reliability)
        figures |= {"reliability": summary.reliability, "reliability_low": low, "reliability_high": high}
    return [
        AnnotatorEstimate(
            fit=fit,
            annotator_id=int(annotator),
            n_labels=int(n_labels[place]),
            scores=None if scores is None else scores[place],
            **{name: None if values is None else int(values[place]) for name, values in counts.items()},
            **{name: _known(values, place) for name, values in figures.items()},
        )
        for place, annotator in enumerate(labels.annotator_ids)
    ]


def _known(values: Floats | None, place: int) -> float | None:
    return float(values[place]) if values is not None and np.isfinite(values[place]) else None


def consensus_agreement(data: Comparisons, utilities: Floats) -> Floats:
    """Return (n_annotators,) share of each annotator's choices that follow the consensus; NaN for those who
    only tied."""
    n, agreed = count_decided(data, utilities)
    return np.divide(agreed, n, out=np.full(data.n_annotators, np.nan), where=n > 0)


def count_decided(data: Comparisons, utilities: Floats) -> tuple[Ints, Ints]:
    """Return (n_annotators,) how many comparisons both they and the consensus decide, and how many of those alike."""
    pairs = data.pairs()
    margin = utilities[pairs.left] - utilities[pairs.right]
    either = (pairs.outcome != 0.5) & (margin != 0)
    follows = (margin > 0) == (pairs.outcome == 1)
    n = np.bincount(pairs.annotator[either], minlength=data.n_annotators)
    return n, np.bincount(pairs.annotator[either & follows], minlength=data.n_annotators)


def count_answers(data: Comparisons, utilities: Floats) -> dict[str, Ints | None]:
    """Return columns of AnnotatorEstimate that are counted and not inferred."""
    circles, (sides, first) = count_cycles(data), count_first_shown_wins(data)
    return {
        # Rounded up: whoever decided anything has an interval.
        "n_decided": np.ceil(count_decided(data, utilities)[0] / consensus_inflation(data)).astype(np.int64),
        "n_triads": None if circles is None else circles.triads,
        "n_cycles": None if circles is None else circles.circular,
        "n_sides": sides,
        "n_first": first,
    }


def beta_interval(mean: Floats, deviation: Floats) -> tuple[Floats, Floats]:
    """Return the ends of the central 90% of the Beta distribution with these moments: it stays inside 0..1.

    Widened to hold the mean, which a very skewed distribution has beyond most of itself.
    """
    m = np.clip(mean, 1e-6, 1 - 1e-6)
    strength = np.maximum(m * (1 - m) / np.maximum(deviation, 1e-9) ** 2 - 1, 1e-3)
    tail = (1 - LEVEL) / 2
    a, b = m * strength, (1 - m) * strength
    return np.minimum(betaincinv(a, b, tail), m), np.maximum(betaincinv(a, b, 1 - tail), m)
