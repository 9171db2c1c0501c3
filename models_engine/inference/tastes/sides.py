"""Learns each annotator's side bias: what they add to the utility of the item shown first (left)."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.special import softmax

from models_engine.inference.probit_ep.annotator_blocks import Block
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, KeptSites, run_ep
from models_engine.inference.probit_ep.known_consensus import KnownConsensus
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.inference.probit_ep.site_updates import Sites
from models_engine.linalg import chunk_slices

__all__ = ["MEAN_SD", "SDS", "SideBiases", "learn_sides", "log_sd_prior", "summarise_side_evidence"]

Floats = NDArray[np.float64]
MEAN_SD = 0.6  # of the normal prior of the crowd's mean, in units of an answer's noise: about one logit
SD_SCALE = 0.3  # of the half-Cauchy prior of the standard deviation of annotators around it
SDS = np.exp(np.linspace(np.log(0.01), np.log(4.0), 60))  # standard deviations among which it is drawn
KNOTS = np.array([-3.0, -1.8, -1.0, -0.4, 0.4, 1.0, 1.8, 3.0])  # side biases at which the evidence is computed
FINE = np.linspace(-3.0, 3.0, 121)  # at which it is interpolated
WIDE = np.linspace(-15.0, 15.0, 601)  # the same points and more, beyond which no normal prior has mass
MEANS, FEWER_SDS = np.linspace(-1.8, 1.8, 61), SDS[::2]  # of the crowd, over which it is averaged
CLEAR = 25.0  # nats: what is less likely than the most likely crowd by more is left out
LOOSE_TOLERANCE = 1e-2


def log_sd_prior(sds: Floats) -> Floats:
    """Return the log density, by the logarithm, of the half-Cauchy prior of the standard deviation (Gelman 2006)."""
    return np.asarray(np.log(sds) - np.log1p((sds / SD_SCALE) ** 2))


@dataclass(frozen=True, eq=False)
class SideBiases:
    """Posterior means and standard deviations of the annotators' side biases, (n_annotators,) each, in units of an
    answer's noise.

    crowd: the posterior mean of the crowd's mean, that of a new annotator.   crowd_sd: of a new annotator's side bias.
    """

    mean: Floats
    sd: Floats
    crowd: float
    crowd_sd: float

    def extended(self, n_annotators: int) -> "SideBiases":
        """Extend to a larger crowd: new annotators have the crowd's."""
        known = min(n_annotators, len(self.mean))
        mean, sd = np.full(n_annotators, self.crowd), np.full(n_annotators, self.crowd_sd)
        mean[:known], sd[:known] = self.mean[:known], self.sd[:known]
        return replace(self, mean=mean, sd=sd)


def learn_sides(
    sites: PairSites,
    blocks: list[Block],
    crowd: CrowdPrior,
    on_step: Callable[[float], None],
    *,
    start: Sites | KeptSites | None = None,
    at: Floats | None = None,
) -> tuple[SideBiases, EPResult]:
    """Return the posteriors of all side biases, and the EP run at crowd.side (by default 0) without its solutions.

    start, at: sites and consensus mean to start EP from.
    Each annotator's EP evidence at eight side biases, with the consensus's mean and covariance folded into the
    annotator's prior, as `learn_reliabilities` does.
    """
    shared = run_ep(sites, blocks, crowd, start, at, tolerance=LOOSE_TOLERANCE, max_iterations=30)
    taste = crowd.taste + shared.covariance
    known = KnownConsensus(sites, blocks, taste, shared.mean, shared.kept_sites(0.0))
    evidence = np.zeros((len(KNOTS), sites.n_annotators))
    for row in np.argsort(np.abs(KNOTS), kind="stable"):
        one = replace(crowd, side=np.full(sites.n_annotators, float(KNOTS[row])))
        evidence[row] = known.evidence(one)
        on_step(float(evidence[row].sum()))
    return summarise_side_evidence(evidence), shared.without_solutions()


def summarise_side_evidence(evidence: Floats) -> SideBiases:
    """Return the posteriors from log evidence (len(KNOTS), n_annotators), interpolated by cubic splines.

    Side biases are N(mean, sd^2); mean and sd of the crowd are averaged over a grid. Whoever gave no answers of known
    sides has the same evidence everywhere.
    """
    likelihood = np.asarray(CubicSpline(KNOTS, evidence)(FINE))
    scaled = np.exp(likelihood - likelihood.max(axis=0))
    mean, sd = (one.ravel() for one in np.meshgrid(MEANS, FEWER_SDS, indexing="ij"))
    prior = softmax(-(((WIDE - mean[:, None]) / sd[:, None]) ** 2) / 2, axis=1)[:, np.abs(WIDE) <= KNOTS[-1] + 1e-9]
    tiny, total = np.finfo(np.float64).tiny, log_sd_prior(sd) - (mean / MEAN_SD) ** 2 / 2
    for some in chunk_slices(scaled.shape[1], len(mean)):
        total += np.log(np.maximum(prior @ scaled[:, some], tiny)).sum(axis=1)
    likely = total > total.max() - CLEAR
    prior, mean, sd, weight = prior[likely], mean[likely], sd[likely], softmax(total[likely])
    mass = scaled.copy()
    for some in chunk_slices(scaled.shape[1], len(mean)):
        mass[:, some] *= prior.T @ (weight[:, None] / np.maximum(prior @ scaled[:, some], tiny))
    mass /= mass.sum(axis=0)
    found, of_crowd = FINE @ mass, float(weight @ mean)
    spread = float(weight @ (mean**2 + sd**2)) - of_crowd**2
    return SideBiases(found, np.sqrt(np.maximum(FINE**2 @ mass - found**2, 0.0)), of_crowd, float(np.sqrt(spread)))
