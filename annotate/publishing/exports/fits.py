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
    Column("estimator", _("The estimator that computed it.")),
    Column("settings", _("The estimator's settings, the size of the top and the tie margin, as JSON."), Kind.OBJECT),
    Column("seed", _("Seed of the random numbers."), Kind.INTEGER),
    Column("warm", _("Whether it started from the previous fit (warm start)."), Kind.TRUTH),
    Column("data_version", _("Data version: how many changes to the labels it includes."), Kind.INTEGER),
    Column("data_hash", _("SHA-256 of the labels as the engine received them.")),
    Column("n_labels", _("Number of labels."), Kind.INTEGER),
    Column("n_items", _("Number of items."), Kind.INTEGER),
    Column("n_annotators", _("Number of annotators."), Kind.INTEGER),
    Column("n_parts", _("Number of connected parts."), Kind.INTEGER),
    Column("converged", _("Whether it converged; empty if unknown."), Kind.TRUTH),
    Column("n_iterations", _("Number of iterations."), Kind.INTEGER),
    Column("objective", _("Value of the objective at the last iteration."), Kind.NUMBER),
    Column("message", _("Message of the estimator, or of the error.")),
    Column("started_at", _("Server time (UTC)."), Kind.MOMENT),
    Column("finished_at", _("Server time (UTC)."), Kind.MOMENT),
    Column("seconds", _("How long it took."), Kind.NUMBER),
    Column("cluster_workers", _("Workers of the cluster that computed it; empty where none did."), Kind.INTEGER),
    Column("cluster_failure", _("Why a large fit could not use the cluster.")),
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
    cluster = fit.diagnostics.get("cluster", {})
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
        cluster.get("n_workers"),
        render_message(cluster["failure"]) if "failure" in cluster else "",
    ]
