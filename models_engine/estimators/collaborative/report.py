"""Summaries of a CollaborativeGP fit: components of taste, scores on annotator features, taste distances."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from models_engine.data import Comparisons
from models_engine.estimators.missed_agreement import with_missed_agreement
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.inference.probit_ep.shards import Shard, ShardState
from models_engine.inference.probit_ep.site_updates import Sites
from models_engine.linalg import centre_covariance, leading_eigenvectors
from models_engine.posterior import GaussianPosterior
from models_engine.summaries import AnnotatorSummary

__all__ = ["EPOutcome", "compute_components", "regress_scores", "report_missed_agreement", "summarise_annotators"]

Floats = NDArray[np.float64]
Fitted = TypeVar("Fitted", bound=GaussianPosterior)


@dataclass(frozen=True, eq=False)
class EPOutcome:
    """Result of EP at one taste covariance, over all annotators or over the active sites, with annotators' summaries.

    taste (n_items, n_items); steepness (n_annotators,) or None for 1; sites: of all; mean, covariance: of the
    consensus; loadings (n_items, c), scores (n_annotators, c): components; change: of EP's last step.
    """

    taste: Floats
    steepness: Floats | None
    sites: Sites
    mean: Floats
    covariance: Floats
    loadings: Floats
    scores: Floats
    figures: AnnotatorSummary
    log_evidence: float
    change: float
    n_iterations: int
    tolerance: float


def compute_components(crowd: CrowdPrior, result: EPResult, n_components: int) -> tuple[Floats, Floats]:
    """Compute loadings (n_items, c) and posterior mean scores (n_annotators, c), a priori N(0, 1).

    Loadings are the leading eigenvectors of the centred taste covariance times sqrt(eigenvalue); scores w = L' B' e for
    orthogonal eigenvectors L.
    """
    n = len(crowd.taste)
    centred, count = centre_covariance(crowd.taste), min(n_components, max(1, n - 1))
    largest, vectors = leading_eigenvectors(centred, count)
    values = np.maximum(largest, 0.0)
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(count)])
    directions = vectors * np.where(signs == 0, 1.0, signs)
    reach = np.linalg.multi_dot([directions.T, crowd.taste]) if n else np.zeros((count, 0))
    root = np.sqrt(np.maximum(values, 1e-300))
    along = result.kept.executor.share(reach / root[:, None])
    scores = result.kept.gather_by_annotator(_score_along, result.state, [along])
    return directions * np.sqrt(values), scores


def _score_along(shard: Shard, state: ShardState, along: Floats) -> Floats:
    """Return the scores of a shard's annotators, (n_annotators, c), along these directions (c, n_items)."""
    scores = np.zeros((shard.sites.n_annotators, len(along)))
    for block, local in zip(shard.blocks, state.solved, strict=True):
        rows = along[:, block.items]
        rows = rows if block.others is None else rows - along[:, block.others]
        scores[block.annotators] = np.einsum("cud,ud->uc", rows, local.residual)
    return scores


