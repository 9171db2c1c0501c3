"""Rows to arrays and back: a project's labels as Comparisons, a posterior as Estimate and AnnotatorEstimate rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Exists, OuterRef, Q
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from annotate.fitting_answers import to_comparisons
from annotate.fitting_features import annotator_features, item_features
from annotate.fitting_tastes import gamma_interval, loadings_of, scores_of
from annotate.models import Item, PresentedItem, Project
from annotate.orders import COUNTED
from models_engine.agreement import first_place_counts
from models_engine.cycles import cycles
from models_engine.data import Comparisons
from models_engine.models import AnnotatorEstimate, Estimate, Fit
from models_engine.posterior import BasePosterior
from models_engine.tiers import pair_states, tiers

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
LEVEL = 0.9
Z = float(ndtri((1 + LEVEL) / 2))
LABEL = "presentation__label__"
NEXT_STATES = {
    "separated": Estimate.NextState.SEPARATED,
    "tied": Estimate.NextState.TIED,
    "not enough data": Estimate.NextState.NOT_ENOUGH,
}


@dataclass(frozen=True, eq=False)
class Labels:
    """A project's unvoided labels that say something, in the order they were given.

    item_ids (n_items,): primary keys, ascending, of every item that is not retired or has a label; ranked (n_items,):
    which are not retired.   annotator_ids (n_annotators,): by their first label, so that newcomers come last.
    """

    item_ids: Ints
    ranked: NDArray[np.bool_]
    annotator_ids: Ints
    data: Comparisons

    def parts(self) -> Ints:
        """(n_items,) number of the connected part; those with most items that are ranked come first."""
        return self.data.connected_parts(self.ranked)

    def ranked_parts(self) -> Iterator[tuple[int, Ints]]:
        """(number, items ranked and compared) of each part that has any, the largest first."""
        kept = np.flatnonzero(self.ranked & (self.data.n_comparisons() > 0))
        parts = self.parts()[kept]
        order = np.argsort(parts, kind="stable")
        for places in np.split(order, np.flatnonzero(np.diff(parts[order])) + 1):
            if len(places):
                yield int(parts[places[0]]), kept[places]


def read_labels(project: Project) -> Labels | None:
    """The labels in one query, the items in another; None for a project without items.

    Where there are several criteria, what the labels say by the one that the project is looked at by.
    """
    columns = (f"{LABEL}annotator_id", *(answer_to(project) + name for name in ("chosen_id", "ranks")))
    rows = (
        PresentedItem.objects.filter(presentation__label__project=project, **counted(project))
        .order_by("presentation__label__pk", "position")
        .values_list("item_id", *columns)
    )
    numbers = (
        (item, annotator, chosen or 0, int(ranks or 0)) for item, annotator, chosen, ranks in rows.iterator(20_000)
    )
    table: Ints = np.fromiter(numbers, dtype=np.dtype((np.int64, 4)))
    shown = table.reshape(-1, project.k, 4)  # label, place (0 is A), (item, annotator, chosen, ranks)
    item_ids, retired = read_items(project)
    if not len(item_ids):
        return None
    annotator_ids, annotators = by_first_use(shown[:, 0, 1])
    chosen, ranks = shown[:, 0, 2], shown[:, 0, 3]
    data = to_comparisons(
        project,
        np.searchsorted(item_ids, shown[:, :, 0]),
        np.where(chosen == 0, -1, np.searchsorted(item_ids, chosen)),
        ranks,
        annotators=annotators,
        n_items=len(item_ids),
        n_annotators=len(annotator_ids),
        item_features=item_features(project, item_ids),
        annotator_features=annotator_features(project, annotator_ids),
    )
    return Labels(item_ids, ~retired, annotator_ids, data)


def answer_to(project: Project) -> str:
    """From a PresentedItem, the way to the answer by the project's criterion."""
    return LABEL if project.criterion == 1 else f"{LABEL}further__"


