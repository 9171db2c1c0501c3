"""Gibbs sampling of the joint posterior of consensus, components of taste and scales."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from models_engine.inference.tastes.cut_sampling import CutSampler
from models_engine.inference.tastes.perception import NOISE_SD, AnswerGroup, Perception
from models_engine.inference.tastes.reliability import BetaPrior, draw_reliabilities
from models_engine.inference.tastes.side_sampling import SideSampler
from models_engine.inference.tastes.sides import SideBiases
from models_engine.linalg import centre, centre_parts, cholesky

__all__ = ["GRID", "LOG_STEP", "Sampled", "ScaleDensities", "sample_tastes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
GRID = np.exp(np.linspace(np.log(0.01), np.log(8.0), 139))  # standard deviations among which scales are drawn
LOG_GRID, GRID_SQUARES = np.log(GRID), GRID**2
LOG_STEP = float(np.log(GRID[1] / GRID[0]))
STEPS = (1, 2, 4, 8)  # of the grid, by which scales are proposed larger or smaller together
EVERY = 10  # sweeps per reported step
N_ALONE = 60  # first sweeps, without components of taste, in which reliabilities are found


@dataclass(frozen=True, eq=False)
class ScaleDensities:
    """Log prior densities (len(GRID),), by the logarithm of the standard deviation, up to a constant.

    consensus: of the consensus's.   component: of a component's.   own: of what is a person's alone.   total: of the
    standard deviation of a whole taste, by which those of all components and of the own part are drawn together.
    """

    consensus: Floats
    component: Floats
    own: Floats
    total: Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Sampled:
    """Summaries of the draws.

    shared (n_items, n_items): mean of V V', of the geometric mean size of `taste`.   taste (n_items, n_items): mean of
    V V' + r^2 I, of that size too.   consensus_sd: geometric mean.   sizes (n_draws,): traces of each draw's centred
    taste covariance over their geometric mean.   spectra (n_draws, c): eigenvalues of each draw's centred V V',
    largest first.   own, own_square, difference, difference_square (n_annotators, n_items): first and second moments
    of an annotator's centred utilities, and of their difference to the centred consensus.   above (n_annotators,
    n_items): the share of draws in which that difference is positive.   reliability, reliability_sd (n_annotators,): of
    each annotator, (1, 0) where none is drawn.   crowd_reliability: mean of the crowd's mean.   consensus,
    consensus_square (n_items,): first and second moments of the consensus, centred within each connected part.
    log_gaps (n_draws, n_grades): those between the cut points of graded answers, None where there are none.
    sides: side biases of the annotators, None where no answer tells of them.
    """

    shared: Floats
    taste: Floats
    consensus_sd: float
    sizes: Floats
    spectra: Floats
    own: Floats
    own_square: Floats
    difference: Floats
    difference_square: Floats
    above: Floats
    reliability: Floats
    reliability_sd: Floats
    crowd_reliability: float
    consensus: Floats
    consensus_square: Floats
    log_gaps: Floats | None = None
    sides: SideBiases | None = None


def sample_tastes(
    answers: Sequence[AnswerGroup],
    n_items: int,
    n_annotators: int,
    n_components: int,
    densities: ScaleDensities,
    rng: np.random.Generator,
    *,
    parts: Ints | None = None,
    kernel: Floats | None = None,
    reliability: bool = False,
    n_grades: int = 0,
    n_warm_up: int = 250,
    n_draws: int = 450,
    on_step: Callable[[float], None],
) -> Sampled:
    """Draw from p(t, V, w, scales | answers) of f_u = t + V w_u + e_u by data augmentation (Albert & Chib 1993).

    t ~ N(0, tau^2 K), v_c ~ N(0, s_c^2 K), w_u ~ N(0, I), e_u ~ N(0, r^2 I), K = `kernel` or I. In each answer every
    item is perceived with noise N(0, 1/2) and the perceived ones are in the order given (Thurstone); a tied pair is
    taken either way, by lot in every sweep. Where it counts which item of a pair was shown first, each annotator's side
    bias is added to what is perceived of it (see SideSampler).

    parts (n_items,): numbers of the connected parts, by default one.   reliability: whether each annotator's, the share
    of answers that are not reversed, is drawn, or is 1.
    A reversed person and a taste opposed to all others explain the same answers at first sight, and a chain rarely
    goes from one to the other. So the first sweeps have no components, and who opposes what is agreed on counts as
    reversed unless components explain it better. Answers with grades say between which cut points the perceived
    difference lies; these are drawn as CutSampler says. on_step hears of every tenth sweep, with the log density of the
    residuals.
    """
    chain = _Chain(answers, n_items, n_annotators, n_components, densities, rng, kernel, reliability, n_grades)
    draws = _Moments(n_annotators, np.zeros(n_items, np.int64) if parts is None else parts)
    for sweep in range(n_warm_up + n_draws):
        fit = chain.sweep(alone=reliability and sweep < min(N_ALONE, n_warm_up), warming_up=sweep < n_warm_up)
        if sweep % EVERY == 0:
            on_step(fit)
        if sweep >= n_warm_up:
            draws.add(chain)
            chain.sides.record()
    return replace(draws.result(), sides=chain.sides.summary())


class _Chain:
    """The state of the sampler. A cell is an annotator with an item they saw; cells are sorted by annotator."""

    def __init__(
        self,
        answers: Sequence[AnswerGroup],
        n_items: int,
        n_annotators: int,
        n_components: int,
        densities: ScaleDensities,
        rng: np.random.Generator,
        kernel: Floats | None,
        reliability: bool,
        n_grades: int,
    ) -> None:
        self.n, self.u, self.c, self.rng, self.densities = n_items, n_annotators, n_components, rng, densities
        self.answers = [Perception(one, may_reverse=reliability) for one in answers]
        self.cut_points: list[CutSampler | None] = [
            CutSampler(one.grades, seen.tied, n_grades) if one.grades is not None and n_grades else None
            for one, seen in zip(answers, self.answers, strict=True)
        ]
        self.learns, self.sides = reliability, SideSampler(n_annotators, self.answers)
        self.crowd = BetaPrior()
        self.reliability = np.full(n_annotators, self.crowd.mean if reliability else 1.0)
        keys = [(one.annotators[:, None] * n_items + one.items).ravel() for one in answers]
        known, place = np.unique(np.concatenate(keys), return_inverse=True)
        self.annotator, self.item = known // n_items, known % n_items
        self.cells = np.split(place.ravel(), np.cumsum([one.items.size for one in answers])[:-1])
        self.count = np.bincount(place.ravel()).astype(np.float64)
        self.table = self._cells_by_annotator()
        self.table_by_item = self.table.T  # of the same values
        self.counts, self.group = np.unique(self.count, return_inverse=True)
        self.variances = GRID[:, None] ** 2 + NOISE_SD**2 / self.counts
        self.log_sizes = np.bincount(self.group) * np.log(self.variances)
        self.precision = None if kernel is None else np.linalg.inv(kernel)
        self.t, self.tau, self.r = np.zeros(n_items), 1.0, 0.3
        self.v, self.s = 0.3 * rng.standard_normal((n_items, n_components)), np.full(n_components, 0.5)
        self.w, self.f = rng.standard_normal((n_annotators, n_components)), np.zeros(len(known))
        if reliability:
            self.w[:] = 0.0

    def sweep(self, *, alone: bool = False, warming_up: bool = False) -> float:
        """Draw every unknown once, given the others; each annotator's own part is integrated out for the rest.

        alone: whether all scores are still 0, so that tastes have no components.
        """
        utilities = [
            self.f[cells].reshape(one.level.shape) for one, cells in zip(self.answers, self.cells, strict=True)
        ]
        for one, own, cut_points in zip(self.answers, utilities, self.cut_points, strict=True):
            mean = one.shown(own, self.sides.value)
            if cut_points is not None:
                lapse = 1 - self.reliability[one.annotators]
                cut_points.draw(one.winners_margin(mean), lapse, self.rng, warming_up=warming_up)
            between = None if cut_points is None else cut_points.ends(cut_points.cuts)
            one.draw(mean, self.reliability, self.rng, between)
        self._draw_reliabilities(alone=alone)
        self.sides.draw(utilities, self.rng)
        all_cells = np.concatenate(self.cells)
        all_perceived = np.concatenate([one.shown(one.perceived, -self.sides.value).ravel() for one in self.answers])
        mean = np.bincount(all_cells, all_perceived, len(self.count)) / self.count
        weight = 1 / (self.r**2 + NOISE_SD**2 / self.count)
        if not alone:
            self._draw_scores(mean, weight)
        self._draw_items(mean, weight)
        expected = self.t[self.item] + (self.v[self.item] * self.w[self.annotator]).sum(axis=1)
        self._draw_scales(mean - expected, alone=alone)
        precision = 1 / self.r**2 + self.count / NOISE_SD**2
        centre_of = (expected / self.r**2 + self.count * mean / NOISE_SD**2) / precision
        self.f = centre_of + self.rng.standard_normal(len(precision)) / np.sqrt(precision)
        if not alone:
            self._rescale()
        return float(-(weight * (mean - expected) ** 2).sum() / 2 + np.log(weight).sum() / 2)

    def _draw_reliabilities(self, *, alone: bool) -> None:
        """Draw the reliability of each annotator, then the crowd's prior from them (alone: not yet)."""
        if not self.learns:
            return
        counts = np.array([one.count(self.u) for one in self.answers]).sum(axis=0)
        alpha, beta = self.crowd.counts
        self.reliability = draw_reliabilities(alpha + counts[0], beta + counts[1], self.rng)
        if not alone:
            self.crowd = BetaPrior.drawn(self.reliability[counts.sum(axis=0) > 0], self.rng)

    def _rescale(self) -> None:
        """Propose larger or smaller utilities and scales (Metropolis & Hastings): all, the consensus's, the tastes'.

        Answers given utilities and reliabilities are what they were with the perceived utilities summed over, so that
        the chain needs not wait until those, which are many, drift along (Liu & Sabatti 2000). Densities given the
        scales stay as they are, times the change of volume; only the likelihood and the prior of the scales count.
        """
        old = np.rint(np.log(np.array([self.tau, self.r, *self.s]) / GRID[0]) / LOG_STEP).astype(np.int64)
        now: float | None = None
        for consensus, tastes in ((True, True), (True, False), (False, True)):
            steps = STEPS[self.rng.integers(len(STEPS))] * (1 if self.rng.random() < 0.5 else -1)
            new = old + steps * np.array([consensus, *[tastes] * (len(old) - 1)])
            if new.min() < 0 or new.max() >= len(GRID):
                continue
            factor = float(np.exp(steps * LOG_STEP))
            of_t, of_rest = factor if consensus else 1.0, factor if tastes else 1.0
            of_both = of_t if of_t == of_rest else 1.0
            t = self.t[self.item]
            f = of_t * t + of_rest * (self.f - t)
            if now is None:
                now = self._log_prior(old) + self._log_likelihood(self.f, 1.0)
            if np.log(self.rng.random()) < self._log_prior(new) + self._log_likelihood(f, of_both) - now:
                self._rescale_to(new, f, of_t, of_rest, of_both)
                old, now = new, None

    def _log_likelihood(self, f: Floats, of_both: float) -> float:
        """Return the log density of all answers were each cell's utility `f`, with cut points and what was perceived in
        sets times `of_both`, up to a constant."""
        found = 0.0
        for one, cells, cut_points in zip(self.answers, self.cells, self.cut_points, strict=True):
            utilities = one.shown(f[cells].reshape(one.level.shape), self.sides.value)
            if cut_points is None:
                found += one.log_density(utilities, of_both, self.reliability)
            else:
                lapse = 1 - self.reliability[one.annotators]
                found += cut_points.log_density(one.winners_margin(utilities), lapse, of_both)
        return found

    def _rescale_to(self, scales: Ints, f: Floats, of_t: float, of_rest: float, of_both: float) -> None:
        """Take the scales at these places of GRID, with the consensus, the rest of utilities, and cut points and what
        was perceived times these factors."""
        self.tau, self.r, self.s = float(GRID[scales[0]]), float(GRID[scales[1]]), GRID[scales[2:]]
        self.t, self.v, self.f = of_t * self.t, of_rest * self.v, f
        for one, cut_points in zip(self.answers, self.cut_points, strict=True):
            one.perceived *= of_both
            if cut_points is not None:
                cut_points.log_gaps = cut_points.log_gaps + np.log(of_both)

    def _log_prior(self, places: Ints) -> float:
        """Return the log prior density of the scales (tau, r, s_1, ...) at these places of GRID, up to a constant."""
        tau, r, s = places[0], places[1], places[2:]
        total = self.densities.total(np.sqrt((GRID[places[1:]] ** 2).sum(keepdims=True)))[0]
        densities = self.densities
        return float(densities.consensus[tau] + densities.own[r] + densities.component[s].sum() + total)

    def _cells_by_annotator(self) -> scipy.sparse.csr_array:
        """Return (n_annotators, n_items) with a place for the value of each cell."""
        start = np.searchsorted(self.annotator, np.arange(self.u + 1))
        return scipy.sparse.csr_array((np.zeros(len(self.item)), self.item, start), shape=(self.u, self.n))

    def _sum_by_annotator(self, values: Floats, rows: Floats) -> Floats:
        """Return (n_annotators, ...): the sum of `rows` of the items seen, each times its cell's value."""
        self.table.data[:] = values
        return np.asarray(self.table @ rows)

    def _sum_by_item(self, values: Floats, rows: Floats) -> Floats:
        """Return (n_items, ...): the sum of `rows` of the annotators who saw it, each times its cell's value."""
        self.table.data[:] = values
        return np.asarray(self.table_by_item @ rows)

    def _draw_scores(self, mean: Floats, weight: Floats) -> None:
        squares = (self.v[:, :, None] * self.v[:, None, :]).reshape(self.n, -1)
        precision = self._sum_by_annotator(weight, squares).reshape(self.u, self.c, self.c) + np.eye(self.c)
        push = self._sum_by_annotator(weight * (mean - self.t[self.item]), self.v)
        self.w = self._gaussian(precision, push)

    def _draw_items(self, mean: Floats, weight: Floats) -> None:
        """Draw consensus and components of every item: at once if items are independent, else one row at a time."""
        x = np.column_stack([np.ones(self.u), self.w])
        sds, k = np.r_[self.tau, self.s], self.c + 1
        squares = (x[:, :, None] * x[:, None, :]).reshape(self.u, -1)
        precision = self._sum_by_item(weight, squares).reshape(self.n, k, k)
        push = self._sum_by_item(weight * mean, x)
        if self.precision is None:
            precision[:, np.arange(k), np.arange(k)] += 1 / sds**2
            found = self._gaussian(precision, push)
        else:
            found = np.column_stack([self.t, self.v])
            for row in range(k):
                rest = push[:, row] - (precision[:, row] * found).sum(axis=1) + precision[:, row, row] * found[:, row]
                whole = self.precision / sds[row] ** 2 + np.diag(precision[:, row, row])
                found[:, row] = self._gaussian(whole[None], rest[None])[0]
        self.t, self.v = found[:, 0], found[:, 1:]

    def _gaussian(self, precision: Floats, push: Floats) -> Floats:
        """Draw from N(precision^-1 push, precision^-1), a stack (m, k, k) and (m, k)."""
        lower = np.linalg.cholesky(precision) if len(precision) > 1 else cholesky(precision[0])[None]
        half = np.linalg.solve(lower, push[:, :, None]) + self.rng.standard_normal((*push.shape, 1))
        return np.asarray(np.linalg.solve(lower.transpose(0, 2, 1), half)[:, :, 0])

    def _draw_scales(self, residual: Floats, *, alone: bool) -> None:
        """Draw each standard deviation on the grid, given the values it applies to; alone: not those of components."""
        rows = np.column_stack([self.t, self.v])
        weighted = rows if self.precision is None else self.precision @ rows
        likelihood = -self.n * LOG_GRID - (rows * weighted).sum(axis=0)[:, None] / (2 * GRID_SQUARES)
        self.tau = self._pick(likelihood[0] + self.densities.consensus)
        for c in range(0 if alone else self.c):
            others = (self.s**2).sum() - self.s[c] ** 2 + self.r**2
            prior = self.densities.component + self.densities.total(np.sqrt(others + GRID_SQUARES))
            self.s[c] = self._pick(likelihood[c + 1] + prior)
        squares = np.bincount(self.group, residual**2)
        fits = -(self.log_sizes + squares / self.variances).sum(axis=1) / 2
        whole = 0.0 if alone else self.densities.total(np.sqrt((self.s**2).sum() + GRID_SQUARES))
        self.r = self._pick(fits + self.densities.own + whole)

    def _pick(self, log_density: Floats) -> float:
        return float(GRID[(log_density + self.rng.gumbel(size=len(GRID))).argmax()])


