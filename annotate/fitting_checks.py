"""What a fit keeps for the page "Can I trust this?": agreement, side bias and balance of the labels it counts."""

from dataclasses import asdict
from typing import Any

import numpy as np

from annotate.fitting_rows import Labels
from models_engine.agreement import agreement, first_place

Figures = dict[str, Any]


def checks(labels: Labels) -> Figures:
    """JSON: None for what is not known."""
    compared = labels.data.n_comparisons()[labels.ranked]
    fewest, quarter, median, most = np.quantile(compared, [0, 0.25, 0.5, 1]) if len(compared) else [np.nan] * 4
    return {
        "agreement": known(asdict(agreement(labels.data))),
        "first_place": known(asdict(first_place(labels.data))),
        "balance": known({"fewest": fewest, "quarter": quarter, "median": median, "most": most}),
    }


def known(figures: Figures) -> Figures:
    return {name: value if np.isfinite(value) else None for name, value in figures.items()}
