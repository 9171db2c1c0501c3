"""Finds the probability that one item is above another in what is stored of the published fit, without scipy."""

import io
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from django.conf import settings
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from annotate.dashboard.fits.figures import rivals_of
from annotate.fitting.stored_columns import SITE
from annotate.models import Item
from models_engine.models import Estimate, Fit


@dataclass(frozen=True)
class PairFigures:
    """above, below: None where the fit does not hold the item.   probability: P(above's utility is above below's); None
    where it is not known, and `reason` says why."""

    above: Estimate | None
    below: Estimate | None
    probability: float | None
    reason: str


def pair_figures(fit: Fit | None, above: Item, below: Item) -> PairFigures:
    """Return what the published fit says of two different items."""
    found = Estimate.objects.filter(fit=fit, item_id__in=[above.pk, below.pk]) if fit else []
    ranked = {one.item_id: one for one in found if one.n_comparisons}
    one, other = ranked.get(above.pk), ranked.get(below.pk)
    reason = why_incomparable(fit, one, other)
    kept = None if reason else Fit.objects.only("arrays").get(pk=fit.pk)  # type: ignore[union-attr]
    probability = probability_above(kept, above.pk, below.pk) if kept else None
    if not reason and probability is None:
        reason = _(
            "The fit is too large to store the uncertainty of every pair. Only items at most three places apart "
            "are known."
        )
    return PairFigures(one, other, probability, reason)


def why_incomparable(fit: Fit | None, above: Estimate | None, below: Estimate | None) -> str:
    if fit is None:
        return _("There is no fit yet.")
    if above is None or below is None:
        return _("The fit holds no comparison of one of the items.")
    if above.part != below.part:
        return _("No chain of comparisons connects the two items.")
    return ""


def probability_above(fit: Fit, above: int, below: int) -> float | None:
    """Return P(above's utility > below's): as kept for near rivals, else from the stored posterior; None if neither."""
    rivals = rivals_of(fit, above)
    if below in rivals:
        return float(rivals[below])
    if not fit.arrays:
        return None
    with np.load(io.BytesIO(bytes(fit.arrays)), allow_pickle=False) as file:
        if SITE + "version" not in file.files or str(file[SITE + "version"]) != settings.VERSION:
            return None
        rows = [np.flatnonzero(file[SITE + "items"] == pk) for pk in (above, below)]
        return None if any(len(row) != 1 for row in rows) else superiority(file, int(rows[0][0]), int(rows[1][0]))


def superiority(file: np.lib.npyio.NpzFile, left: int, right: int) -> float | None:
    """Return P(f_left > f_right) as `models_engine.posterior` has it; None where no covariance is stored.

    Of draws the share with left above, ties half; of a Gaussian Phi(difference / its standard deviation).
    """
    if "draws" in file.files:
        margins = file["draws"][:, left] - file["draws"][:, right]
        return float((margins > 0).mean() + (margins == 0).mean() / 2)
    variance = difference_variance(file, left, right) if "mean" in file.files else None
    if variance is None:
        return None
    difference = float(file["mean"][left] - file["mean"][right])
    if variance <= 0:
        return 0.5 + 0.5 * float(np.sign(difference))
    return NormalDist().cdf(difference / variance**0.5)


def difference_variance(file: np.lib.npyio.NpzFile, left: int, right: int) -> float | None:
    """Return Var(f_left - f_right); None for forms that take more than a few of the stored numbers."""
    if "spread/matrix/triangle" in file.files:
        return float(_of_triangle(file["spread/matrix/triangle"], left, right))
    factor = file["spread/factor"] if "spread/factor" in file.files else np.zeros((0, 0))
    if not factor.shape[1]:  # variances alone, as of a posterior too large to store
        return None
    diagonal = file["spread/diagonal"]
    return float(((factor[left] - factor[right]) ** 2).sum() + diagonal[left] + diagonal[right])


def _of_triangle(triangle: NDArray, left: int, right: int) -> float:
    def entry(row: int, column: int) -> float:
        row, column = max(row, column), min(row, column)
        return float(triangle[row * (row + 1) // 2 + column])

    return entry(left, left) + entry(right, right) - 2 * entry(left, right)
