"""Builds the printable report: the published ranking and how it came about, in plain words."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.criteria import Criterion
from annotate.dashboard.fits.queries import leaves_grades
from annotate.dashboard.goal.queries import GoalStatus, goal_status
from annotate.dashboard.grades.queries import Grades, grades_of
from annotate.dashboard.ranking.forest_plot import ForestPlot, forest_plots
from annotate.dashboard.ranking.queries import Ranking, RankingQuery, ranking
from annotate.dashboard.scale.queries import Scaled, kept_scale, scaled_ranking
from annotate.dashboard.trust.reliability import Reliability, evaluation_of, explanation, reliability_of
from annotate.fitting.estimator_choices import ESTIMATORS
from annotate.fitting.stored_misfit import flagged_deviations, stored_misfit
from annotate.labelling.asked_tasks import report_text
from annotate.models import Annotator, Label, Project
from annotate.quality.flags.queries import Flag, annotator_checks
from models_engine.models import AnnotatorEstimate, Fit

MAX_ITEMS = 2_000
MAX_DRAWN = 150  # items above which the report has no picture
MAX_ANNOTATORS = 200
FIRST_ROWS = 30  # of items and of annotators, at first sight of a report of more than twice as many items


@dataclass(frozen=True)
class ReportedAnnotator:
    """infit: how far the answers deviate from the order, 1 where chance alone is at work; None if unknown."""

    annotator: Annotator
    n_labels: int
    agreement: float | None
    infit: float | None
    is_unlike: bool
    flags: list[Flag]


@dataclass(frozen=True)
class Report:
    """asked: what people did.   method: the estimator's assumption.   cautions: limits of the ranking.

    goal: the rule by which answers stop, and its state.   scaled: values on the scale that the project keeps.
    is_cut: more items or annotators are told where the whole report is asked for.
    """

    fit: Fit
    ranking: Ranking
    verdict: SafeString
    asked: str
    method: str
    cautions: list[str]
    first_label: datetime | None
    last_label: datetime | None
    n_excluded: int
    forests: list[ForestPlot]
    annotators: list[ReportedAnnotator]
    reliability: Reliability
    grades: Grades | None
    goal: GoalStatus | None
    scaled: Scaled | None
    is_cut: bool

    @property
    def is_one_day(self) -> bool:
        first, last = self.first_label, self.last_label
        return first is not None and last is not None and timezone.localdate(first) == timezone.localdate(last)

    @property
    def reliability_explained(self) -> str:
        return explanation()

    @property
    def n_left_out(self) -> int:
        return self.ranking.page.paginator.count - self.n_shown

    @property
    def n_shown(self) -> int:
        return len(self.ranking.page.object_list)


def build_report(project: Project, fit: Fit, now: datetime, *, whole: bool = False) -> Report:
    """Build the report with its first rows, or with all of up to 2,000 items and 200 annotators."""
    criterion, is_cut = Criterion(project, fit.criterion), not whole and fit.n_items > 2 * FIRST_ROWS
    size = FIRST_ROWS if is_cut else MAX_ITEMS
    found = ranking(project, fit, RankingQuery(), size=size)
    times = (
        Label.objects.filter(project=project, voided_at=None)
        .order_by("created_at")
        .values_list("created_at", flat=True)
    )
    return Report(
        fit=fit,
        ranking=found,
        verdict=found.headline,
        asked=task_description(project),
        method=str(ESTIMATORS.get(fit.estimator, "")),
        cautions=cautions(project, fit, found),
        first_label=times.first(),
        last_label=times.last(),
        forests=forest_plots(found) if found.n_items <= MAX_DRAWN else [],
        annotators=annotators_of(project, fit, min(size, MAX_ANNOTATORS)),
        grades=grades_of(project, fit, size=size),
        is_cut=is_cut,
        scaled=scaled_ranking(project, fit, kept, size=size) if (kept := kept_scale(criterion)) else None,
        goal=goal_status(criterion, fit, now),
        reliability=reliability_of(fit, evaluation_of(criterion)),
        n_excluded=Annotator.objects.filter(project=project).exclude(excluded_at=None).count(),
    )


def annotators_of(project: Project, fit: Fit, most: int) -> list[ReportedAnnotator]:
    """Return those with most labels first, in the same number of queries however many there are."""
    estimates = list(AnnotatorEstimate.objects.filter(fit=fit).order_by("-n_labels", "annotator_id")[:most])
    people = Annotator.objects.in_bulk([one.annotator_id for one in estimates])
    checks = annotator_checks(project, list(people))
    infits, unlike = stored_misfit(fit, "annotators"), flagged_deviations(fit, "annotators")
    return [
        ReportedAnnotator(
            people[one.annotator_id],
            one.n_labels,
            one.agreement,
            infits.get(one.annotator_id, (None, None))[0],
            one.annotator_id in unlike,
            checks[one.annotator_id].flags,
        )
        for one in estimates
        if one.annotator_id in people
    ]


def task_description(project: Project) -> str:
    return report_text(project)


def cautions(project: Project, fit: Fit, found: Ranking) -> list[str]:
    """Return the cautions in the order of their weight."""
    sentences = []
    if project.simulated:
        sentences.append(_("The answers come from a program, not from people."))
    if fit.converged is False:
        sentences.append(_("The calculation did not converge: places and intervals may be wrong."))
    if found.n_parts > 1:
        text = _("%(n)d groups of items were never compared with each other; each has its own ranking.")
        sentences.append(text % {"n": found.n_parts})
    if found.n_thin:
        text = ngettext(
            "%(thin)d of %(n)d items has fewer than 5 comparisons; its place is very uncertain.",
            "%(thin)d of %(n)d items have fewer than 5 comparisons; their places are very uncertain.",
            found.n_thin,
        )
        sentences.append(text % {"thin": found.n_thin, "n": found.n_items})
    if found.n_not_ranked:
        text = ngettext(
            "%(n)d item was added later and is not in this ranking.",
            "%(n)d items were added later and are not in this ranking.",
            found.n_not_ranked,
        )
        sentences.append(text % {"n": found.n_not_ranked})
    if leaves_grades(project, fit):
        text = _("How much better people found an item was left aside: %(estimator)s counts who wins.")
        sentences.append(text % {"estimator": fit.estimator})
    if found.caution:
        sentences.append(found.caution)
    return sentences
