"""What is kept of the draws of tastes, and how it is summed up."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.tastes.cut_sampling import CutSampler
from models_engine.inference.tastes.part_scales import PartScales
from models_engine.inference.tastes.reliability import Reliabilities
from models_engine.inference.tastes.reliability_sampling import ReliabilitySampler
from models_engine.inference.tastes.sides import SideBiases
from models_engine.linalg import centre, centre_parts

__all__ = ["Moments", "Sampled", "State"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class State(Protocol):
    """What a chain holds after a sweep: see `sampling._Chain`."""

    n: int
    u: int
    rng: np.random.Generator
    t: Floats
    v: Floats
    w: Floats
    r: float
    tau: float
    f: Floats
    annotator: Ints
    item: Ints
    by_part: PartScales | None
    reliabilities: ReliabilitySampler
    cut_points: list[CutSampler | None]

    @property
    def item_sds(self) -> Floats: ...


@dataclass(frozen=True, eq=False)
class Sampled:
    """Summaries of the draws.

    shared (n_items, n_items): mean of V V', of the geometric mean size of `taste`.   taste (n_items, n_items): mean of
    V V' + r^2 I, of that size too.   consensus_sd: geometric mean.   sizes (n_draws,): traces of each draw's centred
    taste covariance over their geometric mean.   spectra (n_draws, c): eigenvalues of each draw's centred V V',
    largest first.   own, own_square, difference, difference_square (n_annotators, n_items): first and second moments
    of an annotator's centred utilities, and of their difference to the centred consensus.   above (n_annotators,
    n_items): the share of draws in which that difference is positive.   reliability, reliability_sd (n_annotators,): of
    each annotator, (1, 0) where none is drawn.   reliability_ends (2, n_annotators): of its central 90% interval.
    crowd_reliability: mean of the crowd's mean.   consensus, consensus_square (n_items,): first and second moments of
    the consensus, centred within each connected part.
    log_gaps (n_draws, n_grades): those between the cut points of graded answers, None where there are none.
    sides: side biases of the annotators, None where no answer tells of them.   item_sds (n_items,): geometric means of
    the consensus's standard deviations, None where they are the same for all items.
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
    reliability_ends: Floats | None = None
    item_sds: Floats | None = None

    def reliabilities(self) -> Reliabilities:
        """Return what the draws tell of the annotators' reliabilities."""
        return Reliabilities(self.reliability, self.reliability_sd, self.crowd_reliability, ends=self.reliability_ends)


class Moments:
    """Sums over draws of a chain."""

    def __init__(self, n_annotators: int, parts: Ints) -> None:
        n_items = len(parts)
        self.n, self.parts = 0, parts
        self.consensus = np.zeros((2, n_items))
        self.shared, self.taste = np.zeros((n_items, n_items)), np.zeros((n_items, n_items))
        self.totals: list[float] = []
        self.consensus_sd: list[float] = []
        self.spectra: list[Floats] = []
        self.sums = np.zeros((5, n_annotators, n_items))
        self.reliability: list[Floats] = []
        self.crowd = 0.0
        self.log_gaps: list[Floats] = []
        self.log_item_sds: list[Floats] = []

    def add(self, chain: State) -> None:
        n, spread = chain.n, chain.v @ chain.v.T
        own = chain.t + chain.w @ chain.v.T + chain.r * chain.rng.standard_normal((chain.u, n))
        own[chain.annotator, chain.item] = chain.f
        own, across = centre(own), chain.v - chain.v.mean(axis=0)
        apart = own - centre(chain.t)
        t = centre_parts(chain.t, self.parts)
        self.n += 1
        self.consensus += t, t**2
        self.shared += spread
        self.reliability.append(chain.reliabilities.value)
        self.crowd += chain.reliabilities.crowd
        self.taste += spread + chain.r**2 * np.eye(n)
        self.log_gaps += [one.log_gaps for one in chain.cut_points if one is not None]
        self.consensus_sd.append(chain.tau)
        if chain.by_part is not None:
            self.log_item_sds.append(np.log(chain.item_sds))
        self.spectra.append(np.maximum(np.linalg.eigvalsh(across.T @ across)[::-1], 0.0))
        self.totals.append(float((across**2).sum() + (n - 1) * chain.r**2))
        for place, values in enumerate((own, own**2, apart, apart**2, apart > 0)):
            self.sums[place] += values

    def result(self) -> Sampled:
        totals = np.asarray(self.totals)
        typical = float(np.exp(np.log(totals).mean()))
        scale = typical / float(totals.mean()) / self.n
        reliability = np.asarray(self.reliability)
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
            reliability=reliability.mean(axis=0),
            reliability_sd=reliability.std(axis=0),
            crowd_reliability=self.crowd / self.n,
            consensus=self.consensus[0] / self.n,
            consensus_square=self.consensus[1] / self.n,
            log_gaps=np.array(self.log_gaps) if self.log_gaps else None,
            reliability_ends=np.quantile(reliability, [0.05, 0.95], axis=0),
            item_sds=np.exp(np.mean(self.log_item_sds, axis=0)) if self.log_item_sds else None,
        )
