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
from models_engine.inference.competitors.answers import Answers, DavidsonAnswers, GradedAnswers
from models_engine.inference.competitors.blocks import Blocks
from models_engine.inference.competitors.careless import attentive_shares
from models_engine.inference.competitors.fit import IntegratedEffects, fit_competitors
from models_engine.inference.competitors.graph_blocks import GraphBlocks
from models_engine.inference.competitors.problem import CompetitorProblem
from models_engine.inference.competitors.shared import shared_covariance
from models_engine.inference.graded.counts import Thresholds
from models_engine.linalg import centre, centre_covariance
from models_engine.messages import Message, gettext_noop
from models_engine.posterior import Likelihood
from models_engine.progress import FitLog, Progress

__all__ = ["Competitors"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_CONTEXT_ITEMS = 2_000  # compared items of one context, up to which their covariance is a matrix
MAX_EFFECTS = 3_000  # competitors times (1 + tags)
MAX_REFITS = 4  # for P(attentive)
SHARE_TOLERANCE = 0.05  # of P(attentive): smaller changes are not worth another fit
NO_TASTE = TasteSpread(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Competitors:
    """Model f_item = g_competitor + h_{competitor, tag} + x_item'beta + e_item, answers by Davidson's model.

    e_item ~ N(0, s^2) is the effect of an item, h that of a competitor with a tag, beta those of item
    features. All standard deviations are learned by the evidence, s is integrated over. The fit is the nearest Gaussian
    for f (Opper & Archambeau 2009), items eliminated context by context, by conjugate gradients and 32 draws where one
    has more than MAX_CONTEXT_ITEMS compared items. Annotators' own tastes for competitors widen
    the covariance by as much as their scores differ; utilities are those of the average annotator who answered.

    ties: "davidson" learns P(tie), "half" counts half a win each way, "ignore" leaves ties out.
    grades: "ordered" counts how much better an item is, where labels say it (Comparisons.grades), in place of
        Davidson's ties: the cumulative logit with symmetric cut points, as BradleyTerry has it. "ignore" takes the
        winners alone.
    tied_ranks: equal ranks in a set of three or more are ties (rankings with ties), and not merely untold.
    side: also infer a utility added to the item shown left, where the order is known.
    tastes: count that annotators may differ in taste.
    careless: weigh each annotator's answers by P(attentive), that they follow the utilities at all and are not random;
        worked out in turn with the fit, at most MAX_REFITS times. Those who answer half at random keep most weight.
    feature_sd, side_sd, tie_sd: prior standard deviations of a standardised feature's worth, of the side's, of log nu.
    """

    ties: Literal["davidson", "half", "ignore"] = "davidson"
    grades: Literal["ordered", "ignore"] = "ordered"
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
        _check_size(table)
        sided = (data.sizes[pairs.label] == 2) & (data.positions[data.starts[pairs.label]] >= 0) & self.side
        attentive = np.ones(data.n_annotators)
        for again in range(MAX_REFITS, -1, -1):
            weighted = replace(pairs, weight=pairs.weight * attentive[pairs.annotator])
            problem, thresholds = self._problem(data, table, contexts, weighted, sided)
            found = fit_competitors(problem, tolerance=self.tolerance, limit=self.max_iterations, step_done=log.step)
            expected = _Expected.of(problem, weighted, sided, found)
            taste = self._taste(expected, table, contexts) if self.tastes else NO_TASTE
            if not (self.careless and again):
                break
            former, attentive = attentive, _attentive(expected, pairs, found, taste, table)
            if np.abs(attentive - former)[pairs.annotator].max() < SHARE_TOLERANCE:
                attentive = former
                break
        if self.tastes:
            extra = taste.mean_square * taste_covariance(found.best, *thresholds)
            found = replace(found, covariance=found.covariance + extra)
        if same_item is not None:
            item = problem.blocks.item
            shared = shared_covariance(found.best, np.where(item < 0, -1, same_item[item]))
            found = replace(found, covariance=found.covariance + found.weights @ found.spreads**2 * shared)
        text = gettext_noop("effects and spreads converged")
        text = text if found.converged else gettext_noop("effects not converged; raise max_iterations")
        diagnostics = log.finish(converged=found.converged, message=Message.of(text))
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
            text = gettext_noop("there is no answer with a preference or a tie; collect or import answers first.")
            raise InsufficientData(Message.of(text))
        return pairs.select(kept)

    def _problem(
        self, data: Comparisons, table: CompetitorTable, contexts: Ints, pairs: PairTable, sided: NDArray[np.bool_]
    ) -> tuple[CompetitorProblem, tuple[PairTable, Ints]]:
        """Return the problem, and the answers with the row each is in: see `taste_covariance`."""
        left, right, answers, thresholds = self._answers(pairs, sided, data.n_grades)
        blocks = _blocks(left, right, contexts)
        padding = blocks.item < 0
        features = np.zeros((blocks.n_slots, 0))
        if data.item_features is not None:
            centred, scale = _standard(data.item_features, blocks.item[~padding])
            features = np.where(padding[:, None], 0.0, ((data.item_features - centred) / scale)[blocks.item])
        tag = np.full(blocks.n_slots, -1) if table.tag is None else _tags(contexts, table.tag)[blocks.context]
        problem = CompetitorProblem(
            blocks,
            answers,
            np.where(padding, table.n_competitors, table.competitor[blocks.item]),
            tag,
            features,
            table.n_competitors,
            table.n_tags,
            self.feature_sd,
        )
        return problem, thresholds

    def _answers(
        self, pairs: PairTable, sided: NDArray[np.bool_], n_grades: int
    ) -> tuple[Ints, Ints, Answers, tuple[PairTable, Ints]]:
        """Return (left, right, answers by row, (answers one by one, row of each)): equal pairs are one row, shown
        either way round unless sides count.
        """
        swapped = (pairs.left > pairs.right) & ~sided
        left, right = np.where(swapped, (pairs.right, pairs.left), (pairs.left, pairs.right))
        key = (left * pairs.n_items + right) * 2 + sided
        outcome = np.where(swapped, 1 - pairs.outcome, pairs.outcome)
        side_sd = self.side_sd if sided.any() else None
        if self.grades == "ordered" and n_grades:
            thresholds = Thresholds.of(pairs, outcome, n_grades, halve_ties=self.ties == "half")
            first, row = _rows(thresholds.keys(key))
            one = thresholds.answer[first]
            graded = GradedAnswers.of(thresholds, first, row, sided[one].astype(np.float64), side_sd)
            return (
                left[one],
                right[one],
                graded,
                (replace(pairs.select(thresholds.answer), weight=thresholds.weight), row),
            )
        first, row = _rows(key if pairs.can_tie is None else key * 2 + pairs.can_tie)
        tie_sd = self.tie_sd if self.ties == "davidson" else None
        plain = DavidsonAnswers.of(pairs, outcome, sided[first].astype(np.float64), row, side_sd, tie_sd)
        return left[first], right[first], plain, (pairs, row)

    def _taste(self, expected: "_Expected", table: CompetitorTable, contexts: Ints) -> TasteSpread:
        scores = expected_scores(
            expected.pairs, expected.margin, 2 * expected.item_sd**2, expected.log_nu, expected.cuts
        )
        return taste_spread(expected.pairs, scores, table.competitor, contexts, expected.item_sd)


@dataclass(frozen=True, eq=False)
class _Expected:
    """What is expected of answers, items' own effects apart: margin (n_pairs,), side included, of each pair as shown;
    the items' spread; log nu, or the cut points where grades count."""

    pairs: PairTable
    margin: Floats
    item_sd: float
    log_nu: float
    cuts: Floats | None

    @classmethod
    def of(
        cls, problem: CompetitorProblem, pairs: PairTable, sided: NDArray[np.bool_], found: IntegratedEffects
    ) -> "_Expected":
        item, by_item = problem.blocks.item, np.zeros(pairs.n_items)
        by_item[item[item >= 0]] = problem.expected(found.mean)[item >= 0]
        side, log_nu, cuts = _nuisances(problem, found.mean)
        margin = by_item[pairs.left] - by_item[pairs.right] + side * sided
        return cls(pairs, margin, float(np.sqrt(found.weights @ found.spreads**2)), log_nu, cuts)


def _rows(key: Ints) -> tuple[Ints, Ints]:
    """Return (the first place of each distinct key, which of them each is)."""
    _, first, row = np.unique(key, return_index=True, return_inverse=True)
    return first, row.ravel()


def _nuisances(problem: CompetitorProblem, u: Floats) -> tuple[float, float, Floats | None]:
    """Return (side, log nu, cut points): 0, -inf and None where not asked for."""
    answers, v = problem.answers, u[problem.n_effects :]
    side = float(v[0]) if answers.side_sd is not None else 0.0
    if isinstance(answers, GradedAnswers):
        return side, -np.inf, answers.gaps.whole(v[answers.n_side :])
    tied = isinstance(answers, DavidsonAnswers) and answers.tie_sd is not None
    return side, float(v[-1]) if tied else -np.inf, None


def _attentive(
    expected: _Expected, pairs: PairTable, found: IntegratedEffects, taste: TasteSpread, table: CompetitorTable
) -> Floats:
    left, right = table.competitor[pairs.left], table.competitor[pairs.right]
    unknown = found.covariance[left, left] + found.covariance[right, right] - 2 * found.covariance[left, right]
    variance = 2 * expected.item_sd**2 + 2 * taste.mean_square + unknown
    return attentive_shares(pairs, expected.margin, variance, expected.cuts)


def _blocks(left: Ints, right: Ints, contexts: Ints) -> Blocks | GraphBlocks:
    """Return the contexts' items as matrices, or as one graph where a context has more than MAX_CONTEXT_ITEMS."""
    seen = np.unique(np.concatenate([left, right]))
    is_large = int(np.bincount(contexts[seen]).max()) > MAX_CONTEXT_ITEMS
    return GraphBlocks.of(left, right, contexts) if is_large else Blocks.of(left, right, contexts)


def _check_size(table: CompetitorTable) -> None:
    effects = table.n_competitors * (1 + table.n_tags)
    if effects > MAX_EFFECTS:
        text = gettext_noop(
            "%(n)d competitors and %(tags)d tags make %(effects)d effects; the limit is %(limit)d. Merge tags, or "
            "leave them out."
        )
        counts = {"n": table.n_competitors, "tags": table.n_tags, "effects": effects, "limit": MAX_EFFECTS}
        raise TooLarge(Message.of(text, **counts))


def _tags(contexts: Ints, tag: Ints) -> Ints:
    """Return (n_contexts,) tag of each context."""
    found = np.full(int(contexts.max()) + 1, -1)
    found[contexts] = tag
    return found


def _standard(features: Floats, seen: Ints) -> tuple[Floats, Floats]:
    """Return (mean, standard deviation) of each feature over the compared items; 1 for one that never varies."""
    scale = features[seen].std(axis=0)
    return features[seen].mean(axis=0), np.where(scale > 1e-12, scale, 1.0)


def _likelihood(problem: CompetitorProblem, found: IntegratedEffects) -> Likelihood:
    side, log_nu, cuts = _nuisances(problem, found.mean)
    sds = np.sqrt(np.diagonal(found.covariance)[problem.n_effects :])
    side_sd = float(sds[0]) if problem.answers.side_sd is not None else None
    tie = float(np.exp(log_nu)) if np.isfinite(log_nu) else None
    likelihood = Likelihood(side=side, tie=tie, side_sd=side_sd)
    if cuts is None:
        return likelihood
    unknown = sds[int(problem.answers.side_sd is not None) :]
    own = np.concatenate([np.zeros(len(cuts) - len(unknown)), unknown])  # c_0 is known where there are no ties
    return replace(likelihood, cuts=tuple(cuts.tolist()), cut_sds=tuple(own.tolist()))


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