def regress_scores(features: Floats | None, scores: Floats, sites: PairSites) -> tuple[Floats, Floats, Floats]:
    """Regress scores (n_annotators, c) on standardised annotator features (n_annotators, e) by ridge regression.

    Returns coefficients (e, c), the share of each score's prior variance explained (c,), and the features' means and
    scales (2, e). The ridge of each component has the best leave-one-out error; without prediction coefficients are 0.
    """
    width = 0 if features is None else features.shape[1]
    judged = np.unique(sites.annotator)
    if features is None or width == 0 or len(judged) < 3:
        return (
            np.zeros((width, scores.shape[1])),
            np.zeros(scores.shape[1]),
            np.vstack([np.zeros(width), np.ones(width)]),
        )
    known = features[judged]
    centres, scales = known.mean(axis=0), known.std(axis=0)
    scales = np.where(scales > 1e-12, scales, np.inf)
    x, y = (known - centres) / scales, scores[judged]
    u, d, v = np.linalg.svd(x, full_matrices=False)
    coefficients, explained = np.zeros((width, y.shape[1])), np.zeros(y.shape[1])
    least = (y**2).sum(axis=0)
    for ridge in len(judged) * np.array([0.01, 0.1, 1.0, 10.0]):
        shrink = d**2 / (d**2 + ridge)
        predicted = (u * shrink) @ (u.T @ y)
        leverage = ((u**2) * shrink).sum(axis=1)
        error = (((y - predicted) / (1 - leverage)[:, None]) ** 2).sum(axis=0)
        better = error < least
        slopes = v.T @ ((d / (d**2 + ridge))[:, None] * (u.T @ y))
        coefficients[:, better], least = slopes[:, better], np.minimum(error, least)
        explained[better] = np.clip((predicted**2).mean(axis=0), 0.0, 0.9)[better]
    return coefficients, explained, np.vstack([centres, scales])


def summarise_annotators(crowd: CrowdPrior, result: EPResult, *, deviations: bool) -> AnnotatorSummary:
    """Compute each annotator's taste distance, the root mean square over items, and (if deviations) its sd.

    For h ~ N(mu, X) centred, E|h|^2 = |mu|^2 + tr X and Var|h|^2 = 2 tr X^2 + 4 mu'X mu; distance = sqrt(E|h|^2 / n)
    and its sd by the delta method.
    """
    taste, n = crowd.taste, len(crowd.taste)
    centred = centre_covariance(taste)
    once = taste - taste.mean(axis=0)  # J Sigma
    square = once.T @ once
    total, total_square = float(np.trace(centred)), float((centred**2).sum())
    cube = once.T @ centred @ once if deviations else None
    powers = result.kept.executor.share((square, cube))
    learned, learned_variance = result.kept.gather_by_annotator(_distance_figures, result.state, [powers]).T
    mean_square, variance = total + learned, 2 * total_square + learned_variance
    distance = np.sqrt(np.maximum(mean_square, 1e-300) / max(1, n))
    sd = np.sqrt(np.maximum(variance, 0.0)) / (2 * max(1, n) * distance)
    return AnnotatorSummary(taste_distance=distance, taste_distance_sd=sd if deviations else None)


def _distance_figures(shard: Shard, state: ShardState, powers: tuple[Floats, Floats | None]) -> Floats:
    """Return what the answers of a shard's annotators add to mean and variance of |h|^2, (n_annotators, 2).

    powers: S J S and S J S J S of the taste covariance S, J the centring; without the latter variances are 0.
    """
    (square, cube), found = powers, np.zeros((shard.sites.n_annotators, 2))
    for block, local in zip(shard.blocks, state.solved, strict=True):
        e, information, m2 = local.residual, local.information, block.gather(square)
        reached = np.matmul(m2, e[:, :, None])[:, :, 0]
        found[block.annotators, 0] = (e * reached).sum(axis=1) - np.einsum("uij,uij->u", information, m2)
        if cube is not None:
            known, m3 = information @ m2, block.gather(cube)
            trace = np.einsum("uij,uji->u", known, known) - 2 * np.einsum("uij,uij->u", information, m3)
            along = np.einsum("ui,uij,uj->u", e, m3, e) - np.einsum("ui,uij,uj->u", reached, information, reached)
            found[block.annotators, 1] = 2 * trace + 4 * along
    return found


def report_missed_agreement(found: Fitted, data: Comparisons, sided: NDArray[np.bool_] | None) -> Fitted:
    """Return the fit, with what `with_missed_agreement` says of it. sided (n_labels,): as of `sided_labels`."""
    pairs, people = data.pairs(), found.annotators
    side = None
    if sided is not None and people.side_bias is not None:
        side = np.where(sided[pairs.label], people.side_bias[pairs.annotator], 0.0)
    return with_missed_agreement(found, pairs, people.reliability, side)
