"""What a fit keeps for the page "Can I trust this?": agreement, side bias and balance of the labels it counts."""

from dataclasses import asdict
from typing import Any

import numpy as np

from annotate.fitting.reading import Labels
from models_engine.analysis.agreement import first_shown_share, krippendorff_alpha

Figures = dict[str, Any]


def check_labels(labels: Labels) -> Figures:
    """Return the checks of what people answered as JSON, with None for what is not known.

    n_adaptive: answers left out of agreement and first_place, since their questions were chosen by the ranking so far:
    close items make people agree less, and the side matter more.   n_adaptive_by_person: as many were left out of each
    annotator's own agreement, circles and first place; fits of former versions counted them there.
    """
    compared = labels.data.n_comparisons()[labels.ranked]
    fewest, quarter, median, most = np.quantile(compared, [0, 0.25, 0.5, 1]) if len(compared) else [np.nan] * 4
    return {
        "agreement": finite_json(asdict(krippendorff_alpha(labels.fair))),
        "first_place": finite_json(asdict(first_shown_share(labels.fair))),
        "n_adaptive": labels.n_adaptive,
        "n_adaptive_by_person": labels.n_adaptive,
        "balance": finite_json({"fewest": fewest, "quarter": quarter, "median": median, "most": most}),
    }


def finite_json(figures: Figures) -> Figures:
    return {name: value if np.isfinite(value) else None for name, value in figures.items()}
