"""The ranking report: the published ranking with how it came about, in plain words, for paper."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotate.estimators import ESTIMATORS
from annotate.models import Annotator, Label, Project
from annotate.queries.ranking import Ranking, Wish, ranking
from models_engine.models import Fit

MOST_ITEMS = 2_000
TaskType = Project.TaskType


@dataclass(frozen=True)
class Report:
    """`asked`: what annotators did, in a sentence; `method`: what the estimator takes the answers for; `cautions`: all
    that a reader must know before trusting the table."""

    fit: Fit
    ranking: Ranking
    verdict: SafeString
    asked: str
    method: str
    cautions: list[str]
    first_label: datetime | None
    last_label: datetime | None
    n_excluded: int

    @property
    def is_one_day(self) -> bool:
        first, last = self.first_label, self.last_label
        return first is not None and last is not None and timezone.localdate(first) == timezone.localdate(last)

    @property
    def n_left_out(self) -> int:
        return max(0, self.ranking.n_items - MOST_ITEMS)


def report(project: Project, fit: Fit) -> Report:
    found = ranking(project, fit, Wish(), size=MOST_ITEMS)
    times = (
        Label.objects.filter(project=project, voided_at=None)
        .order_by("created_at")
        .values_list("created_at", flat=True)
    )
    return Report(
        fit=fit,
        ranking=found,
        verdict=found.verdict,
        asked=asked(project),
        method=str(ESTIMATORS.get(fit.estimator, "")),
        cautions=cautions(project, fit, found),
        first_label=times.first(),
        last_label=times.last(),
        n_excluded=Annotator.objects.filter(project=project).exclude(excluded_at=None).count(),
    )


def asked(project: Project) -> str:
    words = {
        TaskType.PAIR: _("saw two items at a time and chose one"),
        TaskType.GRADED: _("saw two items at a time, chose one and said how much better it is"),
        TaskType.BEST: _("saw %(k)d items at a time and chose the best"),
        TaskType.BEST_WORST: _("saw %(k)d items at a time and chose the best and the worst"),
        TaskType.RANKING: _("saw %(k)d items at a time and put them in order"),
        TaskType.TOP: _("saw %(k)d items at a time and put the best %(m)d in order"),
    }
    return words[TaskType(project.task_type)] % {"k": project.k, "m": project.m or 0}


def cautions(project: Project, fit: Fit, found: Ranking) -> list[str]:
    """In the order of their weight."""
    told = []
    if project.simulated:
        told.append(_("The answers come from a program, not from people."))
    if fit.converged is False:
        told.append(_("The fit did not come to rest: places and intervals may be off."))
    if found.n_parts > 1:
        text = _("%(n)d groups of items were never compared with each other; each has a ranking of its own.")
        told.append(text % {"n": found.n_parts})
    if found.n_thin:
        text = _("%(thin)d of %(n)d items have fewer than 5 comparisons; their places say little.")
        told.append(text % {"thin": found.n_thin, "n": found.n_items})
    if found.n_not_ranked:
        told.append(_("%(n)d items were added after this fit and are not in it.") % {"n": found.n_not_ranked})
    if found.caution:
        told.append(found.caution)
    return told
