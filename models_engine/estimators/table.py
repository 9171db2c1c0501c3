"""ESTIMATORS: the one table from an estimator's name to its class, when to choose it, and what it claims."""

from dataclasses import dataclass
from typing import Any

from models_engine.estimators.angle_based import AngleBased
from models_engine.estimators.angle_mixture import AngleBasedMixture, AngleMixturePosterior
from models_engine.estimators.angle_posterior import AnglePosterior
from models_engine.estimators.base import Claim, ClaimLevel, EstimatorEntry
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.collaborative.posterior import CollaborativePosterior
from models_engine.estimators.count_factorization import CountFactorization
from models_engine.estimators.count_posterior import CountPosterior
from models_engine.estimators.crowd_bt import CrowdBT
from models_engine.estimators.crowd_bt_online import CrowdBTOnline
from models_engine.estimators.crowd_gppl import CrowdGPPL
from models_engine.estimators.crowd_posterior import CrowdPosterior
from models_engine.estimators.feature_plackett_luce import FeaturePlackettLuce
from models_engine.estimators.feature_posterior import FeaturePosterior
from models_engine.estimators.gppl import GPPL
from models_engine.estimators.gppl_posterior import GPPLPosterior
from models_engine.estimators.plackett_luce import PlackettLuce
from models_engine.posterior import BasePosterior, GaussianPosterior

__all__ = ["COUNT_ESTIMATORS", "ESTIMATORS", "CountEntry", "estimator_class", "posterior_class"]

# From eight annotators on tastes are drawn, so that what changes the order of draws changes results by their Monte
# Carlo error.
DRAWN: dict[Claim, ClaimLevel] = {
    "warm start": "objective",
    "renaming": "in distribution",
    "reversal": "in distribution",
    "weights": "in distribution",
}

ESTIMATORS: dict[str, EstimatorEntry] = {
    "BradleyTerry": EstimatorEntry(
        BradleyTerry,
        GaussianPosterior,
        "The simple choice: one shared ranking that treats all annotators as equally reliable; fast at any size.",
    ),
    "CrowdBT": EstimatorEntry(
        CrowdBT,
        CrowdPosterior,
        "When annotators may be careless or answer the wrong way round: learns how reliable each one is.",
        claims={"warm start": "objective"},
    ),
    "CrowdBTOnline": EstimatorEntry(
        CrowdBTOnline,
        CrowdPosterior,
        "CrowdBT one answer at a time, in microseconds each: less exact, for rankings updated with every answer.",
        claims={"weights": "in distribution"},
    ),
    "PlackettLuce": EstimatorEntry(
        PlackettLuce,
        GaussianPosterior,
        "For best-of-k and rankings: uses each whole answer exactly instead of the pairs it implies.",
        claims={"reversal": "no"},
    ),
    "GPPL": EstimatorEntry(
        GPPL,
        GPPLPosterior,
        "One shared ranking that uses item features: it can also rank items with few comparisons or none.",
    ),
    "CollaborativeGP": EstimatorEntry(
        CollaborativeGP,
        CollaborativePosterior,
        "When annotators differ in taste: learns each one's own ranking, and a consensus whose intervals allow for it.",
        claims=DRAWN,
    ),
    "CrowdGPPL": EstimatorEntry(
        CrowdGPPL,
        CollaborativePosterior,
        "As CollaborativeGP, with tastes along a few components and unneeded ones shrunk; to compare with the paper.",
        claims=DRAWN,
    ),
    "FeaturePlackettLuce": EstimatorEntry(
        FeaturePlackettLuce,
        FeaturePosterior,
        "When item features explain the answers: learns the effect of each and ranks items nobody has compared yet.",
        claims={"warm start": "objective"},
    ),
    "AngleBased": EstimatorEntry(
        AngleBased,
        AnglePosterior,
        "For full rankings of the same few items: one number for how much people agree, and a score for each item.",
        claims={
            "prior": "in distribution",
            "renaming": "in distribution",
            "reversal": "in distribution",
            "weights": "in distribution",
            "warm start": "in distribution",
            "coverage": "no",
        },
    ),
    "AngleBasedMixture": EstimatorEntry(
        AngleBasedMixture,
        AngleMixturePosterior,
        "When people fall into groups that rank the same few items differently: finds how many and what each prefers.",
        claims={
            "prior": "in distribution",
            "renaming": "in distribution",
            "reversal": "in distribution",
            "weights": "in distribution",
            "warm start": "in distribution",
            "coverage": "no",
        },
    ),
}


@dataclass(frozen=True)
class CountEntry:
    """A row of COUNT_ESTIMATORS: as EstimatorEntry, of an estimator whose fit takes CountCells."""

    estimator: type[CountFactorization]
    posterior: type[CountPosterior]
    when: str


# What ranks items by counts of annotators instead of by comparisons.
COUNT_ESTIMATORS: dict[str, CountEntry] = {
    "CountFactorization": CountEntry(
        CountFactorization,
        CountPosterior,
        "For counts (plays, clicks, seconds) in place of comparisons: one ranking, annotators' activity taken out.",
    )
}


def estimator_class(name: str) -> type[Any]:
    """Return the class of this name in ESTIMATORS or COUNT_ESTIMATORS. Raises KeyError."""
    return COUNT_ESTIMATORS[name].estimator if name in COUNT_ESTIMATORS else ESTIMATORS[name].estimator


def posterior_class(name: str) -> type[BasePosterior]:
    """Return the class of the posterior of the estimator of this name. Raises KeyError."""
    return COUNT_ESTIMATORS[name].posterior if name in COUNT_ESTIMATORS else ESTIMATORS[name].posterior
