"""CountFactorization: ranks items by counts, such as plays, clicks or seconds, with annotators' activity taken out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from models_engine.errors import InsufficientData, InvalidData
from models_engine.estimators.count_posterior import CountPosterior
from models_engine.estimators.settings import check_settings
from models_engine.inference.counts.cells import CountCells
from models_engine.inference.counts.effects import fit_effects
from models_engine.inference.counts.factorization import CountModel, FittedCounts
from models_engine.linalg import centre
from models_engine.messages import Message, gettext_noop
from models_engine.posterior import Posterior
from models_engine.progress import Progress

__all__ = ["CountFactorization"]

MIN_SPARE = 10  # cells beyond the number of effects, below which no spread beyond Poisson's can be seen
ROUNDS = 20  # of CountModel


@dataclass(frozen=True)
class CountFactorization:
    """Model y_iu ~ Poisson(e_iu exp(c + f_i + a_u)), or a negative binomial of that mean (Y. J. Ko's thesis, 3.1).

    f ~ N(0, s_f^2) are the items' effects and the utilities of the posterior, a ~ N(0, s_a^2) those of the annotators,
    e exposures. Fitted by a bound on the evidence with independent Gaussians; the items' covariance is that of the
    curvature over items, annotators and constant together, the last two marginalised. Where annotators differ in
    taste, f is the log of what the crowd counts on average, and tastes are spread of the negative binomial. Factors for
    tastes (inference.counts.CountModel) predict cells better and leave items' intervals too narrow: they are not used.

    family: "poisson", "negative binomial", or the one whose bound is larger. Where each item is counted about once
        there is no seeing more than Poisson's spread, and it is Poisson.
    n_prior: as how many items (annotators) of variance 1 the prior of s_f^2 (s_a^2) counts.
    max_iterations, tolerance: sweeps of the Poisson fit; of the bound of the negative binomial, from round to round.
    """

    family: Literal["best", "poisson", "negative binomial"] = "best"
    n_prior: float = 2.0
    max_iterations: int = 500
    tolerance: float = 1e-6

    def fit(
        self,
        data: CountCells,
        start: Posterior | None = None,
        rng: np.random.Generator | None = None,
        progress: Progress | None = None,
    ) -> CountPosterior:
        """Fit. start and rng are not used: a fit begins anew and draws nothing.

        Raises InvalidData, InsufficientData without a count, Cancelled; warns NotConverged.
        """
        check_settings(self)
        check_cells(data)
        return posterior_of(max(self._fits(data, progress), key=lambda one: one.bound))

    def _fits(self, data: CountCells, progress: Progress | None) -> Iterator[FittedCounts]:
        """Yield a fit of each family."""
        if self.family != "negative binomial":
            yield fit_effects(data, max_sweeps=self.max_iterations, n_prior=self.n_prior, progress=progress)
        if self.family == "negative binomial" or (self.family == "best" and has_spare(data)):
            model = CountModel(0, "negative binomial", ROUNDS, self.tolerance, n_prior=self.n_prior)
            yield model.fit(data, progress=progress)


def check_cells(data: Any) -> None:
    """Raise InvalidData for what are no CountCells, InsufficientData for none."""
    if not isinstance(data, CountCells):
        raise InvalidData(f"data is a {type(data).__name__}; give CountCells.", value=data)
    if not data.n_cells:
        text = gettext_noop("there are no counts; import a table of annotator, item and count first.")
        raise InsufficientData(Message.of(text))


def has_spare(data: CountCells) -> bool:
    """Return whether there are enough counts beyond one of each effect to see more than effects."""
    n_effects = len(np.unique(data.items)) + len(np.unique(data.annotators))
    return data.n_cells - n_effects >= MIN_SPARE


def posterior_of(found: FittedCounts) -> CountPosterior:
    """Return the ranking of a fit."""
    spread = found.item_spread()
    return CountPosterior(
        centre(found.item_effects),
        spread,
        found.diagnostics,
        prior_sd=float(np.sqrt(found.scales.items)),
        constant=found.effects.constant,
        dispersion=found.dispersion,
        annotator_sd=float(np.sqrt(found.scales.annotators)),
        annotator_effects=found.annotator_effects,
        annotator_deviations=found.standard_deviations()[1],
    )
