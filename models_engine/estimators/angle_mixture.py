"""AngleBasedMixture: groups of annotators, each with its own angle-based model; DIC chooses their number."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.estimators.angle_posterior import AnglePosterior
from models_engine.estimators.settings import check_settings
from models_engine.inference.angle.completions import draw_rankings
from models_engine.inference.angle.mixture import MODE_TOLERANCE, LabelProfiles, MixtureGroups
from models_engine.inference.angle.permutations import place_scores
from models_engine.linalg import centre
from models_engine.messages import Message, gettext_noop
from models_engine.posterior import Likelihood, Posterior, SamplePosterior
from models_engine.progress import FitLog, Progress
from models_engine.stored_posteriors import shared_fields
from models_engine.summaries import Components
from models_engine.validation import check_annotator, check_selection

__all__ = ["AngleBasedMixture", "AngleMixturePosterior"]

Floats = NDArray[np.float64]
N_DEVIANCES = 100
FIRST_STEPS = 30
MIN_DIC_GAIN = 5.0  # by which one more group must reduce DIC (Spiegelhalter et al. 2002: less is not conclusive)
# Of the bound's last rise: how far below its mode a group may stay while memberships still move (generalised EM; Neal &
# Hinton 1998). Every Newton step goes up, so that the bound does, and the share left out shrinks with the rises.
LEFT_OUT = 0.1
GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class AngleBasedMixture:
    """Mixture: each annotator belongs to one of n_groups groups with their own kappa and theta (Xu, Alvo & Yu, 4.2).

    All labels of an annotator share the group: give each ballot its own annotator if voters are anonymous.
    Up to eight items with the exact constant at each group's mode (the approximate constant would favour groups of a
    single ranking). Above, complete rankings by the variational form; where some labels are incomplete (pairs, choices,
    tops, rankings of some items) by the mode of a likelihood averaged over rankings drawn from the model (Orders), so
    that the bound and DIC have a Monte Carlo error.
    Utilities are the crowd's: the groups' utilities weighted by their shares. A group's uncertainty is that given its
    members; uncertainty of memberships is ignored, so intervals are too narrow where groups overlap.
    n_groups: None tries 1, 2, ... while DIC decreases by 5 or more, at most `most_groups`.
    prior_sd: prior standard deviation of a group's utilities; it keeps kappa finite.
    n_restarts: random starts; the best bound on log p(labels) wins.
    Raises InvalidData for fewer than two items.
    """

    n_groups: int | None = None
    prior_sd: float = 3.0
    most_groups: int = 6
    n_restarts: int = 4
    n_draws: int = 1_000
    max_iterations: int = 1_000
    tolerance: float = 1e-7

    def fit(
        self,
        data: Comparisons,
        start: Posterior | None = None,
        rng: np.random.Generator | None = None,
        progress: Progress | None = None,
    ) -> "AngleMixturePosterior":
        """See Estimator.fit. `start` is not used."""
        check_settings(self)
        profiles = LabelProfiles.of(data)
        if data.n_items < 2:
            raise InvalidData(f"{data.n_items} item cannot be ranked; give two or more.")
        rng = np.random.default_rng(0) if rng is None else rng
        sizes = range(1, self.most_groups + 1) if self.n_groups is None else [self.n_groups]
        log = FitLog(len(sizes) * self.n_restarts * self.max_iterations, progress)
        tried: list[_GroupCountResult] = []
        for size in sizes:
            tried.append(self._try_group_count(profiles, size, rng, log))
            if len(tried) > 1 and tried[-1].dic > tried[-2].dic - MIN_DIC_GAIN:
                break
        best = tried[-2] if len(tried) > 1 and tried[-1].dic > tried[-2].dic - MIN_DIC_GAIN else tried[-1]
        text = gettext_noop("deviance information criterion by number of groups: %(listed)s")
        listed = ", ".join(f"{len(one.groups.groups)}: {one.dic:.1f}" for one in tried)
        bound = Message.of(gettext_noop("bound %(value)s"), value=f"{best.groups.bound:.6g}")
        message = Message.joined(Message.of(text, listed=listed), bound)
        diagnostics = log.finish(converged=best.converged, message=message)
        order = np.argsort(-best.groups.dirichlet)
        shares, utilities = best.shares[:, order], centre(-best.eta[:, order])
        drawn = draw_rankings(-utilities.reshape(-1, profiles.t), rng).reshape(utilities.shape)
        return AngleMixturePosterior(
            draws=np.einsum("ng,ngt->nt", shares, utilities),
            diagnostics=diagnostics,
            likelihood=Likelihood(tie_rate=data.pairs().tie_rate()),
            groups=utilities,
            shares=shares,
            memberships=best.groups.memberships[profiles.profile][:, order],
            group_scores=place_scores(profiles.t)[drawn],
            dic=best.dic,
        )

    def _try_group_count(
        self, profiles: LabelProfiles, size: int, rng: np.random.Generator, log: FitLog
    ) -> "_GroupCountResult":
        """Fit this number of groups from the best random start after a few steps; with draws and DIC."""
        starts = [
            MixtureGroups.of(profiles, self._memberships(profiles, size, rng), self.prior_sd, rng=rng, check=log.check)
            for _ in range(1 if size == 1 else self.n_restarts)
        ]
        early = [self._update(profiles, one, FIRST_STEPS, rng, log)[0] for one in starts]
        best = max(early, key=lambda one: one.bound)
        groups, converged = self._update(profiles, best, self.max_iterations - FIRST_STEPS, rng, log)
        kept = groups.memberships
        groups = MixtureGroups.of(profiles, kept, self.prior_sd, groups, rng=rng, check=log.check, is_last=True)
        eta = np.stack([group.draw(self.n_draws, rng) for group in groups.groups], axis=1)
        shares = rng.dirichlet(groups.dirichlet, size=self.n_draws)
        dic = groups.dic(profiles, eta[:N_DEVIANCES], shares[:N_DEVIANCES], rng, log.check)
        return _GroupCountResult(groups, eta, shares, dic, converged)

    def _update(
        self, profiles: LabelProfiles, groups: MixtureGroups, n_steps: int, rng: np.random.Generator, log: FitLog
    ) -> tuple[MixtureGroups, bool]:
        """Update memberships and groups in turn until the bound converges; return whether it did."""
        rise = 0.0
        for _ in range(n_steps):
            before, tolerance = groups.bound, max(MODE_TOLERANCE, LEFT_OUT * rise)
            memberships = groups.next_memberships(profiles)
            groups = MixtureGroups.of(
                profiles, memberships, self.prior_sd, groups, rng=rng, check=log.check, tolerance=tolerance
            )
            log.step(groups.bound)
            rise = groups.bound - before
            if abs(rise) <= self.tolerance * (1 + abs(groups.bound)):
                return groups, groups.converged
        return groups, False

    def _memberships(self, profiles: LabelProfiles, size: int, rng: np.random.Generator) -> Floats:
        return rng.dirichlet(np.ones(size), size=len(profiles.count))


@dataclass(frozen=True, eq=False)
class _GroupCountResult:
    """Result for one number of groups, with draws (n_draws, n_groups, t) and (n_draws, n_groups), and DIC."""

    groups: MixtureGroups
    eta: Floats
    shares: Floats
    dic: float
    converged: bool


@dataclass(frozen=True, eq=False)
class AngleMixturePosterior(SamplePosterior):
    """Posterior of the consensus as draws, and of the groups, largest first.

    groups (n_draws, n_groups, n_items): their utilities.   shares (n_draws, n_groups).   memberships (n_annotators,
    n_groups): P(annotator belongs to the group).   group_scores like groups: y of a ranking drawn from each.
    """

    groups: Floats = field(kw_only=True)
    shares: Floats = field(kw_only=True)
    memberships: Floats = field(kw_only=True)
    group_scores: Floats = field(kw_only=True)
    dic: float = field(kw_only=True)

    @property
    def is_personal(self) -> bool:
        return self.shares.shape[1] > 1

    def for_annotator(self, annotator: int | None = None, *, features: ArrayLike | None = None) -> AnglePosterior:
        """Mix the groups by the memberships of a fitted annotator; by the shares for a new one (None)."""
        annotator = check_annotator(annotator)
        known = annotator is not None and annotator < len(self.memberships)
        weight = np.broadcast_to(self.memberships[annotator], self.shares.shape) if known else self.shares
        points = (np.arange(len(weight)) * GOLDEN) % 1  # evenly spread, the same each time
        chosen = np.minimum((np.cumsum(weight, axis=1) < points[:, None]).sum(axis=1), weight.shape[1] - 1)
        rows = np.arange(len(weight))
        return AnglePosterior(
            self.groups[rows, chosen], self.diagnostics, self.likelihood, scores=self.group_scores[rows, chosen]
        )

    def preference(self, left: NDArray, right: NDArray) -> Floats:
        return self.for_annotator(None).preference(left, right)

    def log_pairs(self, left: NDArray, right: NDArray, outcome: NDArray, sided: NDArray) -> Floats:
        return self.for_annotator(None).log_pairs(left, right, outcome, sided)

    def log_labels(self, data: Comparisons) -> Floats:
        """Return log P(label) by each annotator's memberships, by the shares for new annotators; summed over groups."""
        by_group = np.stack([self._group(one).log_labels(data) for one in range(self.shares.shape[1])], axis=1)
        known = np.append(self.memberships, [self.shares.mean(axis=0)], axis=0)
        weight = known[np.minimum(data.annotators, len(known) - 1)]
        return logsumexp(by_group, axis=1, b=weight)

    def divisiveness(self) -> Floats:
        """Return the standard deviation of the item's utility over groups, (n_items,)."""
        share, mean = self.shares.mean(axis=0), self.groups.mean(axis=0)
        return np.sqrt(share @ (mean - share @ mean) ** 2)

    def components(self) -> Components:
        """Return as loadings the groups' utilities minus the consensus, as scores the memberships."""
        loadings = (self.groups.mean(axis=0) - self.utilities()).T
        return Components(loadings, self.memberships, self.shares.mean(axis=0), are_groups=True)

    def restrict(self, items: ArrayLike) -> "AngleMixturePosterior":
        kept = check_selection(items, self.n_items)
        return replace(
            self,
            draws=centre(self.draws[:, kept]),
            groups=centre(self.groups[:, :, kept]),
            group_scores=self.group_scores[:, :, kept],
        )

    def to_arrays(self) -> dict[str, NDArray]:
        own = {name: getattr(self, name) for name in ("groups", "shares", "memberships", "group_scores")}
        return super().to_arrays() | own | {"dic": np.array(self.dic)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self:
        names = ("draws", "groups", "shares", "memberships", "group_scores")
        own: dict[str, Any] = {name: np.asarray(arrays[name]) for name in names}
        return cls(**own, dic=float(arrays["dic"]), **shared_fields(arrays))

    def _group(self, group: int) -> AnglePosterior:
        return AnglePosterior(
            self.groups[:, group], self.diagnostics, self.likelihood, scores=self.group_scores[:, group]
        )
