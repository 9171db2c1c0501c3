"""Builds the heading of every project page: its state, who is annotating now, what the engine is doing."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count

from annotate.access import MANAGE, OWN
from annotate.core.caching import cached_if_slow
from annotate.core.statements import Given, Statement
from annotate.core.stored_messages import render_message
from annotate.criteria import Criterion
from annotate.fitting import scheduling
from annotate.fitting.published import published_fit
from annotate.live.queries import Revision, fit_states, revision
from annotate.models import IMPORTED_APP_VERSION, FitState, Label, LabelArchive, Project
from models_engine.models import Fit

ANNOTATING_WINDOW = timedelta(minutes=2)

# Of two counts the number is the only row; there is none where nothing is counted.
n_labels_of = Statement(
    lambda: (
        Label.objects.filter(project=Given("project", Label), voided_at=None)
        .order_by()
        .values("project")
        .annotate(n=Count("*"))
        .values_list("n", flat=True)
    )
)
# What came in by a file was answered some other time.
n_annotating_since = Statement(
    lambda: (
        Label.objects.filter(project=Given("project", Label), created_at__gte=Given("created_at", Label))
        .exclude(app_version=IMPORTED_APP_VERSION)
        .order_by()
        .values("project")
        .annotate(n=Count("annotator", distinct=True))
        .values_list("n", flat=True)
    )
)
state_of_project = Statement(lambda: fit_states().filter(project=Given("project", FitState)))


@dataclass(frozen=True)
class EngineStatus:
    """The published fit, what waits for the next one, and whether the engine works.

    `n_waiting`: changes to the labels since the published fit.   `error`: why the last fit failed, "" if
    it did not.   `given_up`: it crossed a limit so often that these labels are not fitted again.
    `alive`: some engine process has been heard of within its lease.
    """

    fit: Fit | None
    n_waiting: int
    alive: bool
    fitting: bool
    step: int
    steps: int
    error: str
    error_at: datetime | None
    retry_at: datetime | None
    given_up: bool
    wanted: int
    revision: Revision

    @property
    def failed(self) -> bool:
        return bool(self.error)

    @property
    def not_converged(self) -> bool:
        return self.fit is not None and self.fit.converged is False


@dataclass(frozen=True)
class Heading:
    project: Project
    now: datetime
    n_labels: int
    n_counts: int  # of a project that is ranked by counts
    n_annotating: int
    engine: EngineStatus
    may_manage: bool
    may_own: bool
    archive: LabelArchive | None  # the file that holds the labels in place of the rows


def engine_status(criterion: Criterion, now: datetime) -> EngineStatus:
    project = criterion.project
    state: FitState = next(iter(state_of_project(project=project.pk)), None) or FitState(project=project)
    fit = published_fit(criterion)
    # Of several criteria each has a fit that may have failed while those of the others went on.
    failed = state.failing.get(str(criterion.number)) if project.criteria else None
    given_up = failed.get("given_up") if failed else state.given_up
    seen = (fit.data_version if fit else 0) if failed else state.fitted
    return EngineStatus(
        fit=fit,
        n_waiting=0 if project.archived_at else max(state.wanted - seen, 0),
        alive=scheduling.has_live_worker(now),
        fitting=bool(state.owner) and state.lease_until is not None and state.lease_until > now,
        step=state.step,
        steps=state.steps,
        error=render_message(failed["error"] if failed else state.error),
        error_at=datetime.fromisoformat(failed["error_at"]) if failed else state.error_at,
        retry_at=datetime.fromisoformat(failed["not_before"]) if failed else state.not_before,
        given_up=given_up is not None and given_up >= state.wanted,
        wanted=state.wanted,
        revision=revision(state),
    )


def count_labels(project: Project) -> int:
    return cached_if_slow(f"n-labels-{project.pk}", lambda: sum(n_labels_of(project=project.pk)))


def page_heading(criterion: Criterion, now: datetime) -> Heading:
    project = criterion.project
    since = now - ANNOTATING_WINDOW
    archive = LabelArchive.objects.filter(project=project).first() if project.archived_at else None
    return Heading(
        project=project,
        now=now,
        n_labels=archive.n_unvoided if archive else count_labels(project),
        n_counts=cached_if_slow(f"n-counts-{project.pk}", project.counts.count) if project.ranks_counts else 0,
        n_annotating=sum(n_annotating_since(project=project.pk, created_at=since)),
        engine=engine_status(criterion, now),
        may_manage=project.role in MANAGE,
        may_own=project.role in OWN,
        archive=archive,
    )
