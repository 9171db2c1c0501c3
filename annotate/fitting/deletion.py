"""Deletes a fit that was given up, with its rows."""

from django.db.models import Max, Min, Model

from annotate.core.transactions import yielding_write_transaction
from models_engine.models import AnnotatorEstimate, Estimate, Fit, Leaderboard

TABLES: tuple[type[Model], ...] = (Estimate, AnnotatorEstimate, Leaderboard)
# Rows written or deleted in one transaction: SQLite's one write lock is held for a few milliseconds each time.
CHUNK = 200


def delete_fit(fit: Fit) -> None:
    delete_rows(fit.pk)
    Fit.objects.filter(pk=fit.pk).delete()


def delete_rows(fit_id: int) -> None:
    for model in TABLES:
        rows = model._default_manager.filter(fit=fit_id)
        ends = rows.aggregate(first=Min("pk"), last=Max("pk"))
        for start in range(ends["first"] or 0, (ends["last"] or -1) + 1, CHUNK):
            with yielding_write_transaction():
                rows.filter(pk__gte=start, pk__lt=start + CHUNK).delete()
