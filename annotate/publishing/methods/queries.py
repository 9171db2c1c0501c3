"""Gathers how a ranking was computed: model, settings, versions, how questions were chosen, what was left out."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.safestring import SafeString
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _

from annotate.core.languages import language_name, site_language
from annotate.criteria import Criterion
from annotate.fitting.published import published_fit
from annotate.labelling.asked_tasks import shows_pairs_only
from annotate.models import Preregistration, Project
from annotate.publishing.methods.citation import software_bibtex, software_line
from annotate.publishing.methods.counts import Counts, counts_of
from annotate.publishing.methods.mathml import mathml, readable
from annotate.publishing.methods.paragraph import (
    PREDICTION_PAPERS,
    checks_of,
    paragraph,
    predictions_in,
    selection_rules,
)
from annotate.publishing.preregistration.queries import DeviationLine, deviations_of, preregistration_of
from models_engine.estimators.methods import METHODS, SETTINGS, Method
from models_engine.estimators.references import REFERENCES, bibliography
from models_engine.models import Fit

FIGURES = ("krippendorff2019", "bechger2003")  # behind the checks of every ranking
SETS = ("varin2011",)  # of three items and more, as the pairs they imply


@dataclass(frozen=True)
class Formula:
    mathml: SafeString
    text: str


@dataclass(frozen=True)
class Value:
    """A setting or a fitted number: its name, its value as text, what it is ("" where the name says it)."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True)
class Methods:
    """What the methods page tells of one criterion. formulas: the likelihood, then the priors.

    predictions: what is said of places predicted for items that nobody compared.   paragraphs: by language, as (code,
    name of the language, text).   references: lines, the software last.
    """

    fit: Fit
    title: str
    formulas: list[Formula]
    assumptions: list[str]
    priors: list[str]
    inference: str
    settings: list[Value]
    fitted: list[Value]
    versions: list[Value]
    predictions: list[str]
    selection: list[str]
    checks: list[str]
    counts: Counts
    preregistration: Preregistration | None
    deviations: list[DeviationLine]
    paragraphs: list[tuple[str, str, str]]
    references: list[str]
    bibtex: str


def methods_of(criterion: Criterion) -> Methods | None:
    """Return what is known of the published fit; None before the first ranking, and for an unknown estimator."""
    fit = published_fit(criterion)
    method = METHODS.get(fit.estimator) if fit else None
    if fit is None or method is None or not fit.n_items:
        return None
    counts, keys = counts_of(criterion), references_of(criterion.project, fit, method)
    version, frozen = versions_of(fit).get("crowdrank", ""), preregistration_of(criterion.project)
    return Methods(
        fit=fit,
        title=_(method.title),
        formulas=[Formula(mathml(one), readable(one)) for one in formulas_of(fit, method)],
        assumptions=[_(one) for one in method.assumptions],
        priors=[_(one) for one in method.priors],
        inference=_(inference_of(fit, method)) if inference_of(fit, method) else "",
        settings=values_of(fit.settings),
        fitted=values_of(fit.diagnostics.get("hyperparameters") or {}),
        versions=[Value(name, value, "") for name, value in versions_of(fit).items()],
        predictions=predictions_in(criterion.project, fit),
        selection=[] if criterion.project.ranks_counts else selection_rules(criterion.project, counts),
        checks=[] if criterion.project.ranks_counts else checks_of(criterion.project, counts),
        counts=counts,
        preregistration=frozen,
        deviations=deviations_of(criterion.project, frozen),
        paragraphs=list(paragraphs_of(criterion, fit, method, counts)),
        references=[*(REFERENCES[key].line() for key in keys), software_line(version)],
        bibtex=f"{bibliography(keys)}\n\n{software_bibtex(version)}\n",
    )


def formulas_of(fit: Fit, method: Method) -> list[str]:
    """Return the formulas; that of ties only where a tie was seen, that of grades where they count."""
    fitted = fit.diagnostics.get("hyperparameters") or {}
    ties = [method.ties] if method.ties and "tie" in fitted else []
    grades = [method.grades] if method.grades and counts_grades(fit) else []
    return [method.formulas[0], *ties, *grades, *method.formulas[1:]]


def counts_grades(fit: Fit) -> bool:
    """Return whether the fit took how much better an item is as evidence."""
    return any(name.startswith("cut_") for name in fit.diagnostics.get("hyperparameters") or {})


def inference_of(fit: Fit, method: Method) -> str:
    return method.inference.get(str(fit.settings.get("inference", "")), "") or method.inference.get("", "")


def versions_of(fit: Fit) -> dict[str, str]:
    """Return the versions that made the fit; {} of fits from before they were kept."""
    return dict(fit.diagnostics.get("versions") or {})


def values_of(values: dict[str, Any]) -> list[Value]:
    found = ((name, value) for name, value in values.items() if value is not None)
    return [Value(name, shown(value), _(SETTINGS[name]) if name in SETTINGS else "") for name, value in found]


def shown(value: Any) -> str:
    """Return a setting as people read it: numbers with four significant digits."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(shown(one) for one in value)
    return str(value)


def references_of(project: Project, fit: Fit, method: Method) -> list[str]:
    keys = [*method.references, *method.more_references.get(str(fit.settings.get("inference", "")), ()), *FIGURES]
    keys += ["davidson1970"] if method.ties in formulas_of(fit, method) else []
    keys += ["agresti1992", "mccullagh1980", "rao1967"] if counts_grades(fit) else []
    keys += PREDICTION_PAPERS if predictions_in(project, fit) else ()
    keys += SETS if not shows_pairs_only(project) and not method.exact_sets else ()
    keys += ["kiritchenko2017"] if project.task_type == Project.TaskType.BEST_WORST else []
    return sorted(set(keys))


def paragraphs_of(criterion: Criterion, fit: Fit, method: Method, counts: Counts) -> Iterable[tuple[str, str, str]]:
    """Yield the paragraph in each language, that of the page first."""
    own = site_language(get_language() or "")
    for language in sorted((code for code, _name in settings.LANGUAGES), key=lambda code: code != own):
        with override(language):
            yield language, language_name(language), paragraph(criterion, fit, method, counts)
