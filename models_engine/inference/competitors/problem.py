"""The model of competitors over arrays, f = X theta + e, its evidence bound, and one joint step with f eliminated."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray

from models_engine.inference.competitors.answers import Answers, RowTerms
from models_engine.inference.competitors.blocks import Blocks
from models_engine.inference.competitors.graph_blocks import GraphBlocks
from models_engine.linalg import cholesky, inverse_from_cholesky

__all__ = ["CompetitorProblem", "CompetitorState", "Elimination", "Spreads"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Cells = Any  # B as its blocks have it: an array of cells (n_cells,) of Blocks, a GraphInverse of GraphBlocks


@dataclass(frozen=True)
class Spreads:
    """Standard deviations, in logits: of the items around what is expected of them, of competitors, of a competitor's
    effects by tag."""

    items: float
    competitors: float
    tags: float


@dataclass(frozen=True, eq=False)
class CompetitorProblem:
    """Unknowns: f (n_slots,), and u = (g, h by tag, beta, nuisances of the answers).

    Slot i has f_i ~ N(g_c + h_ct + x_i' beta, spread^2) by its competitor c and its context's tag t; a row's answers
    have the probabilities of `answers` by f_left - f_right.
    competitor (n_slots,): n_competitors for padding.   tag (n_slots,): -1 for none.   features (n_slots, d).
    feature_sd: prior standard deviation of beta, around 0.
    """

    blocks: Blocks | GraphBlocks
    answers: Answers
    competitor: Ints
    tag: Ints
    features: Floats
    n_competitors: int
    n_tags: int
    feature_sd: float

    @property
    def n_levels(self) -> int:
        """Return the number of g and h."""
        return self.n_competitors * (1 + self.n_tags)

    @property
    def n_effects(self) -> int:
        """Return the number of g, h and beta."""
        return self.n_levels + self.features.shape[1]

    @property
    def n_unknowns(self) -> int:
        return self.n_effects + len(self.answers.precision)

    def prior(self, spreads: Spreads) -> Floats:
        """Return (n_unknowns,) precisions, 0 where the answers have another prior."""
        c, d = self.n_competitors, self.features.shape[1]
        sds = np.repeat([spreads.competitors, spreads.tags, self.feature_sd], [c, self.n_levels - c, d])
        return np.concatenate([sds**-2.0, self.answers.precision])

    def expected(self, u: Floats) -> Floats:
        """Return (n_slots,) X theta; 0 for padding."""
        levels = u[: self.n_levels].reshape(1 + self.n_tags, self.n_competitors)
        padded = np.column_stack([levels, np.zeros(len(levels))])
        own = padded[0, self.competitor]
        if self.n_tags:
            own = own + np.where(self.tag >= 0, padded[1 + np.maximum(self.tag, 0), self.competitor], 0.0)
        return np.asarray(own + self.features @ u[self.n_levels : self.n_effects])

    def averages(self, f: Floats, u: Floats, cells: Cells) -> RowTerms:
        """Average over the rows, f having means f and covariance B."""
        variance = self.blocks.pair_variance(cells)
        return self.answers.terms(self.blocks.differences(f), variance, u[self.n_effects :])

    def transposed(self, slots: Floats) -> Floats:
        """Return (n_effects, k) X' slots of columns (n_slots, k)."""
        return np.stack([self._transposed(column) for column in slots.T], axis=1)

    def _transposed(self, slots: Floats) -> Floats:
        width = self.n_competitors + 1
        cells = np.bincount((self.tag + 1) * width + self.competitor, slots, minlength=width * (1 + self.n_tags))
        levels = cells.reshape(1 + self.n_tags, width)[:, :-1]
        whole = np.concatenate([levels.sum(axis=0, keepdims=True), levels[1:]]).ravel()
        return np.concatenate([whole, self.features.T @ slots])

    @cached_property
    def levels(self) -> scipy.sparse.csr_array:
        """Return (n_slots, n_levels) Z, the slots' indicators of g and h."""
        n, slot = self.n_competitors, np.flatnonzero(self.competitor < self.n_competitors)
        tagged = slot[self.tag[slot] >= 0]
        rows = np.concatenate([slot, tagged])
        columns = np.concatenate([self.competitor[slot], n * (1 + self.tag[tagged]) + self.competitor[tagged]])
        shape = (self.blocks.n_slots, self.n_levels)
        return scipy.sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()

    @cached_property
    def _keys(self) -> Ints:
        """Return (n_cells,) tag, competitor of the row and competitor of the column of each cell, as one number."""
        blocks, width = self.blocks, self.n_competitors + 1
        if isinstance(blocks, GraphBlocks):
            raise TypeError("a graph of items has no cells.")
        return blocks.cell_keys((self.tag + 1) * width**2 + self.competitor * width, self.competitor)

    def crossed(self, cells: Cells) -> Floats:
        """Return (n_levels, n_levels) Z' M Z, M block diagonal with these cells."""
        if isinstance(self.blocks, GraphBlocks):
            return np.asarray(self.levels.T @ self.blocks.times(cells, self.levels.toarray()))
        n, width = self.n_competitors, self.n_competitors + 1
        found = np.bincount(self._keys, cells, minlength=(1 + self.n_tags) * width**2)
        by_tag = found.reshape(1 + self.n_tags, width, width)[:, :-1, :-1]
        whole = np.zeros((self.n_levels, self.n_levels))
        whole[:n, :n] = by_tag.sum(axis=0)
        for tag in range(self.n_tags):
            own = slice(n * (1 + tag), n * (2 + tag))
            whole[:n, own] = whole[own, :n] = whole[own, own] = by_tag[1 + tag]
        return whole

    @cached_property
    def counts(self) -> Floats:
        """Return (n_levels, n_levels) Z'Z: slots by competitor and tag."""
        if isinstance(self.blocks, GraphBlocks):
            return np.asarray((self.levels.T @ self.levels).toarray())
        return self.crossed(self.blocks.identity)


@dataclass(frozen=True, eq=False)
class CompetitorState:
    """q(f | u) = N(f, B), B^-1 = D' diag(weights) D + I / spread^2, with u at a point.

    cells: of B.   averages: of the answers under q.   elimination: that of the step which led here, None at first.
    """

    problem: CompetitorProblem
    spreads: Spreads
    f: Floats
    u: Floats
    weights: Floats
    cells: Cells
    log_determinant: float
    averages: RowTerms
    elimination: "Elimination | None" = None

    @classmethod
    def at(
        cls, problem: CompetitorProblem, spreads: Spreads, f: Floats, u: Floats, weights: Floats
    ) -> "CompetitorState":
        """Build the state, computing B and the averages."""
        cells, log_determinant = problem.blocks.inverse(weights, spreads.items**-2)
        averages = problem.averages(f, u, cells)
        return cls(problem, spreads, f, u, weights, cells, log_determinant, averages)

    @cached_property
    def residual(self) -> Floats:
        """Return (n_slots,) f - X theta: the mean of e."""
        return np.asarray(self.f - self.problem.expected(self.u))

    @cached_property
    def item_square(self) -> float:
        """Return E |e|^2 under q."""
        return float(self.residual @ self.residual) + self.problem.blocks.trace(self.cells)

    @cached_property
    def bound(self) -> float:
        """Return E log likelihood - KL(q | prior of f given u) + log prior of u."""
        problem = self.problem
        prior, n = problem.prior(self.spreads), problem.blocks.n_slots
        divergence = self.item_square * self.spreads.items**-2 - n + 2 * n * np.log(self.spreads.items)
        log_prior = (np.log(prior[prior > 0] / (2 * np.pi)).sum() - prior @ self.u**2) / 2
        return float(self.averages.value - (divergence + self.log_determinant) / 2 + log_prior)

    @cached_property
    def slopes(self) -> tuple[Floats, Floats]:
        """Return the gradient of the bound in f (n_slots,) and in u (n_unknowns,), B fixed."""
        problem, found = self.problem, self.averages
        pull = self.residual * self.spreads.items**-2
        own = problem.transposed(pull[:, None])[:, 0]
        gradient = np.concatenate([own, found.by_nuisance]) - problem.prior(self.spreads) * self.u
        return problem.blocks.divergence(found.slope) - pull, gradient

    def stepped(self, size: float) -> "CompetitorState":
        """Take a natural-gradient step: weights mixed by `size`, means moved by size * curvature^-1 gradient.

        Khan & Lin 2017, eq. 13-14.
        """
        problem = self.problem
        weights = (1 - size) * self.weights + size * self.averages.curvature
        cells, log_determinant = problem.blocks.inverse(weights, self.spreads.items**-2)
        elimination = Elimination(problem, self.spreads, cells, self.averages)
        step_f, step_u = elimination.solve(*self.slopes)
        f, u, n = self.f + size * step_f, self.u + size * step_u, problem.n_effects
        u[n:] = problem.answers.limited(u[n:], self.u[n:])
        averages = problem.averages(f, u, cells)
        return CompetitorState(problem, self.spreads, f, u, weights, cells, log_determinant, averages, elimination)


@dataclass(frozen=True, eq=False)
class Elimination:
    """The curvature of the bound, [[B^-1, K], [K', H]] in (f, u), with f eliminated block by block.

    cells: those of B. For g and h, K is -Z / spread^2, so that only S = H - K'BK is built, (n_unknowns, n_unknowns).
    """

    problem: CompetitorProblem
    spreads: Spreads
    cells: Cells
    averages: RowTerms

    @property
    def ridge(self) -> float:
        return self.spreads.items**-2

    @cached_property
    def columns(self) -> Floats:
        """Return (n_slots, n_dense) K of beta and nuisances."""
        problem = self.problem
        parts = [problem.blocks.divergence(column)[:, None] for column in self.averages.cross.T]
        return np.concatenate([-problem.features * self.ridge, *parts], axis=1)

    @cached_property
    def reach(self) -> Floats:
        """Return (n_slots, n_dense) B times the columns."""
        return self.problem.blocks.times(self.cells, self.columns)

    @cached_property
    def schur(self) -> Floats:
        """Return S, whose inverse is the covariance of u."""
        problem, levels = self.problem, self.problem.n_levels
        whole = np.diag(problem.prior(self.spreads))
        whole[:levels, :levels] += problem.counts * self.ridge - problem.crossed(self.cells) * self.ridge**2
        if len(whole) > levels:
            across = problem.transposed(self.reach)[:levels] * self.ridge
            d = problem.features.shape[1]
            if d:
                across[:, :d] += problem.transposed(problem.features)[:levels] * self.ridge
            whole[:levels, levels:], whole[levels:, :levels] = across, across.T
            whole[levels:, levels:] += self._dense_corner() - self.columns.T @ self.reach
        return (whole + whole.T) / 2

    def _dense_corner(self) -> Floats:
        """Return H of beta and nuisances, without their normal priors."""
        problem = self.problem
        d, n = problem.features.shape[1], self.columns.shape[1]
        corner = np.zeros((n, n))
        corner[:d, :d] = problem.features.T @ problem.features * self.ridge
        corner[d:, d:] = self.averages.corner
        return corner

    @cached_property
    def factor(self) -> Floats:
        """Return lower Cholesky factor of S."""
        return cholesky(self.schur)

    @cached_property
    def covariance(self) -> Floats:
        """Return (n_unknowns, n_unknowns) of u."""
        return inverse_from_cholesky(self.factor)

    def solve(self, slope_f: Floats, slope_u: Floats) -> tuple[Floats, Floats]:
        """Solve for the step in f and u whose image under the curvature is (slope_f, slope_u)."""
        problem, levels = self.problem, self.problem.n_levels
        solved = problem.blocks.times(self.cells, slope_f[:, None])
        carried = [-self.ridge * problem.transposed(solved)[:levels, 0], self.columns.T @ solved[:, 0]]
        step_u = scipy.linalg.cho_solve((self.factor, True), slope_u - np.concatenate(carried))
        alone = np.concatenate([step_u[:levels], np.zeros(problem.n_unknowns - levels)])
        pushed = -self.ridge * problem.expected(alone) + self.columns @ step_u[levels:]
        step_f = solved[:, 0] - problem.blocks.times(self.cells, pushed[:, None])[:, 0]
        return step_f, np.asarray(step_u)

    def reduced_rows(self, rows: Ints) -> scipy.sparse.csr_array:
        """Return the derivative of u's gradient, f eliminated, in the score of each of these rows, (n, n_unknowns)."""
        problem = self.problem
        dense = -problem.blocks.differences(self.reach)[rows]
        dense[:, problem.features.shape[1] :] += self.averages.shares[rows]
        return scipy.sparse.hstack([self._level_rows(rows), scipy.sparse.coo_array(dense)]).tocsr()

    def _level_rows(self, rows: Ints) -> scipy.sparse.coo_array:
        """Return D B Z / spread^2 of these rows, (n, n_levels)."""
        problem, blocks, n = self.problem, self.problem.blocks, self.problem.n_competitors
        if isinstance(blocks, GraphBlocks):
            reached = blocks.times(self.cells, problem.levels.toarray())
            return scipy.sparse.coo_array((reached[blocks.left[rows]] - reached[blocks.right[rows]]) * self.ridge)
        places, columns, values = [], [], []
        for place, slots, solved in blocks.pair_cells(self.cells, rows):
            competitor, tag = problem.competitor[slots], problem.tag[slots]
            for column, kept in (
                (competitor, competitor < n),
                (n * (1 + tag) + competitor, (competitor < n) & (tag >= 0)),
            ):
                places.append(np.broadcast_to(place[:, None], slots.shape)[kept])
                columns.append(column[kept])
                values.append(solved[kept] * self.ridge)
        index = (np.concatenate(places), np.concatenate(columns))
        return scipy.sparse.coo_array((np.concatenate(values), index), shape=(len(rows), problem.n_levels))
