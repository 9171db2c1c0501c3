"""Learns how reliable each annotator is: the share of answers by their utilities, the others being reversed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, expit, log_expit, logsumexp

from models_engine.inference.probit_ep.annotator_blocks import Block, build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, KeptSites, run_ep
from models_engine.inference.probit_ep.independent_parts import IndependentParts, is_diagonal
from models_engine.inference.probit_ep.known_consensus import KnownConsensus
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.inference.probit_ep.site_updates import Sites
from models_engine.linalg import normalise_rows, sum_by_group

__all__ = [
    "KNOTS",
    "MEANS",
    "P_CARELESS",
    "SIZES",
    "Reliabilities",
    "learn_reliabilities",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MEANS = np.array([0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999])  # of the crowd's prior
# Answers that the crowd's prior is worth: few, where people are wholly reliable or careless, many, where all are alike.
SIZES = np.array([0.3, 1.0, 3.0, 10.0, 30.0])
FIRST_MEAN, FIRST_SIZE = 0.93, 5.0
KNOTS = np.array([-3.5, -2.0, -1.0, -0.3, 0.4, 1.2, 2.2, 3.5, 6.0])  # log-odds at which the evidence is computed
FINE = np.linspace(-6.0, 6.0, 241)  # log-odds at which it is interpolated
FROM_KNOTS = np.stack([np.interp(FINE, KNOTS, one) for one in np.eye(len(KNOTS))], axis=1)  # the weights of the knots
P_CARELESS = 0.1  # before any answer, where reliabilities are found by evidence; then any reliability is as likely
MIDDLE = slice(1, 4)  # of KNOTS: needed only for those who may be there
CLEAR = 12.0  # nats of evidence
LOOSE_TOLERANCE = 1e-2


@dataclass(frozen=True, eq=False)
class Reliabilities:
    """Posterior means and standard deviations of the annotators' reliabilities, (n_annotators,) each.

    crowd: the mean over the crowd, that of a new annotator.   used: the shares of reversed answers that the fit counts
    on, where they are not 1 - mean.   ends (2, n_annotators): of the central 90% intervals, where draws tell them: a
    few draws in which somebody is reversed make the standard deviation say little.   careless (n_annotators,): the
    probabilities of being careless at all, where these are found by evidence.
    """

    mean: Floats
    sd: Floats
    crowd: float
    used: Floats | None = None
    ends: Floats | None = None
    careless: Floats | None = None

    @classmethod
    def prior(cls, n_annotators: int, crowd: float = FIRST_MEAN) -> "Reliabilities":
        sd = float(np.sqrt(crowd * (1 - crowd) / (FIRST_SIZE + 1)))
        return cls(np.full(n_annotators, crowd), np.full(n_annotators, sd), crowd)

    @property
    def lapse(self) -> Floats:
        return 1 - self.mean if self.used is None else self.used

    def extended(self, n_annotators: int) -> "Reliabilities":
        """Extend to a larger crowd, by the crowd's prior."""
        known, more = min(n_annotators, len(self.mean)), Reliabilities.prior(n_annotators, self.crowd)
        more.mean[:known], more.sd[:known] = self.mean[:known], self.sd[:known]
        if self.ends is not None:
            alpha, beta = FIRST_SIZE * self.crowd, FIRST_SIZE * (1 - self.crowd)
            ends: Floats = np.repeat(betaincinv(alpha, beta, [[0.05], [0.95]]), n_annotators, axis=1)
            ends[:, :known] = self.ends[:, :known]
            more = replace(more, ends=ends)
        if self.used is None:
            return more
        used = np.full(n_annotators, 1 - self.crowd)
        used[:known] = self.used[:known]
        return replace(more, used=used)


def learn_reliabilities(
    sites: PairSites,
    blocks: list[Block],
    crowd: CrowdPrior,
    on_step: Callable[[float], None],
    *,
    before: Reliabilities | None = None,
    start: Sites | KeptSites | None = None,
    at: Floats | None = None,
) -> tuple[Reliabilities, EPResult]:
    """Return the posteriors of all reliabilities, and the EP run at crowd.lapse without its solutions.

    before: those found under another prior: only who is more likely careless by the answers than before them is looked
    at again, all others stay.   start, at: sites and consensus mean to start EP from.
    First the consensus given crowd.lapse (by default none), then each annotator's EP evidence at nine reliabilities
    with the consensus's mean and covariance folded into the annotator's prior, as `learn_steepness` does. Where tastes
    of items are independent, both are solved in the connected parts of an annotator's pairs: the former is the same,
    the latter leaves out that what is open about the consensus may go together in several parts.
    """
    n = sites.n_annotators
    now = crowd.changed(lapse=np.zeros(n) if crowd.lapse is None else crowd.lapse)
    judged = np.bincount(sites.annotator, minlength=n) > 0
    earlier = None if before is None else before.careless
    open_ = judged if earlier is None else earlier >= P_CARELESS
    if not is_diagonal(crowd.taste):
        shared = run_ep(sites, blocks, now, start, at, tolerance=LOOSE_TOLERANCE, max_iterations=30)
        shared = shared.without_solutions()
        evidence = _knot_evidence(sites, blocks, now, shared, np.arange(n), open_, on_step)
    else:
        parts = IndependentParts.of(sites)
        _, found_by_parts = parts.run(now, start, at, tolerance=LOOSE_TOLERANCE, max_iterations=30)
        shared = parts.whole(found_by_parts, sites, blocks)
        own = parts.crowd(now)
        evidence = _knot_evidence(parts.sites, parts.blocks, own, found_by_parts, parts.owner, open_, on_step)
    found = summarise_evidence(evidence, judged)
    if before is not None and earlier is not None and found.careless is not None:
        mean, sd = np.where(open_, found.mean, before.mean), np.where(open_, found.sd, before.sd)
        found = replace(found, mean=mean, sd=sd, careless=np.where(open_, found.careless, earlier))
    return found, shared


