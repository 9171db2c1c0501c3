"""The fields of posteriors, read from the arrays that `to_arrays` made of them."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_engine.covariance.forms import unpack
from models_engine.predictive import Likelihood
from models_engine.summaries import AnnotatorSummary, Diagnostics

__all__ = ["gaussian_fields", "shared_fields"]


def shared_fields(arrays: Mapping[str, NDArray]) -> dict[str, Any]:
    """Return diagnostics, likelihood, annotators and prior as stored by `to_arrays`."""
    meta = json.loads(str(arrays["meta"]))
    trace = tuple(meta["diagnostics"].pop("objective"))
    prefix = "annotators/"
    summary = {key.removeprefix(prefix): np.asarray(arrays[key]) for key in arrays if key.startswith(prefix)}
    return {
        "diagnostics": Diagnostics(objective=trace, **meta["diagnostics"]),
        "likelihood": Likelihood(**{name: _as_tuple(value) for name, value in meta["likelihood"].items()}),
        "annotators": AnnotatorSummary(**summary),
        **{name: float(arrays[name]) if name in arrays else None for name in ("prior_sd", "prior_shape")},
    }


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def gaussian_fields(arrays: Mapping[str, NDArray]) -> dict[str, Any]:
    """Return the fields of a GaussianPosterior as stored by `to_arrays`, for subclasses that add their own."""
    own = {
        "mean": np.asarray(arrays["mean"]),
        "spread": unpack("spread", arrays),
        "taste": unpack("taste", arrays),
        **{name: np.asarray(arrays[name]) if name in arrays else None for name in ("lapses", "along_scale")},
    }
    return own | shared_fields(arrays)
