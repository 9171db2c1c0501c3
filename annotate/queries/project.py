"""What stands above every page of a project: its state, who is annotating now, and what the engine is doing."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from annotate import reconciler
from annotate.access import MANAGE, OWN
from annotate.models import EngineState, Label, Project
from annotate.queries.remember import remembered
from annotate.queries.watching import Revision, revision, states
from annotate.stored_words import in_words
from models_engine.models import Fit

ANNOTATING_WINDOW = timedelta(minutes=2)


@dataclass(frozen=True)
class Engine:
    """What the engine owes the project and how it is doing.

    `n_waiting`: changes to the labels that the published fit has not seen.   `error`: why the last fit failed, "" if
    it did not.   `alive`: some engine process has been heard of within its lease.
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
    n_annotating: int
    engine: Engine
    may_manage: bool
    may_own: bool


def published_fit(project: Project) -> Fit | None:
    """The published fit, by the criterion that the project is looked at by, without its arrays."""
    fits = Fit.objects.filter(project_id=project.pk, criterion=project.criterion, published=True)
    return fits.defer("arrays").first()


def engine(project: Project, now: datetime) -> Engine:
    state = states().filter(project=project).first() or EngineState(project=project)
    fit = published_fit(project)
    # Of several criteria each has a fit that may have failed while those of the others went on.
    failed = state.failing.get(str(project.criterion)) if project.criteria else None
    seen = (fit.data_version if fit else 0) if failed else state.fitted
    return Engine(
        fit=fit,
        n_waiting=0 if project.archived_at else max(state.wanted - seen, 0),
        alive=reconciler.alive(now).exists(),
        fitting=bool(state.owner) and state.lease_until is not None and state.lease_until > now,
        step=state.step,
        steps=state.steps,
        error=in_words(failed["error"] if failed else state.error),
        error_at=datetime.fromisoformat(failed["error_at"]) if failed else state.error_at,
        retry_at=datetime.fromisoformat(failed["not_before"]) if failed else state.not_before,
        wanted=state.wanted,
        revision=revision(state),
    )


def heading(project: Project, role: str, now: datetime) -> Heading:
    since = now - ANNOTATING_WINDOW
    recent = Label.objects.filter(project=project, created_at__gte=since)
    return Heading(
        project=project,
        now=now,
        n_labels=remembered(f"n-labels-{project.pk}", Label.objects.filter(project=project, voided_at=None).count),
        n_annotating=recent.values("annotator").distinct().count(),
        engine=engine(project, now),
        may_manage=role in MANAGE,
        may_own=role in OWN,
    )
