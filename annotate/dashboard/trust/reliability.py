"""Checks how reliable the order is: whether as many answers again, or other annotators, would give it once more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotate.core.numbers import format_integer, format_number
from annotate.criteria import Criterion
from annotate.dashboard.trust.check import FAIL, PASS, UNKNOWN, Check
from annotate.models import Evaluation
from models_engine.models import Fit

ENOUGH, HIGH, LOW = 0.8, 0.9, 0.7


@dataclass(frozen=True)
class Coefficient:
    """A reliability with its 90% interval."""

    value: float
    low: float
    high: float

    @property
    def words(self) -> str:
        return _("%(value)s (%(low)s to %(high)s)") % self.figures

    @property
    def figures(self) -> dict[str, str]:
        return {name: format_number(getattr(self, name)) for name in ("value", "low", "high")}


@dataclass(frozen=True)
class Reliability:
    """separation: scale-separation reliability.   annotators, answers: from halves of them.   None: not known.

    strata: how many levels can be told apart.
    """

    separation: Coefficient | None
    strata: float | None
    n_items: int | None
    annotators: Coefficient | None
    answers: Coefficient | None
    split_at_fit: int | None

    @property
    def state(self) -> str:
        """Good where each figure reaches 0.8, bad where the whole interval of one does not."""
        known = [one for one in (self.separation, self.annotators) if one]
        if any(one.high < ENOUGH for one in known):
            return FAIL
        return PASS if self.separation and all(one.value >= ENOUGH for one in known) else UNKNOWN

    @property
    def sentence(self) -> str:
        if self.separation is None:
            return _("Not enough data: it takes a fit of 5 items that answers connect.")
        sentences = [order_sentence(self.separation)]
        if self.annotators:
            sentences.append(group_sentence(self.annotators))
        return " ".join(sentences)


def evaluation_of(criterion: Criterion) -> Evaluation | None:
    return Evaluation.objects.filter(project=criterion.project, criterion=criterion.number).first()


def reliability_of(fit: Fit, evaluation: Evaluation | None) -> Reliability:
    kept = fit.diagnostics.get("reliability") or {}
    halves = (evaluation.split_half if evaluation else None) or {}
    return Reliability(
        separation=coefficient(kept, "value", "low", "high"),
        strata=kept.get("strata"),
        n_items=kept.get("n_items"),
        annotators=coefficient(halves.get("annotators"), "full", "low", "high"),
        answers=coefficient(halves.get("answers"), "full", "low", "high"),
        split_at_fit=evaluation.fit_number if evaluation and halves else None,
    )


def coefficient(kept: Mapping[str, Any] | None, *names: str) -> Coefficient | None:
    values = [(kept or {}).get(name) for name in names]
    known = [value for value in values if value is not None]
    return Coefficient(*known) if len(known) == len(names) else None


def order_sentence(one: Coefficient) -> str:
    if one.value >= HIGH:
        text = _(
            "As many answers again would give almost the same order: "
            "reliability %(value)s (90%% interval %(low)s to %(high)s)."
        )
    elif one.value >= ENOUGH:
        text = _(
            "As many answers again would give much the same order: "
            "reliability %(value)s (90%% interval %(low)s to %(high)s)."
        )
    elif one.value >= LOW:
        text = _(
            "As many answers again would give roughly the same order: "
            "reliability %(value)s (90%% interval %(low)s to %(high)s)."
        )
    else:
        text = _(
            "As many answers again could give a rather different order: "
            "reliability %(value)s (90%% interval %(low)s to %(high)s)."
        )
    return text % one.figures


def group_sentence(one: Coefficient) -> str:
    if one.value >= HIGH:
        text = _(
            "Another group of annotators like these would rank the items almost the same: "
            "%(value)s (%(low)s to %(high)s)."
        )
    elif one.value >= ENOUGH:
        text = _(
            "Another group of annotators like these would rank the items much the same: "
            "%(value)s (%(low)s to %(high)s)."
        )
    elif one.value >= LOW:
        text = _(
            "Another group of annotators like these would rank the items roughly the same: "
            "%(value)s (%(low)s to %(high)s)."
        )
    else:
        text = _(
            "Another group of annotators like these could rank the items rather differently: "
            "%(value)s (%(low)s to %(high)s)."
        )
    return text % one.figures


def check_reliability(found: Reliability) -> Check:
    return Check("reliable", _("Reliability"), found.state, found.sentence, explanation(), facts(found))


def explanation() -> str:
    return _(
        "Reliability is the share of the differences between scores that is real and not chance: 1 is perfect. "
        "From 0.9 the order serves decisions about single items, from 0.8 about groups of items; below 0.7 it is a "
        "rough guide. More answers raise it. The first figure trusts the estimator's assumptions. The engine also "
        "ranks two random halves of the annotators apart, which shows whether another group would agree."
    )


def facts(found: Reliability) -> list[tuple[str, str]]:
    shown = [(_("Scale-separation reliability"), found.separation.words if found.separation else "-")]
    if found.strata is not None:
        shown.append((_("Levels that can be told apart"), format_number(found.strata, 1)))
    if found.n_items is not None:
        shown.append((_("Items"), format_integer(found.n_items)))
    for what, one in (
        (_("From halves of the annotators"), found.annotators),
        (_("From halves of the answers"), found.answers),
    ):
        if one:
            shown.append((what, one.words))
    if found.split_at_fit is not None:
        shown.append((_("Halves taken at"), _("fit %(n)s") % {"n": found.split_at_fit}))
    return shown
