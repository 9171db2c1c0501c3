"""Forms that choose the estimator to publish and two fits to compare."""

from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.core.numbers import format_integer
from annotate.fitting.estimator_choices import ESTIMATORS
from models_engine.models import Fit


class PublishEstimatorForm(forms.Form):
    estimator = forms.ChoiceField(choices=list(ESTIMATORS.items()))


class CompareForm(forms.Form):
    """Bound to GET; without a choice, the two latest fits."""

    a = forms.TypedChoiceField(coerce=int, label=_("First"))
    b = forms.TypedChoiceField(coerce=int, label=_("Second"))

    def __init__(self, fits: list[Fit], data: Any) -> None:
        choices = [(fit.number, fit_description(fit)) for fit in fits]
        chosen = {"a": fits[1].number, "b": fits[0].number} if len(fits) > 1 else {}
        super().__init__({**chosen, **{name: data[name] for name in ("a", "b") if name in data}})
        for name in ("a", "b"):
            cast(forms.TypedChoiceField, self.fields[name]).choices = choices

    def numbers(self) -> tuple[int, int] | None:
        return (self.cleaned_data["a"], self.cleaned_data["b"]) if self.is_valid() else None


def fit_description(fit: Fit) -> str:
    text = _("fit %(n)s, %(estimator)s, %(labels)s answers")
    return str(text) % {"n": fit.number, "estimator": fit.estimator, "labels": format_integer(fit.n_labels)}