def _knot_evidence(
    sites: PairSites,
    blocks: list[Block],
    crowd: CrowdPrior,
    shared: EPResult,
    owner: Ints,
    open_: NDArray[np.bool_],
    on_step: Callable[[float], None],
) -> Floats:
    """Return log evidence (len(KNOTS), n) of people given the consensus, 0 where not `open_` (n,); owner
    (sites.n_annotators,): whose answers are those of each annotator of the sites.

    Of the middle knots only for those whose evidence falls by less than CLEAR towards them from either side; for the
    others it is interpolated between those sides, where their posterior is below exp(-CLEAR).
    """
    taste, n = crowd.taste + shared.covariance, len(open_)
    evidence = np.zeros((len(KNOTS), n))

    def compute(known: KnownConsensus, knots: Iterable[int], who: NDArray[np.bool_]) -> None:
        for row in knots:
            one = replace(crowd, lapse=np.full(len(owner), float(expit(-KNOTS[row]))))
            evidence[row, who] = sum_by_group(owner, known.evidence(one), n)[who]
            on_step(float(evidence[row, who].sum()))

    start: Sites | KeptSites = shared.kept_sites(0.0)
    rows = _rows_of(sites, owner, open_)
    if len(rows) < len(sites):
        start, sites = _select(start, rows), sites.select(rows)
        blocks = build_blocks(sites)
    everybody = KnownConsensus(sites, blocks, taste, shared.mean, start)
    compute(everybody, reversed(range(MIDDLE.stop, len(KNOTS))), open_)
    middle, between = everybody.current, slice(MIDDLE.start - 1, MIDDLE.stop + 1)
    compute(everybody, range(MIDDLE.start), open_)
    del everybody  # before others are held
    ends = evidence[between][[0, -1]]
    unclear = ends.max(axis=0) > evidence.max(axis=0, where=_at_knots(), initial=-np.inf) - CLEAR
    share = ((KNOTS[MIDDLE] - KNOTS[between][0]) / np.ptp(KNOTS[between]))[:, None]
    evidence[MIDDLE] = (1 - share) * ends[0] + share * ends[1]
    unclear &= open_
    rows = _rows_of(sites, owner, unclear)
    if len(rows):
        start, sites = _select(middle, rows), sites.select(rows)
        compute(
            KnownConsensus(sites, build_blocks(sites), taste, shared.mean, start),
            reversed(range(MIDDLE.start, MIDDLE.stop)),
            unclear,
        )
    return evidence


def _rows_of(sites: PairSites, owner: Ints, who: NDArray[np.bool_]) -> Ints:
    """Return which sites are of the people `who`, (n_people,)."""
    return np.flatnonzero(who[owner[sites.annotator]])


def _select(values: Sites | KeptSites, rows: Ints) -> Sites:
    whole = values.gather() if isinstance(values, KeptSites) else values
    return Sites(whole.precision[rows], whole.shift[rows])


def _at_knots() -> NDArray[np.bool_]:
    """Return which knots are computed for everybody, (len(KNOTS), 1)."""
    found = np.ones((len(KNOTS), 1), dtype=bool)
    found[MIDDLE] = False
    return found


def summarise_evidence(evidence: Floats, judged: NDArray[np.bool_]) -> Reliabilities:
    """Return the posteriors from log evidence (len(KNOTS), n_annotators), interpolated linearly in the log-odds.

    Before the answers somebody is reliable (the last of KNOTS) or, with probability P_CARELESS, has any reliability
    alike. The fit counts on reversed answers only of those who are careless with probability one half or more: a few of
    everybody are the same as smaller utilities, which plugging in their means cannot tell from each other, so that
    utilities came out 40% too large.   judged (n_annotators,): who has answers.
    """
    uniform = log_expit(FINE) + log_expit(-FINE)  # the density of the log-odds of a uniform reliability
    posterior = FROM_KNOTS @ evidence
    posterior += (uniform - logsumexp(uniform))[:, None]
    mass, log_total = normalise_rows(posterior.T)
    odds = np.log(P_CARELESS / (1 - P_CARELESS)) + log_total - evidence[-1]
    careless = np.where(judged, expit(odds), P_CARELESS)
    eta, best = expit(FINE), float(expit(KNOTS[-1]))
    means, squares = (mass @ np.stack([eta, eta**2], axis=1)).T
    used = np.where(judged & (careless >= 0.5), 1 - means, 0.0)
    mean = careless * means + (1 - careless) * best
    square = careless * squares + (1 - careless) * best**2
    crowd = 1 - float(used[judged].mean()) if judged.any() else 1.0
    return Reliabilities(mean, np.sqrt(np.maximum(square - mean**2, 0.0)), min(crowd, best), used, careless=careless)
