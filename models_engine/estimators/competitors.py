"""Competitors: ranks the makers of the items in one fit over all contexts, with an effect of each item."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models_engine.covariance.forms import DenseCovariance
from models_engine.data import Comparisons
from models_engine.errors import InsufficientData, TooLarge
from models_engine.estimators.competitor_posterior import CompetitorPosterior, Effects
from models_engine.estimators.competitor_table import CompetitorTable
from models_engine.estimators.settings import check_settings
from models_engine.implied_pairs import PairTable
from models_engine.inference.competitors.annotators import (
    TasteSpread,
    expected_scores,
    taste_covariance,
    taste_spread,
)
from models_engine.inference.competitors.blocks import Blocks
from models_engine.inference.competitors.careless import attentive_shares
from models_engine.inference.competitors.fit import IntegratedEffects, fit_competitors
from models_engine.inference.competitors.problem import CompetitorProblem, Rows
from models_engine.inference.competitors.shared import shared_covariance
from models_engine.linalg import centre, centre_covariance, sum_by_group
from models_engine.messages import Message, gettext_noop
from models_engine.posterior import Likelihood
from models_engine.progress import FitLog, Progress

__all__ = ["Competitors"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_CONTEXT_ITEMS = 2_000  # compared items of one context, whose covariance is dense
MAX_EFFECTS = 3_000  # competitors times (1 + tags)
MAX_REFITS = 4  # for P(attentive)
SHARE_TOLERANCE = 0.05  # of P(attentive): smaller changes are not worth another fit
NO_TASTE = TasteSpread(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Competitors:
    """Model f_item = g_competitor + h_{competitor, tag} + x_item'beta + e_item, answers by Davidson's model.

    e_item ~ N(0, s^2) is the effect of an item, h that of a competitor with a tag, beta those of item
    features. All standard deviations are learned by the evidence, s is integrated over. The fit is the nearest Gaussian
    for f (Opper & Archambeau 2009), items eliminated context by context. Annotators' own tastes for competitors widen
    the covariance by as much as their scores differ; utilities are those of the average annotator who answered.

    ties: "davidson" learns P(tie), "half" counts half a win each way, "ignore" leaves ties out.
    tied_ranks: equal ranks in a set of three or more are ties (rankings with ties), and not merely untold.
    side: also infer a utility added to the item shown left, where the order is known.
    tastes: count that annotators may differ in taste.
    careless: weigh each annotator's answers by P(attentive), that they follow the utilities at all and are not random;
        worked out in turn with the fit, at most MAX_REFITS times. Those who answer half at random keep most weight.
    feature_sd, side_sd, tie_sd: prior standard deviations of a standardised feature's worth, of the side's, of log nu.
    """

    ties: Literal["davidson", "half", "ignore"] = "davidson"
    tied_ranks: bool = False
    side: bool = True
    tastes: bool = True
    careless: bool = True
    feature_sd: float = 1.0
    side_sd: float = 1.0
    tie_sd: float = 3.0
    max_iterations: int = 200
    tolerance: float = 1e-3

    def fit(
        self,
        data: Comparisons,
        table: CompetitorTable,
        progress: Progress | None = None,
        *,
        same_item: Ints | None = None,
    ) -> CompetitorPosterior:
        """Fit. data.item_features are the features x.

        same_item (n_items,): items with the same number have one effect e (`cohort_boards.fit_cohorts`).

        Raises InvalidData, InsufficientData, TooLarge, Cancelled; warns NotConverged.
        """
        self._check()
        contexts, log = table.contexts_of(data), FitLog(self.max_iterations, progress)
        pairs = self._pairs(data)
        _check_size(contexts, pairs, table)
        sided = (data.sizes[pairs.label] == 2) & (data.positions[data.starts[pairs.label]] >= 0) & self.side
        attentive = np.ones(data.n_annotators)
        for again in range(MAX_REFITS, -1, -1):
            weighted = replace(pairs, weight=pairs.weight * attentive[pairs.annotator])
            problem, row = self._problem(data, table, contexts, weighted, sided)
            found = fit_competitors(problem, tolerance=self.tolerance, limit=self.max_iterations, step_done=log.step)
            taste = self._taste(problem, weighted, row, found, table, contexts) if self.tastes else NO_TASTE
            if not (self.careless and again):
                break
            former, attentive = attentive, self._attentive(problem, pairs, row, found, taste)
            if np.abs(attentive - former)[pairs.annotator].max() < SHARE_TOLERANCE:
                attentive = former
                break
        if self.tastes:
            extra = taste.mean_square * taste_covariance(found.best, weighted, row)
            found = replace(found, covariance=found.covariance + extra)
        if same_item is not None:
            item = problem.blocks.item
            shared = shared_covariance(found.best, np.where(item < 0, -1, same_item[item]))
            found = replace(found, covariance=found.covariance + found.weights @ found.spreads**2 * shared)
        told = gettext_noop("effects and spreads converged")
        told = told if found.converged else gettext_noop("effects not converged; raise max_iterations")
        diagnostics = log.finish(converged=found.converged, message=Message.of(told))
        n = table.n_competitors
        return CompetitorPosterior(
            centre(found.mean[:n]),
            DenseCovariance.of(found.covariance[:n, :n]),
            diagnostics,
            _likelihood(problem, found),
            prior_sd=found.best.spreads.competitors,
            effects=_effects(problem, found, taste, data, attentive),
        )

    def _check(self) -> None:
        check_settings(self)

    def _pairs(self, data: Comparisons) -> PairTable:
        pairs = data.pairs_with_ties() if self.tied_ranks else data.pairs()
        kept = (pairs.weight > 0) & ((pairs.outcome != 0.5) | (self.ties != "ignore"))
        if not kept.any():
            told = gettext_noop("there is no answer with a preference or a tie; collect or import answers first.")
            raise InsufficientData(Message.of(told))
        return pairs.select(kept)

    def _problem(
        self, data: Comparisons, table: CompetitorTable, contexts: Ints, pairs: PairTable, sided: NDArray[np.bool_]
    ) -> tuple[CompetitorProblem, Ints]:
        """Return (problem, its row of each pair): equal pairs are one row, shown either way round unless sides
        count.
        """
        swapped = (pairs.left > pairs.right) & ~sided
        left, right = np.where(swapped, (pairs.right, pairs.left), (pairs.left, pairs.right))
        key = (left * data.n_items + right) * 2 + sided
        _, first, row = np.unique(key, return_index=True, return_inverse=True)
        outcome = np.where(swapped, 1 - pairs.outcome, pairs.outcome)
        tied = (outcome == 0.5) & (self.ties == "davidson")
        n = len(first)
        rows = Rows(
            sum_by_group(row, pairs.weight * outcome * ~tied, n),
            sum_by_group(row, pairs.weight * (1 - outcome) * ~tied, n),
            sum_by_group(row, pairs.weight * tied, n),
            sided[first].astype(np.float64),
        )
        blocks = Blocks.of(left[first], right[first], contexts)
        padding = blocks.item < 0
        features = np.zeros((blocks.n_slots, 0))
        if data.item_features is not None:
            centred, scale = _standard(data.item_features, blocks.item[~padding])
            features = np.where(padding[:, None], 0.0, ((data.item_features - centred) / scale)[blocks.item])
        tag = np.full(blocks.n_slots, -1) if table.tag is None else _tags(contexts, table.tag)[blocks.context]
        problem = CompetitorProblem(
            blocks,
            rows,
            np.where(padding, table.n_competitors, table.competitor[blocks.item]),
            tag,
            features,
            table.n_competitors,
            table.n_tags,
            self.feature_sd,
            self.side_sd if sided.any() else None,
            self.tie_sd if tied.any() else None,
        )
        return problem, row.ravel()

    def _attentive(
        self, problem: CompetitorProblem, pairs: PairTable, row: Ints, found: IntegratedEffects, taste: TasteSpread
    ) -> Floats:
        spread = float(np.sqrt(found.weights @ found.spreads**2))
        margin, of_items, _log_nu = _expected(problem, pairs, row, found.mean, spread)
        left, right = (problem.competitor[side[row]] for side in (problem.blocks.left, problem.blocks.right))
        unknown = found.covariance[left, left] + found.covariance[right, right] - 2 * found.covariance[left, right]
        return attentive_shares(pairs, margin, of_items + 2 * taste.mean_square + unknown)

    def _taste(
        self,
        problem: CompetitorProblem,
        pairs: PairTable,
        row: Ints,
        found: IntegratedEffects,
        table: CompetitorTable,
        contexts: Ints,
    ) -> TasteSpread:
        spread = float(np.sqrt(found.weights @ found.spreads**2))
        scores = expected_scores(pairs, *_expected(problem, pairs, row, found.mean, spread))
        return taste_spread(pairs, scores, table.competitor, contexts, spread)


def _check_size(contexts: Ints, pairs: PairTable, table: CompetitorTable) -> None:
    seen = np.unique(np.concatenate([pairs.left, pairs.right]))
    largest = int(np.bincount(contexts[seen]).max())
    if largest > MAX_CONTEXT_ITEMS:
        told = gettext_noop(
            "one context has %(n)d compared items; the limit is %(limit)d. Name the context of each item if there are "
            "several, or compare fewer items of it."
        )
        raise TooLarge(Message.of(told, n=int(largest), limit=MAX_CONTEXT_ITEMS))
    effects = table.n_competitors * (1 + table.n_tags)
    if effects > MAX_EFFECTS:
        told = gettext_noop(
            "%(n)d competitors and %(tags)d tags make %(effects)d effects; the limit is %(limit)d. Merge tags, or "
            "leave them out."
        )
        counts = {"n": table.n_competitors, "tags": table.n_tags, "effects": effects, "limit": MAX_EFFECTS}
        raise TooLarge(Message.of(told, **counts))


def _tags(contexts: Ints, tag: Ints) -> Ints:
    """Return (n_contexts,) tag of each context."""
    found = np.full(int(contexts.max()) + 1, -1)
    found[contexts] = tag
    return found


def _standard(features: Floats, seen: Ints) -> tuple[Floats, Floats]:
    """Return (mean, standard deviation) of each feature over the compared items; 1 for one that never varies."""
    scale = features[seen].std(axis=0)
    return features[seen].mean(axis=0), np.where(scale > 1e-12, scale, 1.0)


def _expected(
    problem: CompetitorProblem, pairs: PairTable, row: Ints, u: Floats, item_sd: float
) -> tuple[Floats, float, float]:
    """Return (margin of each pair as answered, variance of the items' own effects in it, log nu)."""
    expected = problem.expected(u)
    side, log_nu = problem.side_and_tie(u)
    margin = problem.blocks.differences(expected)[row] + side * problem.rows.sided[row]
    turned = problem.blocks.item[problem.blocks.left[row]] != pairs.left
    return np.where(turned, -margin, margin), 2 * item_sd**2, log_nu


def _likelihood(problem: CompetitorProblem, found: IntegratedEffects) -> Likelihood:
    side, log_nu = problem.side_and_tie(found.mean)
    at = problem.n_effects
    side_sd = float(np.sqrt(found.covariance[at, at])) if problem.side_sd is not None else None
    tie = float(np.exp(log_nu)) if problem.tie_sd is not None else None
    return Likelihood(side=side, tie=tie, side_sd=side_sd)


def _effects(
    problem: CompetitorProblem, found: IntegratedEffects, taste: TasteSpread, data: Comparisons, attentive: Floats
) -> Effects:
    n, levels, d = problem.n_competitors, problem.n_levels, problem.features.shape[1]
    mean, covariance = found.mean, found.covariance
    scale = np.ones(d)
    if data.item_features is not None:
        scale = _standard(data.item_features, problem.blocks.item[problem.blocks.item >= 0])[1]
    betas = slice(levels, levels + d)
    tags = []
    for tag in range(problem.n_tags):
        own = slice(n * (1 + tag), n * (2 + tag))
        together = covariance[:n, :n] + covariance[own, own] + covariance[:n, own] + covariance[own, :n]
        deviation = np.sqrt(np.maximum(np.diagonal(centre_covariance(covariance[own, own])), 0.0))
        tags.append((centre(mean[:n] + mean[own]), centre_covariance(together), centre(mean[own]), deviation))
    shapes = ((-1, n), (-1, n, n), (-1, n), (-1, n))
    by_tag = [np.array([one[at] for one in tags]).reshape(shape) for at, shape in enumerate(shapes)]
    return Effects(
        found.spreads,
        found.weights,
        np.array([taste.mean, taste.sd, taste.mean_square]),
        mean[betas] / scale,
        covariance[betas, betas] / np.outer(scale, scale),
        by_tag[0],
        by_tag[1],
        by_tag[2],
        by_tag[3],
        attentive,
    )