def counted(project: Project) -> dict[str, Any]:
    """What filters PresentedItem for labels that say something by the project's criterion."""
    answer = answer_to(project)
    return {
        f"{LABEL}voided_at": None,
        f"{answer}outcome__in": COUNTED,
        "presentation__purpose__in": project.counted_purposes,
        **({} if answer == LABEL else {f"{answer}criterion": project.criterion}),
    }


def read_items(project: Project) -> tuple[Ints, NDArray[np.bool_]]:
    """(primary keys ascending, which are retired). Retired items with labels stay: those tell of other items too."""
    used = Exists(PresentedItem.objects.filter(item=OuterRef("pk"), **counted(project)))
    rows = Item.objects.filter(Q(retired_at=None) | used, project=project).order_by("pk")
    pairs = list(rows.values_list("pk", "retired_at"))
    ids = np.array([pk for pk, _ in pairs], dtype=np.int64)
    return ids, np.array([retired_at is not None for _, retired_at in pairs], dtype=bool)


def by_first_use(ids: Ints) -> tuple[Ints, Ints]:
    """(distinct ids by their first appearance, the number of each row's id among them)."""
    distinct, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return distinct[order], place[inverse.ravel()]


def estimates(fit: Fit, project: Project, labels: Labels, posterior: BasePosterior) -> Iterator[list[Estimate]]:
    """The rows of each connected part, largest first; ranks, tiers and P(top k) never reach across parts.

    An item never compared is a part of its own and keeps the prior.
    """
    compared, parts = labels.data.n_comparisons(), labels.parts()
    divisive = posterior.divisiveness()
    loadings = loadings_of(posterior)
    columns = _Columns(fit, labels.item_ids, compared, divisive if divisive.any() else None, loadings)
    alone = np.flatnonzero((compared == 0) & labels.ranked)
    for part, items in labels.ranked_parts():
        yield _estimates_of_part(columns, project, posterior, part, items)
    if len(alone):
        yield _estimates_alone(columns, posterior, parts[alone], alone)


def worths(posterior: BasePosterior, labels: Labels) -> tuple[Floats, Floats]:
    """(utilities, standard deviations), both (n_items,), as the rows have them: centred over the ranked items of their
    part. Retired items have the utility that goes with it, and the deviation around the mean of all."""
    utility, deviation, parts = posterior.utilities().copy(), posterior.standard_deviations().copy(), labels.parts()
    for part, items in labels.ranked_parts():
        utility[parts == part] -= utility[items].mean()
        deviation[items] = posterior.restrict(items).standard_deviations()
    return utility, deviation


@dataclass(frozen=True, eq=False)
class _Columns:
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


def _estimates_of_part(
    columns: _Columns, project: Project, posterior: BasePosterior, part: int, items: Ints
) -> list[Estimate]:
    """Rows in rank order. The draws behind the ranks come from a seed, so that equal labels give equal rows."""
    own = posterior.restrict(items)
    mean, deviation = own.utilities(), own.standard_deviations()
    check_finite(columns.item_ids[items], mean, deviation)
    ranks = own.rank_summary(LEVEL, project.top_k, rng=np.random.default_rng(columns.fit.seed))
    order = np.argsort(ranks.rank)
    tier = tiers(own, order)
    states = pair_states(own, order[:-1], order[1:], margin=project.tie_margin)
    next_states = [NEXT_STATES[state] for state in states.tolist()] + [Estimate.NextState.LAST]
    return [
        columns.row(
            int(items[place]),
            part=part,
            utility=float(mean[place]),
            sd=float(deviation[place]),
            low=float(mean[place] - Z * deviation[place]),
            high=float(mean[place] + Z * deviation[place]),
            rank=int(ranks.rank[place]),
            rank_low=int(ranks.low[place]),
            rank_high=int(ranks.high[place]),
            p_top=float(ranks.p_top_k[place]),
            tier=int(tier[index]),
            next_state=next_states[index],
        )
        for index, place in enumerate(order.tolist())
    ]


