"""One estimator fitted to several data sets that need nothing of each other."""

import warnings
from collections.abc import Sequence

import numpy as np

from models_engine.data import Comparisons
from models_engine.errors import NotConverged
from models_engine.estimators.base import Estimator
from models_engine.executor import map_tasks
from models_engine.posterior import BasePosterior
from models_engine.progress import Progress

__all__ = ["fit_each"]


def fit_each(
    estimator: Estimator, data: Sequence[Comparisons], *, seed: int = 0, progress: Progress | None = None
) -> list[BasePosterior]:
    """Fit the estimator to each of the data sets by the same random numbers, (n_data_sets,) posteriors in their order.

    progress: as for a fit, called at the steps of each in turn; on a cluster (use_executor), which fits them beside
    each other, as each is done. The posteriors are the same there. Whether a fit converged is in its diagnostics.
    Raises what the estimator's `fit` does; ClusterLost.
    """
    return list(map_tasks(_fit, data, shared=[estimator, seed], progress=progress))


def _fit(data: Comparisons, estimator: Estimator, seed: int, progress: Progress | None) -> BasePosterior:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return estimator.fit(data, rng=np.random.default_rng(seed), progress=progress)
