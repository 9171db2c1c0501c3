"""Gibbs sampling of the joint posterior of consensus, components of taste and scales."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from models_engine.inference.tastes.cut_sampling import CutSampler
from models_engine.inference.tastes.draws import Moments, Sampled
from models_engine.inference.tastes.opposites import Opposites
from models_engine.inference.tastes.part_scales import PartScales
from models_engine.inference.tastes.perception import NOISE_SD, AnswerGroup, Perception
from models_engine.inference.tastes.reliability_sampling import (
    AnswerGroups,
    ReliabilitySampler,
    ReliabilityTable,
)
from models_engine.inference.tastes.side_sampling import SideSampler
from models_engine.linalg import cholesky

__all__ = ["GRID", "LOG_STEP", "Sampled", "ScaleDensities", "sample_tastes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TINY = np.finfo(np.float64).tiny
GRID = np.exp(np.linspace(np.log(0.01), np.log(8.0), 139))  # standard deviations among which scales are drawn
LOG_GRID, GRID_SQUARES = np.log(GRID), GRID**2
LOG_STEP = float(np.log(GRID[1] / GRID[0]))
STEPS = (1, 2, 4, 8)  # of the grid, by which scales are proposed larger or smaller together
PART_STEPS = (2, 4, 8, 16)  # those of a part by itself, which few answers tell of
EVERY = 10  # sweeps per reported step
P_OPPOSE = 0.25  # P(a sweep proposes the opposite of each annotator's utilities), after the warm-up
N_SETTLING = 60  # first sweeps, in which components of taste are found


@dataclass(frozen=True, eq=False)
class ScaleDensities:
    """Log prior densities (len(GRID),), by the logarithm of the standard deviation, up to a constant.

    consensus: of the consensus's.   component: of a component's.   own: of what is a person's alone.   total: of the
    standard deviation of a whole taste, by which those of all components and of the own part are drawn together.
    part_spread: scale of the half-normal prior of the standard deviation of log tau_p, where parts have their own.
    """

    consensus: Floats
    component: Floats
    own: Floats
    total: Callable[[Floats], Floats]
    part_spread: float = 0.75


def sample_tastes(
    answers: Sequence[AnswerGroup],
    n_items: int,
    n_annotators: int,
    n_components: int,
    densities: ScaleDensities,
    rng: np.random.Generator,
    *,
    parts: Ints | None = None,
    part_scales: bool = False,
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

    parts (n_items,): numbers of the connected parts, by default one.   part_scales: whether each part has its own tau
    (see PartScales), which a kernel does not allow.   reliability: whether each annotator's, the share of answers that
    are not reversed, is drawn, or is 1.
    Careless people and a camp of another taste explain the same answers at first sight, and a chain hardly ever goes
    from the one to the other: no component has the taste of a camp while all of it count as careless. So nobody is
    careless in the first sweeps (see ReliabilitySampler.release), while components settle; then each becomes so by
    themselves. Whoever has the question upside down may be told from a taste opposed to all others at any time, see
    Opposites. Answers with grades say between which cut points the perceived difference lies; these are drawn as
    CutSampler says. on_step hears of every tenth sweep, with the log density of the residuals.
    """
    parts = np.zeros(n_items, np.int64) if parts is None else parts
    by_part = PartScales(parts, GRID, 1.0, densities.part_spread) if part_scales else None
    chain = _Chain(answers, n_items, n_annotators, n_components, densities, rng, kernel, reliability, n_grades, by_part)
    draws = Moments(n_annotators, parts)
    for sweep in range(n_warm_up + n_draws):
        if sweep == min(N_SETTLING, n_warm_up):
            chain.reliabilities.release()
        fit = chain.sweep(warming_up=sweep < n_warm_up)
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
        by_part: PartScales | None,
    ) -> None:
        self.n, self.u, self.c, self.rng, self.densities = n_items, n_annotators, n_components, rng, densities
        self.answers = [Perception(one, may_reverse=reliability) for one in answers]
        self.cut_points: list[CutSampler | None] = [
            CutSampler(one.grades, seen.tied, n_grades) if one.grades is not None and n_grades else None
            for one, seen in zip(answers, self.answers, strict=True)
        ]
        self.learns, self.sides = reliability, SideSampler(n_annotators, self.answers)
        self.reliabilities = ReliabilitySampler(np.concatenate([one.annotators for one in answers]), n_annotators)
        if by_part is not None:
            first = np.concatenate([one.items[:, 0] for one in answers])
            annotators = np.concatenate([one.annotators for one in answers])
            self.answer_parts = AnswerGroups(by_part.of_items(first), annotators)
        if not reliability:
            self.reliabilities.value[:] = self.reliabilities.crowd = 1.0
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
        self.t, self.tau, self.r, self.by_part = np.zeros(n_items), 1.0, 0.3, by_part
        self.v, self.s = 0.3 * rng.standard_normal((n_items, n_components)), np.full(n_components, 0.5)
        self.w, self.f = rng.standard_normal((n_annotators, n_components)), np.zeros(len(known))
        seen = [cells.reshape(one.items.shape) for one, cells in zip(answers, self.cells, strict=True)]
        self.opposites = Opposites(
            self.annotator, self.item, self.count, seen, n_annotators, self._sum_by_annotator, self._gaussian
        )

    def sweep(self, *, warming_up: bool = False) -> float:
        """Draw every unknown once, given the others; each annotator's own part is integrated out for the rest."""
        utilities = [
            self.f[cells].reshape(one.level.shape) for one, cells in zip(self.answers, self.cells, strict=True)
        ]
        for one, own, cut_points in zip(self.answers, utilities, self.cut_points, strict=True):
            mean = one.shown(own, self.sides.value)
            if cut_points is not None:
                lapse = 1 - self.reliabilities.value[one.annotators]
                cut_points.draw(one.winners_margin(mean), lapse, self.rng, warming_up=warming_up)
            between = None if cut_points is None else cut_points.ends(cut_points.cuts)
            one.draw(mean, self.reliabilities.value, self.rng, between)
        self.sides.draw(utilities, self.rng)
        all_cells = np.concatenate(self.cells)
        all_perceived = np.concatenate([one.shown(one.perceived, -self.sides.value).ravel() for one in self.answers])
        mean = np.bincount(all_cells, all_perceived, len(self.count)) / self.count
        weight = 1 / (self.r**2 + NOISE_SD**2 / self.count)
        self._draw_scores(mean, weight)
        self._draw_items(mean, weight)
        expected = self.t[self.item] + (self.v[self.item] * self.w[self.annotator]).sum(axis=1)
        self._draw_scales(mean - expected)
        precision = 1 / self.r**2 + self.count / NOISE_SD**2
        centre_of = (expected / self.r**2 + self.count * mean / NOISE_SD**2) / precision
        self.f = centre_of + self.rng.standard_normal(len(precision)) / np.sqrt(precision)
        table = self._rescale(self._table(self.f) if self.learns else None)
        if self.by_part is not None:
            table = self._rescale_parts(self.by_part, table)
        if table is not None:
            opposes = warming_up or self.rng.random() < P_OPPOSE
            self.reliabilities.draw(self._oppose(table) if opposes else table, self.rng)
        return float(-(weight * (mean - expected) ** 2).sum() / 2 + np.log(weight).sum() / 2)

    def _table(self, f: Floats, of_cuts: float = 1.0, *, opposite: bool = False) -> ReliabilityTable:
        """Return what all answers say of reliabilities with utilities f of the cells and cut points times of_cuts.

        opposite: with what else changes where these are taken as the opposite ones.
        """
        return self.reliabilities.table(*self._chances(f, of_cuts, opposite=opposite))

    def _chances(self, f: Floats, of_cuts: float = 1.0, *, opposite: bool = False) -> tuple[Floats, Floats]:
        """Return the chances of all answers where they are not reversed and where they are, (m,) each, see `_table`."""
        found = []
        for one, cells, cut_points in zip(self.answers, self.cells, self.cut_points, strict=True):
            mean = one.shown(f[cells].reshape(one.level.shape), -self.sides.value if opposite else self.sides.value)
            between = None if cut_points is None else cut_points.ends(of_cuts * cut_points.cuts)
            found.append(one.chances(mean, self.reliabilities.value, between, opposite=opposite))
        kept, turned = (np.concatenate(both) for both in zip(*found, strict=True))
        return kept, turned

    def _rescale(self, table: ReliabilityTable | None) -> ReliabilityTable | None:
        """Propose larger or smaller utilities and scales (Metropolis & Hastings): all, the consensus's, the tastes'.

        Answers given utilities and reliabilities are what they were with the perceived utilities summed over, so that
        the chain needs not wait until those, which are many, drift along (Liu & Sabatti 2000). Densities given the
        scales stay as they are, times the change of volume; only the likelihood and the prior of the scales count.
        Where reliabilities are drawn, `table` says what answers tell of them, and they, and the crowd's prior, are
        summed over; of the three two are proposed in each sweep. Returns the table at the end.
        """
        kinds = np.array([(True, True), (True, False), (False, True)])
        for consensus, tastes in kinds if table is None else self.rng.permutation(kinds)[:2]:
            steps = int(self.rng.choice(STEPS)) * (1 if self.rng.random() < 0.5 else -1)
            old = np.rint(np.log(np.array([self.tau, self.r, *self.s]) / GRID[0]) / LOG_STEP).astype(np.int64)
            new = old + steps * np.array([consensus, *[tastes] * (len(old) - 1)])
            parts = self.by_part if consensus else None
            if new.min() >= 0 and new.max() < len(GRID) and (parts is None or parts.can_move(steps)):
                factor = float(np.exp(steps * LOG_STEP))
                gain = self._log_prior(new) - self._log_prior(old) + (0.0 if parts is None else parts.gain(steps))
                table = self._propose(new, gain, factor if consensus else 1.0, factor if tastes else 1.0, table)
        return table

    def _propose(
        self, scales: Ints, gain: float, of_t: float, of_rest: float, table: ReliabilityTable | None
    ) -> ReliabilityTable | None:
        """Propose the scales at these places of GRID, of whose prior the log grows by `gain`, with the consensus and
        the rest of utilities times these factors; cut points and what was perceived in sets grow only with both.
        Returns `table` as it is then."""
        of_both = of_t if of_t == of_rest else 1.0
        t = self.t[self.item]
        f = of_t * t + of_rest * (self.f - t)
        proposed = None if table is None else self._table(f, of_both)
        if table is not None and proposed is not None:
            gain += proposed.log_marginal - table.log_marginal
        for one, cells, cut_points in zip(self.answers, self.cells, self.cut_points, strict=True):
            before, after = (
                one.shown(values[cells].reshape(one.level.shape), self.sides.value) for values in (self.f, f)
            )
            if table is not None:
                gain += one.gain_of_sets(before, after, of_both)
                gain += 0.0 if cut_points is None else cut_points.prior_gain(of_both)
            elif cut_points is None:
                own = self.reliabilities.value
                gain += one.log_density(after, of_both, own) - one.log_density(before, 1.0, own)
            else:
                lapse = 1 - self.reliabilities.value[one.annotators]
                gain += cut_points.log_density(one.winners_margin(after), lapse, of_both)
                gain -= cut_points.log_density(one.winners_margin(before), lapse, 1.0)
        if np.log(self.rng.random()) >= gain:
            return table
        if self.by_part is not None:
            self.by_part.move(int(scales[0]) - self.by_part.at)
        self.tau, self.r, self.s = float(GRID[scales[0]]), float(GRID[scales[1]]), GRID[scales[2:]]
        self.t, self.v, self.f = of_t * self.t, of_rest * self.v, f
        for one, cut_points in zip(self.answers, self.cut_points, strict=True):
            one.perceived *= of_both
            if cut_points is not None:
                cut_points.log_gaps = cut_points.log_gaps + np.log(of_both)
        return proposed

    def _rescale_parts(self, scales: PartScales, table: ReliabilityTable | None) -> ReliabilityTable | None:
        """Propose the consensus of each unconnected part and its scale larger or smaller, as `_rescale` does of all."""
        steps, gain, factors = scales.propose(PART_STEPS, self.rng)
        t = factors * self.t
        f = self.f + (t - self.t)[self.item]
        seen = [
            [one.shown(values[cells].reshape(one.level.shape), self.sides.value) for values in (self.f, f)]
            for one, cells in zip(self.answers, self.cells, strict=True)
        ]
        of_sets = [one.gains_by_set(*both) for one, both in zip(self.answers, seen, strict=True)]
        gain = gain + np.bincount(self.answer_parts.of_answer, np.concatenate(of_sets), len(gain))
        chances = self._chances(self.f), self._chances(f)
        if table is not None:
            change = self.reliabilities.log_ratios(*chances)
            taken = self.reliabilities.choose_groups(table, change, self.answer_parts, gain, self.rng)
        else:
            kept = [np.maximum(one, TINY) for one, _ in chances]
            gain += np.bincount(self.answer_parts.of_answer, np.log(kept[1] / kept[0]), len(gain))
            taken = np.log(self.rng.random(len(gain))) < gain
        if not taken.any():
            return table
        self.t = np.where(taken[scales.of_items(np.arange(self.n))], t, self.t)
        self.f = np.where(taken[scales.of_items(self.item)], f, self.f)
        scales.places = scales.places + np.where(taken, steps, 0)
        return None if table is None else self._table(self.f)

    def _oppose(self, table: ReliabilityTable) -> ReliabilityTable:
        """Propose about the opposite of each annotator's utilities, see Opposites; return the table afterwards."""
        proposal = self.opposites.propose(self.f, self.t, self.v, self.r, self.rng)
        gain = proposal.gain + self.sides.opposite_gain()
        seen = [
            proposal.middle[cells].reshape(one.level.shape) for one, cells in zip(self.answers, self.cells, strict=True)
        ]
        for one, cells, centre in zip(self.answers, self.cells, seen, strict=True):
            before, after = (f[cells].reshape(one.level.shape) for f in (self.f, proposal.utilities))
            gain = gain + one.opposite_gain(before, after, centre, self.u)
        proposed = self._table(proposal.utilities, opposite=True)
        taken, table = self.reliabilities.choose(table, proposed, gain, self.rng)
        if taken.any():
            self.f = np.where(taken[self.annotator], proposal.utilities, self.f)
            self.w = np.where(taken[:, None], proposal.scores, self.w)
            self.sides.value = np.where(taken, -self.sides.value, self.sides.value)
            for one, centre in zip(self.answers, seen, strict=True):
                one.oppose(taken[one.annotators], centre)
        return table

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
            own = sds if self.by_part is None else np.column_stack([self.item_sds, np.tile(self.s, (self.n, 1))])
            precision[:, np.arange(k), np.arange(k)] += 1 / own**2
            found = self._gaussian(precision, push)
        else:
            found = np.column_stack([self.t, self.v])
            for row in range(k):
                rest = push[:, row] - (precision[:, row] * found).sum(axis=1) + precision[:, row, row] * found[:, row]
                whole = self.precision / sds[row] ** 2 + np.diag(precision[:, row, row])
                found[:, row] = self._gaussian(whole[None], rest[None])[0]
        self.t, self.v = found[:, 0], found[:, 1:]

    @property
    def item_sds(self) -> Floats:
        """Return the standard deviation of each item's consensus, (n_items,)."""
        return np.full(self.n, self.tau) if self.by_part is None else GRID[self.by_part.item_places()]

    def _gaussian(self, precision: Floats, push: Floats) -> Floats:
        """Draw from N(precision^-1 push, precision^-1), a stack (m, k, k) and (m, k)."""
        lower = np.linalg.cholesky(precision) if len(precision) > 1 else cholesky(precision[0])[None]
        half = np.linalg.solve(lower, push[:, :, None]) + self.rng.standard_normal((*push.shape, 1))
        return np.asarray(np.linalg.solve(lower.transpose(0, 2, 1), half)[:, :, 0])

    def _draw_scales(self, residual: Floats) -> None:
        """Draw each standard deviation on the grid, given the values it applies to."""
        rows = np.column_stack([self.t, self.v])
        weighted = rows if self.precision is None else self.precision @ rows
        likelihood = -self.n * LOG_GRID - (rows * weighted).sum(axis=0)[:, None] / (2 * GRID_SQUARES)
        if self.by_part is None:
            self.tau = self._pick(likelihood[0] + self.densities.consensus)
        else:
            self.by_part.draw(self.t, self.densities.consensus, self.rng)
            self.tau = float(GRID[self.by_part.at])
        for c in range(self.c):
            others = (self.s**2).sum() - self.s[c] ** 2 + self.r**2
            prior = self.densities.component + self.densities.total(np.sqrt(others + GRID_SQUARES))
            self.s[c] = self._pick(likelihood[c + 1] + prior)
        squares = np.bincount(self.group, residual**2)
        fits = -(self.log_sizes + squares / self.variances).sum(axis=1) / 2
        whole = self.densities.total(np.sqrt((self.s**2).sum() + GRID_SQUARES))
        self.r = self._pick(fits + self.densities.own + whole)

    def _pick(self, log_density: Floats) -> float:
        return float(GRID[(log_density + self.rng.gumbel(size=len(GRID))).argmax()])
