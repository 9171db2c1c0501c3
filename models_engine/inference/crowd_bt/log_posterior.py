"""Log posterior of utilities, side effect and log nu given noisy pairs: value, gradient and curvature at a point."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from models_engine.inference.crowd_bt.graded_likelihood import evaluate_graded
from models_engine.inference.crowd_bt.likelihood import LikelihoodDerivatives, evaluate_likelihood
from models_engine.inference.crowd_bt.pairs import NoisyPairs
from models_engine.inference.crowd_bt.reliability import BetaPrior
from models_engine.linalg import sum_by_group

__all__ = ["Point", "TargetDensity"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TargetDensity:
    """log P(labels, x), x = (f, side, log nu), the last two where their sd is given; reliabilities integrated out.

    f_i ~ N(0, prior_sd^2), side ~ N(0, side_sd^2), log nu ~ N(0, tie_sd^2), reliability ~ Beta.
    cuts (n_grades,): known cut points of graded answers, without log nu; None for answers without grades.
    """

    pairs: NoisyPairs
    prior_sd: float
    reliability: BetaPrior
    side_sd: float | None
    tie_sd: float | None
    cuts: Floats | None = None

    @property
    def n_items(self) -> int:
        return self.pairs.graph.n_items

    @cached_property
    def precision(self) -> Floats:
        """Return the precision of the prior, (n_x,)."""
        extra = [1 / sd**2 for sd in (self.side_sd, self.tie_sd) if sd is not None]
        return np.concatenate([np.full(self.n_items, 1 / self.prior_sd**2), extra])

    def split(self, x: Floats) -> tuple[Floats, float, float]:
        """Split into (f, side, log nu); side 0 and log nu -inf where they are not inferred."""
        side = float(x[self.n_items]) if self.side_sd is not None else 0.0
        return x[: self.n_items], side, float(x[-1]) if self.tie_sd is not None else -np.inf

    def at(self, x: Floats, near: "Point | None" = None) -> "Point":
        """Evaluate at x; a nearby earlier point saves time in placing the grids."""
        f, side, log_nu = self.split(x)
        margins = self.pairs.graph.differences(f)[self.pairs.pair] + side * self.pairs.orientation
        modes = None if near is None else near.evaluation.crowd.grid.modes
        if self.cuts is not None:
            return Point(self, x, evaluate_graded(self.pairs, margins, self.cuts, self.reliability, modes))
        return Point(self, x, evaluate_likelihood(self.pairs, margins, log_nu, self.reliability, modes))


@dataclass(frozen=True, eq=False)
class Point:
    """The target at x (n_x,). Curvature: minus the Hessian."""

    target: TargetDensity
    x: Floats
    evaluation: LikelihoodDerivatives

    @cached_property
    def objective(self) -> float:
        """Return log P(labels, x) with all constants."""
        precision = self.target.precision
        log_prior = (np.log(precision / (2 * np.pi)).sum() - (precision * self.x) @ self.x) / 2
        return float(self.evaluation.value + log_prior)

    @cached_property
    def gradient(self) -> Floats:
        score, pairs = self.evaluation.score, self.target.pairs
        parts = [pairs.graph.divergence(self._by_pair(score))]
        parts += [np.array([score @ pairs.orientation])] * (self.target.side_sd is not None)
        parts += [np.array([self.evaluation.score_nu])] * (self.target.tie_sd is not None)
        return np.concatenate(parts) - self.target.precision * self.x

    def pair_curvatures(self, known: bool) -> Floats:
        """Return the weights of the utilities' Laplacian, (n_pairs,)."""
        return self._by_pair(self.evaluation.curvature_known if known else self.evaluation.curvature)

    def border(self, known: bool) -> tuple[Floats, Floats]:
        """Return the curvature in (f, nuisances), (n_items, q), and in the nuisances (q, q), given the
        reliabilities.
        """
        target, pairs, evaluation = self.target, self.target.pairs, self.evaluation
        curvature = evaluation.curvature_known if known else evaluation.curvature
        columns, corner = [], np.diag(target.precision[target.n_items :])
        if target.side_sd is not None:
            columns.append(pairs.graph.divergence(self._by_pair(curvature * pairs.orientation)))
            corner[0, 0] += curvature @ pairs.orientation**2
        if target.tie_sd is not None:
            columns.append(pairs.graph.divergence(self._by_pair(evaluation.cross)))
            corner[-1, -1] += evaluation.curvature_nu
        if len(columns) == 2:
            corner[0, 1] = corner[1, 0] = evaluation.cross @ pairs.orientation
        return np.stack(columns, axis=1) if columns else np.zeros((target.n_items, 0)), corner

    @cached_property
    def shared(self) -> list[scipy.sparse.csr_array]:
        """Return matrices s (n_x, n_annotators): unknown reliabilities reduce the curvature by the sum of s s'."""
        pairs, side = self.target.pairs, self.target.side_sd is not None
        found = []
        for values in self.evaluation.shared.T:
            matrix = pairs.incidence.matrix(values)
            if len(self.x) > self.target.n_items:
                below = np.zeros((len(self.x) - self.target.n_items, pairs.n_annotators))
                if side:
                    below[0] = sum_by_group(pairs.annotator, values * pairs.orientation[pairs.row], pairs.n_annotators)
                matrix = scipy.sparse.vstack([matrix, scipy.sparse.csr_array(below)], format="csr")
            found.append(matrix)
        return found

    def dense(self, *, known: bool = False) -> Floats:
        """Return the curvature (n_x, n_x). known: as if it were known which answers are reversed (never indefinite)."""
        target = self.target
        border, corner = self.border(known)
        matrix = target.pairs.graph.dense(self.pair_curvatures(known), target.precision[: target.n_items])
        matrix = np.block([[matrix, border], [border.T, corner]]) if border.shape[1] else matrix
        if not known:
            for s in self.shared:
                matrix -= _outer(s)
        return matrix

    def times(self, v: Floats) -> Floats:
        """Multiply the curvature by v (n_x,) without building it."""
        target, n = self.target, self.target.n_items
        border, corner = self.border(known=False)
        result = np.concatenate([self._laplacian(v[:n]) + border @ v[n:], border.T @ v[:n] + corner @ v[n:]])
        for s in self.shared:
            result -= s @ (s.T @ v)
        return result + np.concatenate([target.precision[:n] * v[:n], np.zeros(len(v) - n)])

    def diagonal(self, *, known: bool) -> Floats:
        """Return the diagonal of the curvature, (n_x,)."""
        graph, n = self.target.pairs.graph, self.target.n_items
        bends = self.pair_curvatures(known)
        items = sum_by_group(graph.low, bends, n) + sum_by_group(graph.high, bends, n) + self.target.precision[:n]
        whole = np.concatenate([items, np.diagonal(self.border(known)[1])])
        return whole if known else whole - sum((s.multiply(s).sum(axis=1) for s in self.shared), np.zeros(len(whole)))

    def _laplacian(self, f: Floats) -> Floats:
        graph = self.target.pairs.graph
        return graph.divergence(self.pair_curvatures(known=False) * graph.differences(f))

    def _by_pair(self, values: Floats) -> Floats:
        return sum_by_group(self.target.pairs.pair, values, self.target.pairs.graph.n_pairs)


def _outer(s: scipy.sparse.csr_array) -> Floats:
    """Return s s', by whichever of the sparse and the dense product is quicker."""
    rows, columns = s.shape
    terms = float((np.bincount(s.indices, minlength=columns).astype(np.float64) ** 2).sum())
    if 40 * terms < rows * rows * columns:
        return (s @ s.T).toarray()
    full = s.toarray()
    return full @ full.T