def _estimates_alone(columns: _Columns, posterior: BasePosterior, parts: Ints, items: Ints) -> list[Estimate]:
    mean, deviation = posterior.utilities()[items], posterior.standard_deviations()[items]
    check_finite(columns.item_ids[items], mean, deviation)
    only_one = {"rank": 1, "rank_low": 1, "rank_high": 1, "p_top": 1.0, "tier": 1}
    return [
        columns.row(
            int(item),
            part=int(part),
            utility=float(m),
            sd=float(d),
            low=float(m - Z * d),
            high=float(m + Z * d),
            next_state=Estimate.NextState.LAST,
            **only_one,
        )
        for item, part, m, d in zip(items, parts, mean, deviation, strict=True)
    ]


def check_finite(item_ids: Ints, mean: Floats, deviation: Floats) -> None:
    for place in np.flatnonzero(~(np.isfinite(mean) & np.isfinite(deviation)))[:1]:
        raise ArithmeticError(
            f"the estimator gave item {item_ids[place]} the utility {mean[place]} and the standard deviation "
            f"{deviation[place]}; choose another estimator in the project's settings and report this."
        )


def annotator_estimates(fit: Fit, labels: Labels, posterior: BasePosterior) -> list[AnnotatorEstimate]:
    """One row per annotator with a counted label."""
    n_labels = np.bincount(labels.data.annotators, minlength=len(labels.annotator_ids))
    figures: dict[str, Floats | None] = {"agreement": agreement(labels.data, posterior.utilities())}
    counts = answer_counts(labels.data, posterior.utilities())
    summary = posterior.annotator_summary()
    figures["taste_distance"], scores = summary.taste_distance, scores_of(posterior)
    if summary.taste_distance is not None and summary.taste_distance_sd is not None:
        low, high = gamma_interval(summary.taste_distance, summary.taste_distance_sd, LEVEL)
        figures |= {"taste_distance_low": low, "taste_distance_high": high}
    if summary.reliability is not None and summary.reliability_sd is not None:
        low, high = beta_interval(summary.reliability, summary.reliability_sd)
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


def agreement(data: Comparisons, utilities: Floats) -> Floats:
    """(n_annotators,) share of each annotator's choices that follow the consensus; NaN for those who only tied."""
    n, agreed = decided(data, utilities)
    return np.divide(agreed, n, out=np.full(data.n_annotators, np.nan), where=n > 0)


def decided(data: Comparisons, utilities: Floats) -> tuple[Ints, Ints]:
    """(n_annotators,) how many comparisons both they and the consensus decide, and how many of those alike."""
    pairs = data.pairs()
    margin = utilities[pairs.left] - utilities[pairs.right]
    either = (pairs.outcome != 0.5) & (margin != 0)
    follows = (margin > 0) == (pairs.outcome == 1)
    n = np.bincount(pairs.annotator[either], minlength=data.n_annotators)
    return n, np.bincount(pairs.annotator[either & follows], minlength=data.n_annotators)


def answer_counts(data: Comparisons, utilities: Floats) -> dict[str, Ints | None]:
    """Columns of AnnotatorEstimate that are counted and not inferred."""
    circles, (sides, first) = cycles(data), first_place_counts(data)
    return {
        "n_decided": decided(data, utilities)[0],
        "n_triads": None if circles is None else circles.triads,
        "n_cycles": None if circles is None else circles.circular,
        "n_sides": sides,
        "n_first": first,
    }


def beta_interval(mean: Floats, deviation: Floats) -> tuple[Floats, Floats]:
    """Ends of the central 90% of the Beta distribution with this mean and standard deviation: it stays inside 0..1."""
    m = np.clip(mean, 1e-6, 1 - 1e-6)
    strength = np.maximum(m * (1 - m) / np.maximum(deviation, 1e-9) ** 2 - 1, 1e-3)
    tail = (1 - LEVEL) / 2
    a, b = m * strength, (1 - m) * strength
    return betaincinv(a, b, tail), betaincinv(a, b, 1 - tail)
