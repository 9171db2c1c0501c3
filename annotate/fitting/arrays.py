"""The published posterior as bytes: what the next fit starts from, and what older fits keep of it."""

import io
from collections.abc import Mapping

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from annotate.fitting.duels import count_duels
from annotate.fitting.estimates import centred_utilities, score_arrays
from annotate.fitting.misfit import misfit_arrays
from annotate.fitting.reading import Labels, RankedItems
from annotate.fitting.rivals import nearest_rivals
from annotate.fitting.stored_columns import SITE
from models_engine.analysis.misfit import Misfit
from models_engine.covariance.forms import LowRankCovariance
from models_engine.covariance.forms import pack as pack_covariance
from models_engine.estimators.base import EstimatorEntry
from models_engine.estimators.table import ESTIMATORS
from models_engine.models import Fit
from models_engine.posterior import BasePosterior, GaussianPosterior

Arrays = dict[str, NDArray]
# SQLite's one write lock is held for about 10 ms per MiB stored. A larger posterior is stored with variances only,
# which is enough to start the next fit from; what takes more even so is not stored, and the next fit starts cold.
MAX_BYTES = 4 * 2**20
MAX_START_BYTES = 32 * 2**20
# What a fit that is not published any more keeps.
KEPT = ("version", "items", "annotators", "utility", "sd", "score", "score_low", "score_high")


def pack(
    posterior: BasePosterior,
    labels: RankedItems,
    misfit: Misfit | None = None,
    counts: Mapping[str, NDArray] | None = None,
) -> bytes:
    """Return an npz file: the posterior's arrays, and under site/ whose figures they are, with `counts`."""
    utility, deviation = centred_utilities(posterior, labels)
    site = {
        "version": np.array(settings.VERSION),
        "items": labels.item_ids,
        "annotators": labels.annotator_ids,
        "utility": utility,
        "sd": deviation,
        **score_arrays(posterior, labels),
        **nearest_rivals(posterior, labels),
        **misfit_arrays(misfit),
        **(counts or {}),
        **(count_duels(labels.data) if isinstance(labels, Labels) else {}),
    }
    own = {SITE + name: value for name, value in site.items()}
    arrays = compress_covariances(posterior.to_arrays())
    if size(arrays) > MAX_BYTES:
        arrays = compress_covariances(drop_covariances(posterior)) if isinstance(posterior, GaussianPosterior) else {}
    if size(arrays) > MAX_START_BYTES:
        arrays = {}
    return to_bytes(arrays | own)


def size(arrays: Arrays) -> int:
    return sum(array.nbytes for array in arrays.values())


def compress_covariances(arrays: Mapping[str, NDArray]) -> Arrays:
    """Compress covariance matrices to the 32-bit lower triangle: a quarter of the size, good to seven digits."""
    found = {}
    for name, array in arrays.items():
        if array.ndim == 2 and len(array) > 1 and np.array_equal(array, array.T):
            found[f"{name}/triangle"] = array[np.tril_indices(len(array))].astype(np.float32)
        else:
            found[name] = array
    return found


def restore_covariances(arrays: Mapping[str, NDArray]) -> Arrays:
    """Undo `compress_covariances`."""
    found = {name: array for name, array in arrays.items() if not name.endswith("/triangle")}
    for name, triangle in arrays.items():
        if name.endswith("/triangle"):
            n = (int(np.sqrt(8 * len(triangle) + 1)) - 1) // 2
            matrix = np.zeros((n, n))
            matrix[np.tril_indices(n)] = triangle
            found[name.removesuffix("/triangle")] = matrix + np.tril(matrix, -1).T
    return found


def drop_covariances(posterior: GaussianPosterior) -> Arrays:
    arrays = posterior.to_arrays()
    kept = {name: array for name, array in arrays.items() if not name.startswith(("spread/", "taste/"))}
    variances = posterior.standard_deviations() ** 2
    return kept | pack_covariance("spread", LowRankCovariance(np.zeros((len(variances), 0)), variances))


def to_bytes(arrays: Mapping[str, NDArray]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def from_bytes(data: bytes, prefix: str = "") -> Arrays:
    """Return the arrays whose names begin with `prefix`; nothing is unpickled."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        return {name: file[name] for name in file.files if name.startswith(prefix)}


def keep_utilities(data: bytes) -> bytes:
    """Return what a fit that is not published any more keeps: items, annotators, utilities, standard deviations and
    scores."""
    kept = from_bytes(data, SITE)
    return to_bytes({name: array for name, array in kept.items() if name.removeprefix(SITE) in KEPT})


def warm_start(former: Fit, entry: EstimatorEntry, labels: Labels) -> BasePosterior | None:
    """Return the former fit's posterior, where its items and annotators come first among today's; else None: a cold
    start.

    Items gone since are left out of it. It was written by this version of the site, or it is not read.
    """
    posterior, arrays = stored_posterior(former, entry)
    if posterior is None:
        return None
    items, annotators = arrays[SITE + "items"], arrays[SITE + "annotators"]
    kept = np.flatnonzero(np.isin(items, labels.item_ids))
    if not len(kept) or not is_prefix(items[kept], labels.item_ids) or not is_prefix(annotators, labels.annotator_ids):
        return None
    return posterior if len(kept) == len(items) else posterior.restrict(kept)


def stored_posterior(fit: Fit, entry: EstimatorEntry | None = None) -> tuple[BasePosterior | None, Arrays]:
    """Return the posterior that the fit keeps, by this estimator or else its own, and its arrays; None where it keeps
    none, or another version of the site wrote it."""
    arrays = from_bytes(bytes(fit.arrays)) if fit.arrays else {}
    entry = entry or ESTIMATORS.get(fit.estimator)
    if entry is None or ("mean" not in arrays and "draws" not in arrays):
        return None, arrays
    if str(arrays[SITE + "version"]) != settings.VERSION:
        return None, arrays
    own = {name: array for name, array in arrays.items() if not name.startswith(SITE)}
    return entry.posterior.from_arrays(restore_covariances(own)), arrays


def is_prefix(short: NDArray, long: NDArray) -> bool:
    return len(short) <= len(long) and np.array_equal(short, long[: len(short)])