class _Moments:
    """Sums over draws."""

    def __init__(self, n_annotators: int, parts: Ints) -> None:
        n_items = len(parts)
        self.n, self.parts = 0, parts
        self.consensus = np.zeros((2, n_items))
        self.shared, self.taste = np.zeros((n_items, n_items)), np.zeros((n_items, n_items))
        self.totals: list[float] = []
        self.consensus_sd: list[float] = []
        self.spectra: list[Floats] = []
        self.sums = np.zeros((5, n_annotators, n_items))
        self.reliability, self.crowd = np.zeros((2, n_annotators)), 0.0
        self.log_gaps: list[Floats] = []

    def add(self, chain: _Chain) -> None:
        n, spread = chain.n, chain.v @ chain.v.T
        own = chain.t + chain.w @ chain.v.T + chain.r * chain.rng.standard_normal((chain.u, n))
        own[chain.annotator, chain.item] = chain.f
        own, across = centre(own), chain.v - chain.v.mean(axis=0)
        apart = own - centre(chain.t)
        t = centre_parts(chain.t, self.parts)
        self.n += 1
        self.consensus += t, t**2
        self.shared += spread
        self.reliability += chain.reliability, chain.reliability**2
        self.crowd += chain.crowd.mean if chain.learns else 1.0
        self.taste += spread + chain.r**2 * np.eye(n)
        self.log_gaps += [one.log_gaps for one in chain.cut_points if one is not None]
        self.consensus_sd.append(chain.tau)
        self.spectra.append(np.maximum(np.linalg.eigvalsh(across.T @ across)[::-1], 0.0))
        self.totals.append(float((across**2).sum() + (n - 1) * chain.r**2))
        for place, values in enumerate((own, own**2, apart, apart**2, apart > 0)):
            self.sums[place] += values

    def result(self) -> Sampled:
        totals = np.asarray(self.totals)
        typical = float(np.exp(np.log(totals).mean()))
        scale = typical / float(totals.mean()) / self.n
        reliability, square = self.reliability / self.n
        own, own_square, difference, difference_square, above = self.sums / self.n
        return Sampled(
            self.shared * scale,
            self.taste * scale,
            float(np.exp(np.log(self.consensus_sd).mean())),
            totals / typical,
            np.asarray(self.spectra),
            own=own,
            own_square=own_square,
            difference=difference,
            difference_square=difference_square,
            above=above,
            reliability=reliability,
            reliability_sd=np.sqrt(np.maximum(square - reliability**2, 0.0)),
            crowd_reliability=self.crowd / self.n,
            consensus=self.consensus[0] / self.n,
            consensus_square=self.consensus[1] / self.n,
            log_gaps=np.array(self.log_gaps) if self.log_gaps else None,
        )
