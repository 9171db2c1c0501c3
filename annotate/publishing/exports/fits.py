"""Defines the export table of fits: settings, outcome and duration of every fit that is kept."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from annotate.core.stored_messages import render_message
from annotate.files.columns import Column, Kind, Row
from annotate.models import Project
from models_engine.models import Fit

COLUMNS = [
    Column("fit", _("Number of the fit."), Kind.INTEGER),
    Column("status", _("published, replaced (it was published once), running or failed.")),
    Column("estimator", _("What computed it.")),
    Column("settings", _("The estimator's settings, the size of the top and the tie margin, as JSON."), Kind.OBJECT),
    Column("seed", _("Seed of every random number."), Kind.INTEGER),
    Column("warm", _("Whether it started from the fit before."), Kind.TRUTH),
    Column("data_version", _("How many changes of the labels it has seen."), Kind.INTEGER),
    Column("data_hash", _("SHA-256 of the labels as the engine took them.")),
    Column("n_labels", _("Labels it counts."), Kind.INTEGER),
    Column("n_items", _("Items."), Kind.INTEGER),
    Column("n_annotators", _("Annotators."), Kind.INTEGER),
    Column("n_parts", _("Connected parts of the comparisons."), Kind.INTEGER),
    Column("converged", _("Whether it came to rest; empty where that is not known."), Kind.TRUTH),
    Column("n_iterations", _("Steps it took."), Kind.INTEGER),
    Column("objective", _("What it maximised, at the last step."), Kind.NUMBER),
    Column("message", _("What the estimator, or the failure, said.")),
    Column("started_at", _("Server time (UTC)."), Kind.MOMENT),
    Column("finished_at", _("Server time (UTC)."), Kind.MOMENT),
    Column("seconds", _("How long it took."), Kind.NUMBER),
]


CRITERION = Column("criterion", _("Number of the criterion, from 1."), Kind.INTEGER)


def columns(project: Project) -> list[Column]:
    return [*COLUMNS, CRITERION] if project.criteria else COLUMNS


def rows(project: Project) -> Iterator[Row]:
    """Yield the fits by every criterion."""
    for fit in Fit.objects.filter(project_id=project.pk).defer("arrays").order_by("number"):
        yield [*row(fit), fit.criterion] if project.criteria else row(fit)


def row(fit: Fit) -> Row:
    objective = [value for value in fit.diagnostics.get("objective") or [] if value is not None]
    status = {Fit.Status.DONE: "replaced"}.get(Fit.Status(fit.status), fit.status)
    return [
        fit.number,
        "published" if fit.published else status,
        fit.estimator,
        fit.settings,
        fit.seed,
        fit.warm,
        fit.data_version,
        fit.data_hash,
        fit.n_labels,
        fit.n_items,
        fit.n_annotators,
        fit.n_parts,
        fit.converged,
        fit.diagnostics.get("n_iterations"),
        objective[-1] if objective else None,
        render_message(fit.message),
        fit.started_at,
        fit.finished_at,
        fit.seconds,
    ]
