"""Fits on the machines of a cluster, where whoever runs the site has set one up (ENGINE_CLUSTER)."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from django.conf import settings

from annotate.core.stored_messages import store_error
from models_engine.executor import ClusterOrHere, run_on

logger = logging.getLogger("annotate.worker")
Result = TypeVar("Result")


def fit_on_cluster(fit: Callable[[], Result]) -> tuple[Result, dict[str, Any]]:
    """Return what `fit` returns, computed on the cluster where there is one and the fit is large; and what is to be
    stored of that: n_workers, or the failure that kept it in this process. Nothing where none was asked for.

    `fit` may be called twice, and must begin with the same random numbers.
    """
    if not settings.ENGINE_CLUSTER:
        return fit(), {}
    executor = ClusterOrHere(settings.ENGINE_CLUSTER)
    found = run_on(executor, fit)
    if executor.failure is not None:
        # Where the cluster stands is for who runs the site, not for owners.
        logger.warning("A fit ran in this process.", exc_info=executor.failure)
        return found, {"cluster": {"failure": store_error(executor.failure)}}
    return found, {"cluster": {"n_workers": executor.n_workers}} if executor.n_workers else {}
